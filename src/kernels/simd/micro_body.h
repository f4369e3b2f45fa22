// The micro-kernels, written once over F32x8. Included inside an anonymous namespace, after one of
// the f32x8_*.h headers, by each target's translation unit (the SIMD re-include scaffold).

constexpr std::int64_t kVectors = kLanes / 8;

// Bytes of eight elements.
constexpr std::int64_t bytes_of_eight(tensor::Element element) {
  switch (element) {
    case tensor::Element::kF32:
      return 32;
    case tensor::Element::kF16:
    case tensor::Element::kBf16:
      return 16;
    case tensor::Element::kE4M3:
      return 8;
    case tensor::Element::kE2M1:
    case tensor::Element::kInt4:
      return 4;
  }
  __builtin_unreachable();
}

template <tensor::Element kElement>
inline F32x8 load_codes(const std::byte* p) {
  switch (kElement) {
    case tensor::Element::kF32:
      return load_f32(p);
    case tensor::Element::kF16:
      return load_f16(p);
    case tensor::Element::kBf16:
      return load_bf16(p);
    case tensor::Element::kE4M3:
      return load_e4m3(p);
    case tensor::Element::kE2M1:
      return load_e2m1(p);
    case tensor::Element::kInt4:
      return load_int4(p);
  }
  __builtin_unreachable();
}

// The first `count` < 8 elements at p, the others 0-coded; never reads past them.
template <tensor::Element kElement>
inline F32x8 load_partial_codes(const std::byte* p, std::int64_t count) {
  constexpr std::int64_t kBytes = bytes_of_eight(kElement);
  std::byte buffer[kBytes] = {};
  std::memcpy(buffer, p, static_cast<std::size_t>((count * kBytes + 7) / 8));
  return load_codes<kElement>(buffer);
}

inline void store_partial(float* p, F32x8 v, std::int64_t count) {
  float values[8];
  store(values, v);
  std::memcpy(p, values, static_cast<std::size_t>(count) * sizeof(float));
}

template <tensor::Scale kScale>
inline float block_scale(const std::byte* scales, std::int64_t block) {
  switch (kScale) {
    case tensor::Scale::kNone:
      return 1.0F;
    case tensor::Scale::kF32: {
      float value;
      std::memcpy(&value, scales + block * 4, sizeof(value));
      return value;
    }
    case tensor::Scale::kBf16: {
      std::uint16_t code;
      std::memcpy(&code, scales + block * 2, sizeof(code));
      return from_bits(static_cast<std::uint32_t>(code) << 16);
    }
    case tensor::Scale::kE4M3: {
      // As load_e4m3: exponent and mantissa in their f32 places, then times 2^120.
      const auto code = static_cast<std::uint32_t>(scales[block]);
      const std::uint32_t nan = (code & 0x7FU) == 0x7FU ? 0x7FC00000U : 0U;
      return from_bits(((code & 0x80U) << 24) | ((code & 0x7FU) << 20) | nan) * 0x1p120F;
    }
    case tensor::Scale::kUe8m0: {
      const auto code = static_cast<std::uint32_t>(scales[block]);
      if (code == 0) return 0x1p-127F;
      return from_bits(code == 255 ? 0x7FC00000U : code << 23);
    }
  }
  __builtin_unreachable();
}

template <tensor::Scale kScale>
void block_scales_as(const std::byte* scales, std::int64_t first, std::int64_t count, float* out) {
  for (std::int64_t i = 0; i < count; ++i) out[i] = block_scale<kScale>(scales, first + i);
}

void block_scales(const WeightRow& row, std::int64_t first, std::int64_t count, float* out) {
  switch (row.scale) {
    case tensor::Scale::kNone:
      return block_scales_as<tensor::Scale::kNone>(row.scales, first, count, out);
    case tensor::Scale::kF32:
      return block_scales_as<tensor::Scale::kF32>(row.scales, first, count, out);
    case tensor::Scale::kBf16:
      return block_scales_as<tensor::Scale::kBf16>(row.scales, first, count, out);
    case tensor::Scale::kE4M3:
      return block_scales_as<tensor::Scale::kE4M3>(row.scales, first, count, out);
    case tensor::Scale::kUe8m0:
      return block_scales_as<tensor::Scale::kUe8m0>(row.scales, first, count, out);
  }
  __builtin_unreachable();
}

// factors[i] = f32(scale * global) of block first + i.
inline void block_factors(const WeightRow& row, std::int64_t first, std::int64_t count,
                          float* factors) {
  block_scales(row, first, count, factors);
  const float global = row.global_scale;
  if (row.global_divides) {
    for (std::int64_t i = 0; i < count; ++i) factors[i] /= global;
    return;
  }
  for (std::int64_t i = 0; i < count; ++i) factors[i] *= global;
}

// `count` elements from column `begin` (a multiple of 8) that share a factor.
template <tensor::Element kElement>
[[gnu::always_inline]] inline void decode_run(const WeightRow& row, std::int64_t begin,
                                              std::int64_t count, float factor, float* out) {
  constexpr std::int64_t kBytes = bytes_of_eight(kElement);
  const F32x8 factors = broadcast(factor);
  const std::byte* codes = row.codes + begin / 8 * kBytes;
  std::int64_t i = 0;
  for (; i + 8 <= count; i += 8, codes += kBytes) {
    store(out + i, mul(load_codes<kElement>(codes), factors));
  }
  if (i == count) return;
  store_partial(out + i, mul(load_partial_codes<kElement>(codes, count - i), factors), count - i);
}

// Blocks of 16 columns from a block's first column.
template <tensor::Element kElement>
[[gnu::always_inline]] inline void decode_pairs(const WeightRow& row, std::int64_t begin,
                                                std::int64_t blocks, const float* factors,
                                                float* out) {
  constexpr std::int64_t kBytes = bytes_of_eight(kElement);
  const std::byte* codes = row.codes + begin / 8 * kBytes;
  for (std::int64_t b = 0; b < blocks; ++b) {
    const F32x8 factor = broadcast(factors[b]);
    store(out + b * 16, mul(load_codes<kElement>(codes + b * 2 * kBytes), factor));
    store(out + b * 16 + 8, mul(load_codes<kElement>(codes + (b * 2 + 1) * kBytes), factor));
  }
}

// At most kTileColumns elements. A block that begins inside a byte or a vector takes the slow way:
// codes first, then each times its factor.
template <tensor::Element kElement>
void decode_tile(const WeightRow& row, std::int64_t begin, std::int64_t count, float* out) {
  float factors[kTileColumns + 1];
  if (row.scale == tensor::Scale::kNone) {
    block_factors(row, 0, 1, factors);
    decode_run<kElement>(row, begin, count, factors[0], out);
    return;
  }
  const std::int64_t end = begin + count;
  const std::int64_t first = begin / row.block_cols;
  block_factors(row, first, (end - 1) / row.block_cols - first + 1, factors);
  if (row.block_cols % 8 != 0) {
    decode_run<kElement>(row, begin, count, 1.0F, out);
    for (std::int64_t i = 0; i < count; ++i) {
      out[i] *= factors[(begin + i) / row.block_cols - first];
    }
    return;
  }
  // NVFP4: a block is two vectors, too short for a loop of its own (1.7 times as fast).
  if (row.block_cols == 16 && begin % 16 == 0 && count % 16 == 0) {
    decode_pairs<kElement>(row, begin, count / 16, factors, out);
    return;
  }
  const float* factor = factors;
  std::int64_t block_end = (first + 1) * row.block_cols;
  for (std::int64_t c = begin; c < end; block_end += row.block_cols, ++factor) {
    const std::int64_t stop = block_end < end ? block_end : end;
    decode_run<kElement>(row, c, stop - c, *factor, out + (c - begin));
    c = stop;
  }
}

template <tensor::Element kElement>
void decode_as(const WeightRow& row, std::int64_t begin, std::int64_t count, float* out) {
  for (std::int64_t done = 0; done < count; done += kTileColumns) {
    const std::int64_t rest = count - done;
    decode_tile<kElement>(row, begin + done, rest < kTileColumns ? rest : kTileColumns, out + done);
  }
}

void decode(const WeightRow& row, std::int64_t begin, std::int64_t count, float* out) {
  switch (row.element) {
    case tensor::Element::kF32:
      return decode_as<tensor::Element::kF32>(row, begin, count, out);
    case tensor::Element::kF16:
      return decode_as<tensor::Element::kF16>(row, begin, count, out);
    case tensor::Element::kBf16:
      return decode_as<tensor::Element::kBf16>(row, begin, count, out);
    case tensor::Element::kE4M3:
      return decode_as<tensor::Element::kE4M3>(row, begin, count, out);
    case tensor::Element::kE2M1:
      return decode_as<tensor::Element::kE2M1>(row, begin, count, out);
    case tensor::Element::kInt4:
      return decode_as<tensor::Element::kInt4>(row, begin, count, out);
  }
  __builtin_unreachable();
}

// One step of kLanes columns for kTokens tokens: each weight vector is loaded once.
template <tensor::Element kElement, int kTokens>
inline void dot_step(const std::byte* w, const float* const* x, std::int64_t at,
                     F32x8 (&sums)[kTokens][kVectors]) {
#pragma GCC unroll 4
  for (int v = 0; v < kVectors; ++v) {
    const F32x8 weights = load_codes<kElement>(w + v * bytes_of_eight(kElement));
#pragma GCC unroll 3
    for (int t = 0; t < kTokens; ++t) {
      sums[t][v] = multiply_add(weights, load(x[t] + at + v * 8), sums[t][v]);
    }
  }
}

// The columns after the last whole step, padded with zeros on both sides.
template <tensor::Element kElement, int kTokens>
inline void dot_tail(const std::byte* w, const float* const* x, std::int64_t at, std::int64_t count,
                     F32x8 (&sums)[kTokens][kVectors]) {
  constexpr std::int64_t kBytes = bytes_of_eight(kElement);
  std::byte weights[kVectors * kBytes] = {};
  float tokens[kTokens][kLanes] = {};
  const float* padded[kTokens];
  std::memcpy(weights, w, static_cast<std::size_t>(count * kBytes / 8));
  for (int t = 0; t < kTokens; ++t) {
    std::memcpy(tokens[t], x[t] + at, static_cast<std::size_t>(count) * sizeof(float));
    padded[t] = tokens[t];
  }
  dot_step<kElement, kTokens>(weights, padded, 0, sums);
}

template <tensor::Element kElement, int kTokens>
inline void dot_tokens(const std::byte* w, const float* const* x, std::int64_t offset,
                       std::int64_t count, float* lanes) {
  constexpr std::int64_t kStepBytes = kVectors * bytes_of_eight(kElement);
  F32x8 sums[kTokens][kVectors];
  for (int t = 0; t < kTokens; ++t) {
    for (int v = 0; v < kVectors; ++v) sums[t][v] = load(lanes + t * kLanes + v * 8);
  }
  std::int64_t k = 0;
  for (; k + kLanes <= count; k += kLanes, w += kStepBytes) {
    dot_step<kElement, kTokens>(w, x, offset + k, sums);
  }
  if (k < count) dot_tail<kElement, kTokens>(w, x, offset + k, count - k, sums);
  for (int t = 0; t < kTokens; ++t) {
    for (int v = 0; v < kVectors; ++v) store(lanes + t * kLanes + v * 8, sums[t][v]);
  }
}

template <tensor::Element kElement>
void dot_as(const std::byte* w, const float* const* x, std::int64_t offset, std::int64_t tokens,
            std::int64_t count, float* lanes) {
  std::int64_t t = 0;
  for (; t + 3 <= tokens; t += 3) {
    dot_tokens<kElement, 3>(w, x + t, offset, count, lanes + t * kLanes);
  }
  if (tokens - t == 2) dot_tokens<kElement, 2>(w, x + t, offset, count, lanes + t * kLanes);
  if (tokens - t == 1) dot_tokens<kElement, 1>(w, x + t, offset, count, lanes + t * kLanes);
}

void dot(tensor::Element element, const std::byte* w, const float* const* x, std::int64_t offset,
         std::int64_t tokens, std::int64_t count, float* lanes) {
  if (element == tensor::Element::kBf16) {
    dot_as<tensor::Element::kBf16>(w, x, offset, tokens, count, lanes);
    return;
  }
  dot_as<tensor::Element::kF32>(w, x, offset, tokens, count, lanes);
}

// ((v0 + v1) + (v2 + v3)), then the lanes of that vector.
inline float reduce_lanes(const float* lanes) {
  const F32x8 low = add(load(lanes), load(lanes + 8));
  const F32x8 high = add(load(lanes + 16), load(lanes + 24));
  return sum_of(add(low, high));
}

void reduce(const float* lanes, std::int64_t tokens, float* sums) {
  for (std::int64_t t = 0; t < tokens; ++t) sums[t] = reduce_lanes(lanes + t * kLanes);
}

void row_dots(tensor::Element element, const std::byte* const* rows, std::int64_t count,
              const float* q, std::int64_t width, float* out) {
  for (std::int64_t j = 0; j < count; ++j) {
    float lanes[kLanes] = {};
    dot(element, rows[j], &q, 0, 1, width, lanes);
    out[j] = reduce_lanes(lanes);
  }
}

// Adds the weighted rows for columns [at, at + 8 * kCount), whose sums stay in registers.
template <tensor::Element kElement, int kCount>
inline void add_columns(const std::byte* const* rows, const float* weights, std::int64_t count,
                        std::int64_t at, float* out) {
  constexpr std::int64_t kBytes = bytes_of_eight(kElement);
  F32x8 sums[kCount];
  for (int v = 0; v < kCount; ++v) sums[v] = broadcast(0.0F);
  for (std::int64_t j = 0; j < count; ++j) {
    const F32x8 weight = broadcast(weights[j]);
    const std::byte* row = rows[j] + at / 8 * kBytes;
#pragma GCC unroll 8
    for (int v = 0; v < kCount; ++v) {
      sums[v] = multiply_add(weight, load_codes<kElement>(row + v * kBytes), sums[v]);
    }
  }
  for (int v = 0; v < kCount; ++v) {
    store(out + at + v * 8, add(load(out + at + v * 8), sums[v]));
  }
}

template <tensor::Element kElement>
inline void add_last_columns(const std::byte* const* rows, const float* weights, std::int64_t count,
                             std::int64_t at, std::int64_t columns, float* out) {
  F32x8 sum = broadcast(0.0F);
  for (std::int64_t j = 0; j < count; ++j) {
    const std::byte* row = rows[j] + at / 8 * bytes_of_eight(kElement);
    sum = multiply_add(broadcast(weights[j]), load_partial_codes<kElement>(row, columns), sum);
  }
  float sums[8];
  store(sums, sum);
  for (std::int64_t i = 0; i < columns; ++i) out[at + i] += sums[i];
}

template <tensor::Element kElement>
void add_rows_as(const std::byte* const* rows, const float* weights, std::int64_t count,
                 std::int64_t width, float* out) {
  std::int64_t i = 0;
  for (; i + 64 <= width; i += 64) add_columns<kElement, 8>(rows, weights, count, i, out);
  for (; i + 8 <= width; i += 8) add_columns<kElement, 1>(rows, weights, count, i, out);
  if (i < width) add_last_columns<kElement>(rows, weights, count, i, width - i, out);
}

void add_rows(tensor::Element element, const std::byte* const* rows, const float* weights,
              std::int64_t count, std::int64_t width, float* out) {
  if (element == tensor::Element::kBf16) {
    add_rows_as<tensor::Element::kBf16>(rows, weights, count, width, out);
    return;
  }
  add_rows_as<tensor::Element::kF32>(rows, weights, count, width, out);
}

void axpy(float a, const float* x, std::int64_t count, float* y) {
  for (std::int64_t i = 0; i < count; ++i) y[i] = multiply_add(a, x[i], y[i]);
}

// exp by x = n ln 2 + r, |r| <= ln 2 / 2, exp(r) by its Taylor series to r^7 (the first omitted
// term is below 6e-9 of the value), times 2^n in two factors so that the result may be subnormal.
// ln 2 is split in a part of 10 bits, whose product with n is exact, and the rest. The comparisons
// keep NaN; below -104 the result rounds to 0 and above 89 to infinity, so the clamp changes
// nothing. n is read from the bits of a sum with 1.5 * 2^23: a conversion of NaN to an integer
// would be undefined.
inline float exp_f32(float x) {
  constexpr float kRound = 12582912.0F;
  x = x < -104.0F ? -104.0F : x;
  x = x > 89.0F ? 89.0F : x;
  const float shifted = multiply_add(x, 1.44269504F, kRound);
  const float n = shifted - kRound;
  float r = multiply_add(n, -0.693359375F, x);
  r = multiply_add(n, 2.12194440e-4F, r);
  float p = 1.0F / 5040;
  p = multiply_add(p, r, 1.0F / 720);
  p = multiply_add(p, r, 1.0F / 120);
  p = multiply_add(p, r, 1.0F / 24);
  p = multiply_add(p, r, 1.0F / 6);
  p = multiply_add(p, r, 0.5F);
  p = multiply_add(p * r, r, r) + 1.0F;
  std::uint32_t exponent;
  std::memcpy(&exponent, &shifted, sizeof(exponent));
  exponent -= 0x4B400000U;  // the bits of kRound
  const std::uint32_t half = (exponent >> 1) | (exponent & 0x80000000U);
  const std::uint32_t rest = exponent - half;
  const std::uint32_t first_bits = (half + 127U) << 23;
  const std::uint32_t second_bits = (rest + 127U) << 23;
  float first;
  float second;
  std::memcpy(&first, &first_bits, sizeof(first));
  std::memcpy(&second, &second_bits, sizeof(second));
  return p * first * second;
}

void exp_minus(float* values, std::int64_t count, float maximum) {
  for (std::int64_t i = 0; i < count; ++i) values[i] = exp_f32(values[i] - maximum);
}

// gate < 0 uses exp(gate) and gate >= 0 exp(-gate), so that neither overflows.
inline float silu_f32(float gate) {
  const float e = exp_f32(gate < 0.0F ? gate : -gate);
  const float numerator = gate < 0.0F ? gate * e : gate;
  return numerator / (1.0F + e);
}

// Works on copies: y may be gate or up, and a compiler that must assume so does not vectorise.
void swiglu(const float* gate, const float* up, std::int64_t count, float* y) {
  constexpr std::int64_t kBlock = 64;
  for (std::int64_t begin = 0; begin < count; begin += kBlock) {
    const std::int64_t size = count - begin < kBlock ? count - begin : kBlock;
    const auto bytes = static_cast<std::size_t>(size) * sizeof(float);
    float gates[kBlock] = {};
    float ups[kBlock] = {};
    std::memcpy(gates, gate + begin, bytes);
    std::memcpy(ups, up + begin, bytes);
    for (std::int64_t i = 0; i < kBlock; ++i) gates[i] = silu_f32(gates[i]) * ups[i];
    std::memcpy(y + begin, gates, bytes);
  }
}

constexpr MicroKernels kMicroKernels = {
    .decode = decode,
    .dot = dot,
    .reduce = reduce,
    .row_dots = row_dots,
    .add_rows = add_rows,
    .axpy = axpy,
    .exp_minus = exp_minus,
    .swiglu = swiglu,
};
