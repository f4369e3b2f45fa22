#pragma once
// Micro-kernels: the inner loops of the fast tables, compiled once per target with that target's
// flags (micro_body.h). Everything above them (threads, tiles, grouping) is compiled once with the
// flags of the baseline.
//
// The translation units of targets see nothing but this header, the C library and intrinsics: an
// inline function of a std container compiled there with AVX2 could be the copy that the linker
// keeps for the whole program, and then a CPU without AVX2 would stop at an illegal instruction.
//
// Order of summation (docs/adr/0003): a dot product has kLanes partial sums, lane i takes the
// elements k with k % kLanes == i in ascending order, and the lanes are added by a fixed tree. It
// depends on neither the number of tokens nor the threads nor the tile.

#include <cstddef>
#include <cstdint>

#include "tensor/weight.h"

namespace pellucid::kernels::simd {

inline constexpr std::int64_t kLanes = 32;

/// Columns that are decoded at once: 2 KiB of f32 on the stack. A multiple of kLanes.
inline constexpr std::int64_t kTileColumns = 512;

/// Positions of a sequence that are summed before they join the running sum of attention.
inline constexpr std::int64_t kChunkPositions = 64;

/// One row of a weight matrix.
struct WeightRow {
  tensor::Element element;
  tensor::Scale scale;
  const std::byte* codes;   ///< of column 0
  const std::byte* scales;  ///< of column 0; null when scale is kNone
  std::int64_t block_cols;
  float global_scale;
  bool global_divides;
};

struct MicroKernels {
  /// out[i] = W[begin + i] for i < count; `begin` is a multiple of 8. The factor of a block is
  /// f32(scale * global), so a value may differ from decode_element by one rounding.
  void (*decode)(const WeightRow& row, std::int64_t begin, std::int64_t count, float* out);

  /// lanes[t][k % kLanes] += w[k] * x[t][offset + k], k < count, t < tokens. w holds f32 or bf16
  /// values; count is a multiple of kLanes except in the last call of a row.
  void (*dot)(tensor::Element element, const std::byte* w, const float* const* x,
              std::int64_t offset, std::int64_t tokens, std::int64_t count, float* lanes);

  /// sums[t] = the fixed tree over lanes[t].
  void (*reduce)(const float* lanes, std::int64_t tokens, float* sums);

  /// out[j] = rows[j] . q over `width` elements (f32 or bf16 rows).
  void (*row_dots)(tensor::Element element, const std::byte* const* rows, std::int64_t count,
                   const float* q, std::int64_t width, float* out);

  /// out[i] += sum_j weights[j] * rows[j][i], the sum over j first and in ascending order.
  void (*add_rows)(tensor::Element element, const std::byte* const* rows, const float* weights,
                   std::int64_t count, std::int64_t width, float* out);

  /// y[i] += a * x[i].
  void (*axpy)(float a, const float* x, std::int64_t count, float* y);

  /// values[i] = exp(values[i] - maximum); NaN stays NaN.
  void (*exp_minus)(float* values, std::int64_t count, float maximum);

  /// y = silu(gate) * up.
  void (*swiglu)(const float* gate, const float* up, std::int64_t count, float* y);
};

/// Compiled with the flags of the baseline.
[[nodiscard]] const MicroKernels& generic_micro();

/// Null when this build has no AVX2 code. Call only on a CPU with AVX2, FMA and F16C.
[[nodiscard]] const MicroKernels* avx2_micro();

}  // namespace pellucid::kernels::simd
