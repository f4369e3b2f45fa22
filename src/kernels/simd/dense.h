#pragma once
// Products of a few weight rows with many tokens: the body of one task. Not threaded.

#include "kernels/simd/micro.h"
#include "tensor/weight.h"

namespace pellucid::kernels::simd {

/// Row `row` of `view`, resolved to pointers.
[[nodiscard]] WeightRow weight_row(const tensor::WeightView& view, std::int64_t row);

/// y[slot * y_stride + n - first_row] = W[n, :] . x[(slot / x_divisor) * x_stride ...] for n in
/// [first_row, first_row + rows) and slot = slots[i], i < count (slots null: slot = i).
struct RowsTimesTokens {
  const tensor::WeightView* weight;
  std::int64_t first_row;
  std::int64_t rows;
  const std::int32_t* slots;
  std::int64_t count;
  const float* x;
  std::int64_t x_stride;
  std::int64_t x_divisor;
  float* y;
  std::int64_t y_stride;
};

void multiply(const MicroKernels& micro, const RowsTimesTokens& job);

/// Weight rows of one task, so that it is worth its share of a barrier: about 16K products.
[[nodiscard]] std::int64_t rows_per_task(std::int64_t cols, std::int64_t tokens);

}  // namespace pellucid::kernels::simd
