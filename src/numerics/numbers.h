#pragma once
// Number formats: decode and encode, bit for bit as model.md section 5.7. Encoding rounds to
// nearest, ties to even; e4m3, e5m2 and e2m1 saturate at their largest finite value; NaN stays NaN
// where the format has one. Nothing here allocates or fails.

#include <bit>
#include <cstdint>

namespace pellucid::numerics {

[[nodiscard]] constexpr float bf16_to_f32(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}
/// NaN is quieted and keeps its sign; a finite value above the midpoint to 2^128 becomes infinity.
[[nodiscard]] constexpr std::uint16_t f32_to_bf16(float value) {
  const std::uint32_t u = std::bit_cast<std::uint32_t>(value);
  if ((u & 0x7FFFFFFFU) > 0x7F800000U) return static_cast<std::uint16_t>((u >> 16) | 0x40U);
  return static_cast<std::uint16_t>((u + 0x7FFFU + ((u >> 16) & 1U)) >> 16);
}

/// IEEE binary16. NaN is quieted and keeps its sign and payload.
[[nodiscard]] float f16_to_f32(std::uint16_t bits);

/// e4m3fn: bias 7, no infinity, 0x7F and 0xFF are NaN, largest finite 448.
[[nodiscard]] float e4m3_to_f32(std::uint8_t bits);
/// Saturates at +-448 (infinity too); NaN gives 0x7F with the sign.
[[nodiscard]] std::uint8_t f32_to_e4m3(float value);

/// e5m2: IEEE-like, infinities at 0x7C and 0xFC, largest finite 57344.
[[nodiscard]] float e5m2_to_f32(std::uint8_t bits);
/// Saturates finite values at +-57344; infinity stays infinity; NaN gives 0x7F with the sign.
[[nodiscard]] std::uint8_t f32_to_e5m2(float value);

/// e2m1: 0 0.5 1 1.5 2 3 4 6 and negatives (bit 3). Only the low 4 bits are used.
[[nodiscard]] float e2m1_to_f32(std::uint8_t code);
/// Saturates at +-6 and keeps the sign of zero; NaN is a programmer error (CHECK): the format has
/// none.
[[nodiscard]] std::uint8_t f32_to_e2m1(float value);

/// ue8m0: 2^(byte - 127); 255 is NaN. Byte 0 is 2^-127, an f32 subnormal.
[[nodiscard]] float ue8m0_to_f32(std::uint8_t bits);
/// The smallest power of two >= value, as used for scales; above 2^127 the largest code, 254.
/// value must be positive and finite (CHECK).
[[nodiscard]] std::uint8_t f32_to_ue8m0_round_up(float value);

/// By exponent bits, so that no compiler flag can remove it.
[[nodiscard]] constexpr bool is_finite(float value) {
  return (std::bit_cast<std::uint32_t>(value) & 0x7F800000U) != 0x7F800000U;
}
[[nodiscard]] constexpr bool is_nan(float value) {
  return (std::bit_cast<std::uint32_t>(value) & 0x7FFFFFFFU) > 0x7F800000U;
}

}  // namespace pellucid::numerics
