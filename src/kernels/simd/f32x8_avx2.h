// Eight f32 lanes in one AVX register (AVX2, FMA, F16C). Included inside an anonymous namespace by
// micro_avx2.cc only.

struct F32x8 {
  __m256 v;
};

inline F32x8 load(const float* p) {
  return {_mm256_loadu_ps(p)};
}

inline void store(float* p, F32x8 x) {
  _mm256_storeu_ps(p, x.v);
}

inline F32x8 broadcast(float x) {
  return {_mm256_set1_ps(x)};
}

inline F32x8 add(F32x8 a, F32x8 b) {
  return {_mm256_add_ps(a.v, b.v)};
}

inline F32x8 mul(F32x8 a, F32x8 b) {
  return {_mm256_mul_ps(a.v, b.v)};
}

// a * b + c with one rounding.
inline F32x8 multiply_add(F32x8 a, F32x8 b, F32x8 c) {
  return {_mm256_fmadd_ps(a.v, b.v, c.v)};
}
inline float multiply_add(float a, float b, float c) {
  return __builtin_fmaf(a, b, c);
}

inline float sum_of(F32x8 x) {
  const __m128 four = _mm_add_ps(_mm256_castps256_ps128(x.v), _mm256_extractf128_ps(x.v, 1));
  const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
}

inline float from_bits(std::uint32_t bits) {
  return _mm_cvtss_f32(_mm_castsi128_ps(_mm_cvtsi32_si128(static_cast<int>(bits))));
}

inline F32x8 load_f32(const std::byte* p) {
  return {_mm256_loadu_ps(reinterpret_cast<const float*>(p))};
}

inline F32x8 load_bf16(const std::byte* p) {
  const __m128i codes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
  return {_mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(codes), 16))};
}

inline F32x8 load_f16(const std::byte* p) {
  return {_mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)))};
}

// Exponent and mantissa moved to their f32 places give the value times 2^-120, subnormals included;
// the one NaN code, which would become 480, gets the bits of a quiet NaN.
inline F32x8 load_e4m3(const std::byte* p) {
  const __m128i bytes = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(p));
  const __m256i codes = _mm256_cvtepi8_epi32(bytes);
  const __m256i magnitude = _mm256_and_si256(codes, _mm256_set1_epi32(0x7F));
  const __m256i sign = _mm256_and_si256(codes, _mm256_set1_epi32(INT32_MIN));
  const __m256i bits = _mm256_or_si256(_mm256_slli_epi32(magnitude, 20), sign);
  const __m256 value = _mm256_mul_ps(_mm256_castsi256_ps(bits), _mm256_set1_ps(0x1p120F));
  const __m256i nan = _mm256_and_si256(_mm256_cmpeq_epi32(magnitude, _mm256_set1_epi32(0x7F)),
                                       _mm256_set1_epi32(0x7FC00000));
  return {_mm256_or_ps(value, _mm256_castsi256_ps(nan))};
}

// Lane i gets nibble i of the 4 bytes in its low bits; higher bits are other nibbles.
inline __m256i spread_nibbles(const std::byte* p) {
  std::int32_t word;
  std::memcpy(&word, p, sizeof(word));
  return _mm256_srlv_epi32(_mm256_set1_epi32(word), _mm256_setr_epi32(0, 4, 8, 12, 16, 20, 24, 28));
}

// The permutation looks at the three low bits only; bit 3 becomes the sign.
inline F32x8 load_e2m1(const std::byte* p) {
  const __m256 magnitudes = _mm256_setr_ps(0.0F, 0.5F, 1.0F, 1.5F, 2.0F, 3.0F, 4.0F, 6.0F);
  const __m256i codes = spread_nibbles(p);
  const __m256i sign = _mm256_and_si256(_mm256_slli_epi32(codes, 28), _mm256_set1_epi32(INT32_MIN));
  const __m256 value = _mm256_permutevar8x32_ps(magnitudes, codes);
  return {_mm256_or_ps(value, _mm256_castsi256_ps(sign))};
}

inline F32x8 load_int4(const std::byte* p) {
  const __m256i codes = _mm256_and_si256(spread_nibbles(p), _mm256_set1_epi32(0xF));
  return {_mm256_cvtepi32_ps(_mm256_sub_epi32(codes, _mm256_set1_epi32(8)))};
}
