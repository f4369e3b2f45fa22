#include "base/error.h"

#include <gtest/gtest.h>

#include "base/checked.h"

namespace pellucid {
namespace {

TEST(Error, OneLineNamesObjectFoundExpectedSourceRuleFix) {
  const Error error{.rule = "header_len",
                    .object = "header length",
                    .found = "9223372036854775808",
                    .expected = "at most 100000000",
                    .source = "model.safetensors",
                    .fix = "download the file again"};
  EXPECT_EQ(error.to_string(),
            "model.safetensors: header length: found 9223372036854775808, expected at most "
            "100000000 [header_len]; download the file again");
}

Expected<int> half(int n) {
  if (n % 2 != 0) return fail({.rule = "odd", .object = std::to_string(n)});
  return n / 2;
}

Expected<int> quarter(int n) {
  PELLUCID_TRY(const int h, half(n));
  PELLUCID_TRY(const int q, half(h));
  return q;
}

TEST(Error, TryPassesTheFirstErrorOn) {
  EXPECT_EQ(*quarter(12), 3);
  EXPECT_EQ(quarter(6).error().object, "3");
  EXPECT_EQ(quarter(5).error().object, "5");
}

TEST(Checked, OverflowIsAnAnswer) {
  EXPECT_EQ(checked_mul(1ULL << 32, 1ULL << 31), 1ULL << 63);
  EXPECT_EQ(checked_mul(1ULL << 32, 1ULL << 32), std::nullopt);
  EXPECT_EQ(checked_add(UINT64_MAX, 1), std::nullopt);
  const std::uint64_t huge[] = {1ULL << 32, 1ULL << 32, 1ULL << 32};
  EXPECT_EQ(checked_product(huge), std::nullopt);
  EXPECT_EQ(checked_product(std::span<const std::uint64_t>{}), 1U);
}

}  // namespace
}  // namespace pellucid
