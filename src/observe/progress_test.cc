#include "observe/progress.h"

#include <gtest/gtest.h>

namespace pellucid::observe {
namespace {

TEST(Human, BytesUseBinaryUnitsAndThreeDigits) {
  EXPECT_EQ(human_bytes(0), "0 B");
  EXPECT_EQ(human_bytes(1023), "1023 B");
  EXPECT_EQ(human_bytes(1024), "1.00 KiB");
  EXPECT_EQ(human_bytes(16'727'264), "16.0 MiB");
  EXPECT_EQ(human_bytes(755'700'000'000), "704 GiB");
}

TEST(Human, CountsUseDecimalUnits) {
  EXPECT_EQ(human_count(999), "999");
  EXPECT_EQ(human_count(17'300'000), "17.3 M");
  EXPECT_EQ(human_count(753'329'940'480), "753 B");
}

}  // namespace
}  // namespace pellucid::observe
