// Eight f32 lanes for any target, as two 16-byte vectors. Included inside an anonymous namespace by
// micro_generic.cc only.

struct F32x8 {
  using Half [[gnu::vector_size(16)]] = float;
  Half low;
  Half high;
};

inline F32x8 load(const float* p) {
  F32x8 out;
  std::memcpy(&out, p, sizeof(out));
  return out;
}

inline void store(float* p, F32x8 v) {
  std::memcpy(p, &v, sizeof(v));
}

inline F32x8 broadcast(float x) {
  return {F32x8::Half{x, x, x, x}, F32x8::Half{x, x, x, x}};
}

inline F32x8 add(F32x8 a, F32x8 b) {
  return {a.low + b.low, a.high + b.high};
}

inline F32x8 mul(F32x8 a, F32x8 b) {
  return {a.low * b.low, a.high * b.high};
}

// a * b + c. The baseline has no fused multiply-add, so the product is rounded.
inline F32x8 multiply_add(F32x8 a, F32x8 b, F32x8 c) {
  return add(mul(a, b), c);
}
inline float multiply_add(float a, float b, float c) {
  return a * b + c;
}

inline float sum_of(F32x8 v) {
  const F32x8::Half s = v.low + v.high;
  return (s[0] + s[2]) + (s[1] + s[3]);
}

template <class Decode>
inline F32x8 each(const Decode& decode) {
  float out[8];
  for (int i = 0; i < 8; ++i) out[i] = decode(i);
  return load(out);
}

inline float from_bits(std::uint32_t bits) {
  float out;
  std::memcpy(&out, &bits, sizeof(out));
  return out;
}

inline F32x8 load_f32(const std::byte* p) {
  F32x8 out;
  std::memcpy(&out, p, sizeof(out));
  return out;
}

inline F32x8 load_bf16(const std::byte* p) {
  std::uint16_t codes[8];
  std::memcpy(codes, p, sizeof(codes));
  std::uint32_t bits[8];
  for (int i = 0; i < 8; ++i) bits[i] = static_cast<std::uint32_t>(codes[i]) << 16;
  F32x8 out;
  std::memcpy(&out, bits, sizeof(out));
  return out;
}

inline F32x8 load_f16(const std::byte* p) {
  std::uint16_t codes[8];
  std::memcpy(codes, p, sizeof(codes));
  return each([&](int i) { return numerics::f16_to_f32(codes[i]); });
}

// Exponent and mantissa moved to their f32 places give the value times 2^-120, subnormals included;
// the one NaN code, which would become 480, gets the bits of a quiet NaN.
inline F32x8 load_e4m3(const std::byte* p) {
  std::uint8_t codes[8];
  std::memcpy(codes, p, sizeof(codes));
  float values[8];
  for (int i = 0; i < 8; ++i) {
    const std::uint32_t magnitude = codes[i] & 0x7FU;
    const std::uint32_t sign = (codes[i] & 0x80U) << 24;
    const std::uint32_t nan = magnitude == 0x7FU ? 0x7FC00000U : 0U;
    values[i] = from_bits(sign | (magnitude << 20) | nan) * 0x1p120F;
  }
  return load(values);
}

inline std::uint32_t nibble(const std::byte* p, int i) {
  return (static_cast<std::uint32_t>(p[i / 2]) >> (i % 2 * 4)) & 0xFU;
}

inline F32x8 load_e2m1(const std::byte* p) {
  constexpr float kValues[16] = {0.0F,  0.5F,  1.0F,  1.5F,  2.0F,  3.0F,  4.0F,  6.0F,
                                 -0.0F, -0.5F, -1.0F, -1.5F, -2.0F, -3.0F, -4.0F, -6.0F};
  return each([&](int i) { return kValues[nibble(p, i)]; });
}

inline F32x8 load_int4(const std::byte* p) {
  return each([&](int i) { return static_cast<float>(static_cast<int>(nibble(p, i)) - 8); });
}
