#include "checkpoint/scan.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "numerics/numbers.h"

namespace pellucid::checkpoint {
namespace {

/// All values of a word at once: count and first hit against a predicate on numbers.
template <class Word, class Expected>
void check_all_codes(ScanTest test, std::size_t codes, Expected expected) {
  std::vector<Word> words(codes);
  std::uint64_t count = 0;
  std::uint64_t first = 0;
  for (std::size_t i = 0; i < codes; ++i) {
    words[i] = static_cast<Word>(i);
    if (!expected(words[i])) continue;
    if (count++ == 0) first = i;
  }
  const ScanResult result = scan(std::as_bytes(std::span(words)), test);
  EXPECT_EQ(result.count, count) << static_cast<int>(test);
  EXPECT_EQ(result.first, first) << static_cast<int>(test);
}

TEST(Scan, AgreesWithTheNumbersForEveryCode) {
  using numerics::is_finite;
  check_all_codes<std::uint16_t>(ScanTest::kBf16NonFinite, 65536, [](std::uint16_t w) {
    return !is_finite(numerics::bf16_to_f32(w));
  });
  check_all_codes<std::uint16_t>(ScanTest::kBf16Zero, 65536,
                                 [](std::uint16_t w) { return numerics::bf16_to_f32(w) == 0.0F; });
  check_all_codes<std::uint16_t>(ScanTest::kF16NonFinite, 65536, [](std::uint16_t w) {
    return !is_finite(numerics::f16_to_f32(w));
  });
  check_all_codes<std::uint8_t>(
      ScanTest::kE4M3Nan, 256, [](std::uint8_t w) { return !is_finite(numerics::e4m3_to_f32(w)); });
  check_all_codes<std::uint8_t>(ScanTest::kE4M3Zero, 256,
                                [](std::uint8_t w) { return numerics::e4m3_to_f32(w) == 0.0F; });
  check_all_codes<std::uint8_t>(ScanTest::kE4M3Negative, 256,
                                [](std::uint8_t w) { return numerics::e4m3_to_f32(w) < 0.0F; });
  check_all_codes<std::uint8_t>(ScanTest::kUe8m0Nan, 256, [](std::uint8_t w) {
    return !is_finite(numerics::ue8m0_to_f32(w));
  });
}

TEST(Scan, ThirtyTwoBitTestsAtTheirEdges) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  constexpr float kTiny = std::numeric_limits<float>::denorm_min();
  const struct {
    float value;
    bool non_finite, not_positive, not_power;
  } cases[] = {
      {1.0F, false, false, false}, {0x1p-126F, false, false, false},
      {1.5F, false, false, true},  {3.4028235e38F, false, false, true},
      {0.0F, false, true, false},  {-0.0F, false, true, false},
      {-1.0F, false, true, false}, {-1.5F, false, true, true},
      {kTiny, false, false, true}, {-kTiny, false, true, true},
      {kInf, true, false, false},  {-kInf, true, true, false},
      {kNan, true, false, false},  {-kNan, true, false, false},
  };
  for (const auto& c : cases) {
    const auto bytes = std::as_bytes(std::span(&c.value, 1));
    EXPECT_EQ(scan(bytes, ScanTest::kF32NonFinite).count, c.non_finite) << c.value;
    EXPECT_EQ(scan(bytes, ScanTest::kF32NotPositive).count, c.not_positive) << c.value;
    EXPECT_EQ(scan(bytes, ScanTest::kF32NotPowerOfTwo).count, c.not_power) << c.value;
  }
}

TEST(Scan, FindsASingleHitAnywhereAtAnyAlignment) {
  constexpr std::size_t kCount = 9000;  // more than two blocks
  for (const std::size_t shift : {0U, 1U, 3U}) {
    for (const std::size_t at :
         {std::size_t{0}, std::size_t{4095}, std::size_t{4096}, std::size_t{8191}, kCount - 1}) {
      std::vector<std::byte> bytes(shift + 2 * kCount, std::byte{0x3F});
      const std::uint16_t infinity = 0xFF80;
      std::memcpy(bytes.data() + shift + 2 * at, &infinity, sizeof(infinity));
      const auto result = scan(std::span(bytes).subspan(shift), ScanTest::kBf16NonFinite);
      EXPECT_EQ(result.count, 1U) << shift << " " << at;
      EXPECT_EQ(result.first, at) << shift;
    }
  }
  EXPECT_EQ(scan({}, ScanTest::kE4M3Nan).count, 0U);
}

TEST(Scan, CoordinatesFollowTheShape) {
  TensorInfo tensor;
  tensor.shape = {4, 3, 5};
  EXPECT_EQ(coordinates(tensor, 0), "[0, 0, 0]");
  EXPECT_EQ(coordinates(tensor, 59), "[3, 2, 4]");
  tensor.shape = {6144};
  EXPECT_EQ(coordinates(tensor, 6143), "[6143]");
  tensor.shape = {};
  EXPECT_EQ(coordinates(tensor, 0), "[]");
}

}  // namespace
}  // namespace pellucid::checkpoint
