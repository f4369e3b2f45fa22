#include "numerics/numbers.h"

#include <array>

#include "base/check.h"

namespace pellucid::numerics {
namespace {

constexpr std::uint32_t kF32Infinity = 0x7F800000U;
constexpr std::uint32_t kF32QuietNan = 0x7FC00000U;

// A small IEEE-like format: sign, exponent with this bias, mantissa of this many bits.
struct Minifloat {
  std::uint32_t mantissa_bits;
  std::uint32_t bias;
  std::uint32_t sign_bit;      // position of the sign
  std::uint32_t largest;       // code of the largest finite magnitude
  std::uint32_t nan_at_least;  // codes (without sign) from here on are NaN
};

constexpr Minifloat kE4M3{3, 7, 7, 0x7E, 0x7F};
constexpr Minifloat kE5M2{2, 15, 7, 0x7B, 0x7D};
constexpr Minifloat kE2M1{1, 1, 3, 0x7, 0x8};
constexpr Minifloat kF16{10, 15, 15, 0x7BFF, 0x7C01};

// Decodes a finite code exactly: every value of these formats is an f32.
constexpr float decode_finite(const Minifloat& format, std::uint32_t code) {
  const std::uint32_t magnitude = code & ((1U << format.sign_bit) - 1);
  const std::uint32_t sign = (code >> format.sign_bit) & 1U;
  const std::uint32_t exponent = magnitude >> format.mantissa_bits;
  const std::uint32_t mantissa = magnitude & ((1U << format.mantissa_bits) - 1);
  const std::uint32_t scale_exponent = 127 - format.bias + (exponent == 0 ? 1 : exponent);
  const std::uint32_t significand = mantissa + (exponent == 0 ? 0 : 1U << format.mantissa_bits);
  const float unit = std::bit_cast<float>((scale_exponent - format.mantissa_bits) << 23);
  const float value = static_cast<float>(significand) * unit;
  return sign != 0 ? -value : value;
}

constexpr float quiet_nan(std::uint32_t sign) {
  return std::bit_cast<float>((sign << 31) | kF32QuietNan);
}

constexpr std::array<float, 256> make_e4m3_table() {
  std::array<float, 256> table{};
  for (std::uint32_t code = 0; code < 256; ++code) {
    const bool nan = (code & 0x7FU) >= kE4M3.nan_at_least;
    table[code] = nan ? quiet_nan(code >> 7) : decode_finite(kE4M3, code);
  }
  return table;
}

constexpr std::array<float, 16> make_e2m1_table() {
  std::array<float, 16> table{};
  for (std::uint32_t code = 0; code < 16; ++code) table[code] = decode_finite(kE2M1, code);
  return table;
}

constexpr std::array<float, 256> kE4M3Table = make_e4m3_table();
constexpr std::array<float, 16> kE2M1Table = make_e2m1_table();

// Rounds |value| (the bits of a finite or infinite f32 without sign) to nearest, ties to even, and
// saturates at the largest finite code. Works on integers, so it does not depend on the rounding
// mode or on flush-to-zero: the significand with its implicit bit is shifted right to the spacing
// of the format at this exponent; below the smallest normal exponent the spacing stays the same.
constexpr std::uint32_t encode_magnitude(const Minifloat& format, std::uint32_t bits) {
  const std::uint32_t stored_exponent = bits >> 23;
  const std::uint32_t exponent = stored_exponent == 0 ? 1 : stored_exponent;
  const std::uint32_t significand = (bits & 0x7FFFFFU) | (stored_exponent == 0 ? 0 : 0x800000U);
  const std::uint32_t smallest_normal = 128 - format.bias;
  const std::uint32_t spacing_exponent = exponent < smallest_normal ? smallest_normal : exponent;
  const std::uint32_t shift = 23 - format.mantissa_bits + (spacing_exponent - exponent);
  if (shift > 24) return 0;  // less than half of the smallest subnormal
  const std::uint32_t odd = (significand >> shift) & 1U;
  const std::uint32_t rounded = (significand + (1U << (shift - 1)) - 1 + odd) >> shift;
  const std::uint32_t code =
      ((spacing_exponent - smallest_normal) << format.mantissa_bits) + rounded;
  return code < format.largest ? code : format.largest;
}

}  // namespace

float f16_to_f32(std::uint16_t bits) {
  const std::uint32_t sign = bits >> 15;
  const std::uint32_t magnitude = bits & 0x7FFFU;
  if (magnitude < 0x7C00U) return decode_finite(kF16, bits);
  const std::uint32_t payload = (magnitude & 0x3FFU) << 13;
  const std::uint32_t nan_or_infinity = payload == 0 ? kF32Infinity : kF32QuietNan | payload;
  return std::bit_cast<float>((sign << 31) | nan_or_infinity);
}

float e4m3_to_f32(std::uint8_t bits) {
  return kE4M3Table[bits];
}

std::uint8_t f32_to_e4m3(float value) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = (bits >> 31) << 7;
  if (is_nan(value)) return static_cast<std::uint8_t>(sign | 0x7FU);
  return static_cast<std::uint8_t>(sign | encode_magnitude(kE4M3, bits & 0x7FFFFFFFU));
}

// e5m2 is the upper byte of an f16.
float e5m2_to_f32(std::uint8_t bits) {
  return f16_to_f32(static_cast<std::uint16_t>(bits << 8));
}

std::uint8_t f32_to_e5m2(float value) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = (bits >> 31) << 7;
  const std::uint32_t magnitude = bits & 0x7FFFFFFFU;
  if (magnitude > kF32Infinity) return static_cast<std::uint8_t>(sign | 0x7FU);
  if (magnitude == kF32Infinity) return static_cast<std::uint8_t>(sign | 0x7CU);
  return static_cast<std::uint8_t>(sign | encode_magnitude(kE5M2, magnitude));
}

float e2m1_to_f32(std::uint8_t code) {
  return kE2M1Table[code & 0xFU];
}

std::uint8_t f32_to_e2m1(float value) {
  PELLUCID_CHECK(!is_nan(value));
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = (bits >> 31) << 3;
  return static_cast<std::uint8_t>(sign | encode_magnitude(kE2M1, bits & 0x7FFFFFFFU));
}

float ue8m0_to_f32(std::uint8_t bits) {
  if (bits == 255) return quiet_nan(0);
  if (bits == 0) return std::bit_cast<float>(0x00400000U);  // 2^-127
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 23);
}

std::uint8_t f32_to_ue8m0_round_up(float value) {
  PELLUCID_CHECK(is_finite(value) && value > 0);
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  if (bits <= 0x00400000U) return 0;
  const std::uint32_t code = (bits >> 23) + ((bits & 0x7FFFFFU) != 0 ? 1 : 0);
  return static_cast<std::uint8_t>(code < 254 ? code : 254);
}

}  // namespace pellucid::numerics
