#include "numerics/error_measures.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

namespace pellucid::numerics {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
const float kNan = std::numeric_limits<float>::quiet_NaN();
const Tolerance kLoose{.absolute = 1e30, .relative = 1e30, .relative_l2 = 1e30, .ulp = 1LL << 40};

TEST(Compare, NanOnOneSideFailsUnderTheLoosestTolerance) {
  const std::vector<float> expected = {1, 2, 3, 4, 5, 6};
  std::vector<float> found = expected;
  found[4] = kNan;
  for (const auto& [a, b] : {std::pair{found, expected}, std::pair{expected, found}}) {
    const Comparison result = compare(a, b, 3, kLoose);
    EXPECT_EQ(result.mismatch, Mismatch::kNonFinite);
    EXPECT_EQ(result.row, 1);
    EXPECT_EQ(result.column, 1);
    EXPECT_EQ(result.mismatches, 1);
  }
}

TEST(Compare, KindsOfNonFiniteDiffer) {
  const float kinds[] = {kNan, kInf, -kInf, 1.0F};
  for (int i = 0; i < 4; ++i) {
    for (int j = 0; j < 4; ++j) {
      const Comparison result = compare({&kinds[i], 1}, {&kinds[j], 1}, 1, kLoose);
      EXPECT_EQ(result.ok(), i == j) << i << " " << j;
    }
  }
}

TEST(Compare, NonFiniteIsReportedBeforeAnEarlierToleranceMiss) {
  const float found[] = {100, kNan};
  const float expected[] = {1, 1};
  const Comparison result = compare(found, expected, 2, {});
  EXPECT_EQ(result.mismatch, Mismatch::kNonFinite);
  EXPECT_EQ(result.column, 1);
}

TEST(Compare, MeasuresFiniteElements) {
  const float expected[] = {3, 4, kInf};
  const float found[] = {3, 4.5, kInf};
  const Comparison result = compare(found, expected, 3, {.absolute = 0.5});
  EXPECT_TRUE(result.ok());
  EXPECT_DOUBLE_EQ(result.relative_l2, 0.1);
  EXPECT_DOUBLE_EQ(result.max_absolute, 0.5);
  EXPECT_EQ(result.max_ulp, 1 << 20);
  EXPECT_EQ(compare(found, expected, 3, {.absolute = 0.49}).mismatch, Mismatch::kTolerance);
  EXPECT_EQ(compare(found, expected, 3, {.absolute = 0.5, .relative_l2 = 0.09}).mismatch,
            Mismatch::kRelativeL2);
}

TEST(Compare, DifferenceFromZeroIsInfiniteInRelativeTerms) {
  const float expected[] = {0, 0};
  const float found[] = {0, 1e-20F};
  const Comparison result = compare(found, expected, 2, {.absolute = 1});
  EXPECT_EQ(result.mismatch, Mismatch::kRelativeL2);
  EXPECT_EQ(result.relative_l2, std::numeric_limits<double>::infinity());
}

TEST(Compare, SizesMustAgree) {
  const float values[] = {1, 2, 3};
  EXPECT_EQ(compare({values, 3}, {values, 2}, 1, kLoose).mismatch, Mismatch::kSize);
  EXPECT_EQ(compare({values, 3}, {values, 3}, 2, kLoose).mismatch, Mismatch::kSize);
}

TEST(CompareBits, TellsZerosApartAndNansTogether) {
  const float plus[] = {0.0F, kNan};
  const float minus[] = {-0.0F, -kNan};
  EXPECT_TRUE(compare_bits(plus, plus, 2).ok());
  const Comparison result = compare_bits(plus, minus, 2);
  EXPECT_EQ(result.mismatch, Mismatch::kTolerance);
  EXPECT_EQ(result.mismatches, 1);
  const float one[] = {1.0F, 1.0F};
  const float other[] = {1.0F, kNan};
  EXPECT_EQ(compare_bits(one, other, 2).mismatch, Mismatch::kNonFinite);
}

TEST(UlpDistance, CountsRepresentableValues) {
  EXPECT_EQ(ulp_distance(0.0F, -0.0F), 0);
  EXPECT_EQ(ulp_distance(1.0F, std::nextafterf(1.0F, 2.0F)), 1);
  const float tiny = std::numeric_limits<float>::denorm_min();
  EXPECT_EQ(ulp_distance(-tiny, tiny), 2);
}

TEST(Describe, NamesThePlaceAndBothValues) {
  const float found[] = {1, kNan};
  const float expected[] = {1, 2};
  const std::string text = describe(compare(found, expected, 1, {})).data();
  EXPECT_NE(text.find("non-finite positions differ: row 1 column 0 found nan expected 2"),
            std::string::npos)
      << text;
}

}  // namespace
}  // namespace pellucid::numerics
