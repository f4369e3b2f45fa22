#include "base/env.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>

namespace pellucid {
namespace {

TEST(Environment, IsASnapshot) {
  ASSERT_EQ(setenv("BASE_ENV_TEST", "a=b", 1), 0);
  const std::vector<EnvVariable> before = process_environment();
  ASSERT_EQ(setenv("BASE_ENV_TEST", "changed", 1), 0);
  const auto found = std::ranges::find(before, "BASE_ENV_TEST", &EnvVariable::name);
  ASSERT_NE(found, before.end());
  EXPECT_EQ(found->value, "a=b");
}

}  // namespace
}  // namespace pellucid
