#include "numerics/numbers.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

namespace pellucid::numerics {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
const float kNan = std::numeric_limits<float>::quiet_NaN();

// The formats by their definition: sign, exponent, mantissa, evaluated in double by ldexp. Nothing
// is shared with the code under test.
struct Format {
  const char* name;
  int codes;  // number of codes
  int mantissa_bits;
  int bias;
  int sign_bit;
  int finite_max;   // largest finite code without sign
  bool infinities;  // code finite_max + 1 is infinity, else NaN (or does not exist)
  bool saturates;   // finite values beyond the range become the largest finite code
  float (*decode)(std::uint32_t);
  std::uint32_t (*encode)(float);
};

double definition(const Format& f, int magnitude) {
  const int exponent = magnitude >> f.mantissa_bits;
  const int mantissa = magnitude & ((1 << f.mantissa_bits) - 1);
  if (exponent == 0) return std::ldexp(mantissa, 1 - f.bias - f.mantissa_bits);
  return std::ldexp(mantissa + (1 << f.mantissa_bits), exponent - f.bias - f.mantissa_bits);
}

// Nearest by search over all finite codes, ties to the even code, saturating.
std::uint32_t slow_encode(const Format& f, float value) {
  const double magnitude = std::fabs(static_cast<double>(value));
  int lo = 0;
  int hi = f.finite_max;
  while (lo < hi) {  // last code whose value is <= magnitude
    const int mid = (lo + hi + 1) / 2;
    if (definition(f, mid) <= magnitude)
      lo = mid;
    else
      hi = mid - 1;
  }
  int best = lo;
  if (lo < f.finite_max) {
    const double below = magnitude - definition(f, lo);
    const double above = definition(f, lo + 1) - magnitude;
    if (above < below || (above == below && lo % 2 == 1)) best = lo + 1;
  }
  const int sign = std::signbit(value) ? 1 : 0;
  return static_cast<std::uint32_t>(best | (sign << f.sign_bit));
}

const Format kFormats[] = {
    {"e4m3", 256, 3, 7, 7, 0x7E, false, true,
     [](std::uint32_t c) { return e4m3_to_f32(static_cast<std::uint8_t>(c)); },
     [](float v) -> std::uint32_t { return f32_to_e4m3(v); }},
    {"e5m2", 256, 2, 15, 7, 0x7B, true, true,
     [](std::uint32_t c) { return e5m2_to_f32(static_cast<std::uint8_t>(c)); },
     [](float v) -> std::uint32_t { return f32_to_e5m2(v); }},
    {"e2m1", 16, 1, 1, 3, 0x7, false, true,
     [](std::uint32_t c) { return e2m1_to_f32(static_cast<std::uint8_t>(c)); },
     [](float v) -> std::uint32_t { return f32_to_e2m1(v); }},
    {"bf16", 65536, 7, 127, 15, 0x7F7F, true, false,
     [](std::uint32_t c) { return bf16_to_f32(static_cast<std::uint16_t>(c)); },
     [](float v) -> std::uint32_t { return f32_to_bf16(v); }},
};

class NumberFormat : public testing::TestWithParam<Format> {};

TEST_P(NumberFormat, DecodesEveryCodeByDefinition) {
  const Format& f = GetParam();
  for (int code = 0; code < f.codes; ++code) {
    const int magnitude = code & ((1 << f.sign_bit) - 1);
    const bool negative = (code >> f.sign_bit) != 0;
    const float found = f.decode(static_cast<std::uint32_t>(code));
    ASSERT_EQ(std::signbit(found), negative) << f.name << " " << code;
    if (magnitude <= f.finite_max) {
      ASSERT_EQ(std::fabs(found), definition(f, magnitude)) << f.name << " " << code;
    } else if (f.infinities && magnitude == f.finite_max + 1) {
      ASSERT_EQ(std::fabs(found), kInf) << f.name << " " << code;
    } else {
      ASSERT_TRUE(is_nan(found)) << f.name << " " << code;
    }
  }
}

TEST_P(NumberFormat, EveryCodeSurvivesARoundTrip) {
  const Format& f = GetParam();
  for (int code = 0; code < f.codes; ++code) {
    const auto bits = static_cast<std::uint32_t>(code);
    const float value = f.decode(bits);
    if (is_nan(value)) {
      ASSERT_TRUE(is_nan(f.decode(f.encode(value)))) << f.name << " " << code;
      continue;
    }
    ASSERT_EQ(f.encode(value), bits) << f.name << " " << code;
  }
}

// Midpoints of all neighbouring codes, and the f32 just below and above each: where rounding
// changes its mind. Beyond the largest finite code lies the midpoint to the next power, too.
TEST_P(NumberFormat, RoundsEveryMidpointAndItsNeighbours) {
  const Format& f = GetParam();
  for (int magnitude = 0; magnitude < f.finite_max; ++magnitude) {
    const double exact = (definition(f, magnitude) + definition(f, magnitude + 1)) / 2;
    const auto middle = static_cast<float>(exact);
    const float tries[] = {std::nextafterf(middle, 0.0F), middle, std::nextafterf(middle, kInf)};
    for (const float positive : tries) {
      for (const float value : {positive, -positive}) {
        ASSERT_EQ(f.encode(value), slow_encode(f, value)) << f.name << " " << value;
      }
    }
  }
  if (!f.saturates) return;
  const auto largest = static_cast<float>(definition(f, f.finite_max));
  for (const float value : {std::nextafterf(largest, kInf), largest * 1.5F, largest * 1e6F,
                            std::numeric_limits<float>::max()}) {
    EXPECT_EQ(f.encode(value), static_cast<std::uint32_t>(f.finite_max)) << f.name << " " << value;
  }
}

TEST_P(NumberFormat, AgreesWithTheSearchOnRandomBits) {
  const Format& f = GetParam();
  std::mt19937 random(20261201);
  for (int i = 0; i < 400'000; ++i) {
    // Half over all f32, half near the range of the format.
    auto value = std::bit_cast<float>(static_cast<std::uint32_t>(random()));
    if (i % 2 == 0) value = std::ldexp(static_cast<float>(random()), static_cast<int>(i % 70) - 60);
    if (!is_finite(value)) continue;
    if (!f.saturates && std::fabs(value) > 3.3e38F) continue;
    ASSERT_EQ(f.encode(value), slow_encode(f, value)) << f.name << " " << value;
  }
}

TEST_P(NumberFormat, AgreesWithTheSearchOnEveryBf16) {
  const Format& f = GetParam();
  for (std::uint32_t code = 0; code < 65536; ++code) {
    const float value = bf16_to_f32(static_cast<std::uint16_t>(code));
    if (!is_finite(value)) continue;
    ASSERT_EQ(f.encode(value), slow_encode(f, value)) << f.name << " " << value;
  }
}

INSTANTIATE_TEST_SUITE_P(All, NumberFormat, testing::ValuesIn(kFormats),
                         [](const auto& format) { return std::string(format.param.name); });

TEST(E4M3, SaturatesAndKeepsNan) {
  EXPECT_EQ(f32_to_e4m3(448), 0x7E);
  EXPECT_EQ(f32_to_e4m3(464), 0x7E);
  EXPECT_EQ(f32_to_e4m3(465), 0x7E);
  EXPECT_EQ(f32_to_e4m3(-1e30F), 0xFE);
  EXPECT_EQ(f32_to_e4m3(kInf), 0x7E);
  EXPECT_EQ(f32_to_e4m3(-kInf), 0xFE);
  EXPECT_EQ(f32_to_e4m3(kNan), 0x7F);
  EXPECT_EQ(f32_to_e4m3(-kNan), 0xFF);
  EXPECT_EQ(f32_to_e4m3(-0.0F), 0x80);
  EXPECT_EQ(f32_to_e4m3(std::numeric_limits<float>::denorm_min()), 0);
  EXPECT_EQ(e4m3_to_f32(0x01), 0.001953125F);
  int finite = 0;
  for (int code = 0; code < 256; ++code)
    finite += is_finite(e4m3_to_f32(static_cast<std::uint8_t>(code)));
  EXPECT_EQ(finite, 254);
}

TEST(E5M2, KeepsInfinityAndSaturatesFiniteValues) {
  EXPECT_EQ(f32_to_e5m2(kInf), 0x7C);
  EXPECT_EQ(f32_to_e5m2(-kInf), 0xFC);
  EXPECT_EQ(f32_to_e5m2(61440), 0x7B);
  EXPECT_EQ(f32_to_e5m2(3e38F), 0x7B);
  EXPECT_EQ(f32_to_e5m2(kNan), 0x7F);
  EXPECT_EQ(f32_to_e5m2(-kNan), 0xFF);
}

TEST(E2M1, HasTheSixteenValues) {
  const float values[] = {0, 0.5, 1, 1.5, 2, 3, 4, 6};
  for (std::uint8_t code = 0; code < 8; ++code) {
    EXPECT_EQ(e2m1_to_f32(code), values[code]);
    EXPECT_EQ(e2m1_to_f32(static_cast<std::uint8_t>(code | 8)), -values[code]);
    EXPECT_EQ(e2m1_to_f32(static_cast<std::uint8_t>(code | 0xF0)), values[code]) << "low 4 bits";
  }
  EXPECT_TRUE(std::signbit(e2m1_to_f32(8)));
}

TEST(E2M1, RoundsTiesAsTheFormatSection) {
  const std::pair<float, std::uint8_t> cases[] = {
      {0.25F, 0}, {0.75F, 2}, {1.25F, 2}, {1.75F, 4}, {2.5F, 4},   {3.5F, 6},
      {5.0F, 6},  {5.1F, 7},  {7.0F, 7},  {kInf, 7},  {-kInf, 15}, {-0.0F, 8},
  };
  for (const auto& [value, code] : cases) EXPECT_EQ(f32_to_e2m1(value), code) << value;
}

TEST(E2M1DeathTest, RefusesNan) {
  EXPECT_DEATH((void)f32_to_e2m1(kNan), "is_nan");
}

TEST(Bf16, RoundsToInfinityAndQuietsNan) {
  EXPECT_EQ(f32_to_bf16(std::bit_cast<float>(0x7F7F7FFFU)), 0x7F7F) << "below the midpoint";
  EXPECT_EQ(f32_to_bf16(std::bit_cast<float>(0x7F7F8000U)), 0x7F80) << "the midpoint to 2^128";
  EXPECT_EQ(f32_to_bf16(std::bit_cast<float>(0x7F7F8001U)), 0x7F80);
  EXPECT_EQ(f32_to_bf16(kInf), 0x7F80);
  EXPECT_EQ(f32_to_bf16(-kInf), 0xFF80);
  EXPECT_EQ(f32_to_bf16(std::bit_cast<float>(0x7F800001U)), 0x7FC0) << "payload in the low bits";
  EXPECT_EQ(f32_to_bf16(std::bit_cast<float>(0xFFFFFFFFU)), 0xFFFF);
}

TEST(F16, DecodesEveryCode) {
  for (int code = 0; code < 65536; ++code) {
    const float found = f16_to_f32(static_cast<std::uint16_t>(code));
    const int exponent = (code >> 10) & 31;
    const int mantissa = code & 1023;
    ASSERT_EQ(std::signbit(found), (code >> 15) != 0) << code;
    if (exponent == 31) {
      ASSERT_EQ(is_nan(found), mantissa != 0) << code;
      ASSERT_FALSE(is_finite(found)) << code;
      continue;
    }
    const double expected =
        exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(mantissa + 1024, exponent - 25);
    ASSERT_EQ(std::fabs(found), expected) << code;
  }
}

TEST(Ue8m0, DecodesEveryCode) {
  for (int code = 0; code < 255; ++code) {
    ASSERT_EQ(ue8m0_to_f32(static_cast<std::uint8_t>(code)), std::ldexp(1.0, code - 127)) << code;
  }
  EXPECT_EQ(ue8m0_to_f32(0), 5.877471754111438e-39F) << "2^-127 is an f32 subnormal, not zero";
  EXPECT_EQ(ue8m0_to_f32(254), 1.7014118346046923e38F);
  EXPECT_TRUE(is_nan(ue8m0_to_f32(255)));
}

TEST(Ue8m0, RoundsUpToThePowerOfTwo) {
  for (int code = 0; code < 255; ++code) {
    const auto power = static_cast<float>(std::ldexp(1.0, code - 127));
    ASSERT_EQ(f32_to_ue8m0_round_up(power), code);
    ASSERT_EQ(f32_to_ue8m0_round_up(std::nextafterf(power, 0.0F)), code) << "just below";
    ASSERT_EQ(f32_to_ue8m0_round_up(std::nextafterf(power, kInf)), std::min(code + 1, 254));
  }
  EXPECT_EQ(f32_to_ue8m0_round_up(std::numeric_limits<float>::denorm_min()), 0);
  EXPECT_EQ(f32_to_ue8m0_round_up(std::numeric_limits<float>::max()), 254);
}

TEST(Ue8m0DeathTest, RefusesWhatIsNoScale) {
  for (const float value : {0.0F, -1.0F, kInf, kNan}) {
    EXPECT_DEATH((void)f32_to_ue8m0_round_up(value), "is_finite") << value;
  }
}

TEST(Classes, TellFiniteFromNonFinite) {
  for (const float value : {0.0F, -0.0F, 1.0F, std::numeric_limits<float>::max(),
                            std::numeric_limits<float>::denorm_min()}) {
    EXPECT_TRUE(is_finite(value));
    EXPECT_FALSE(is_nan(value));
  }
  EXPECT_FALSE(is_finite(kInf));
  EXPECT_FALSE(is_nan(kInf));
  EXPECT_FALSE(is_finite(kNan));
  EXPECT_TRUE(is_nan(kNan));
  EXPECT_TRUE(is_nan(-kNan));
}

}  // namespace
}  // namespace pellucid::numerics
