#pragma once
// The definition of every weight format, one element at a time.

#include <cstddef>
#include <cstdint>

#include "tensor/weight.h"

namespace pellucid::kernels {

/// W[row, col] of `view`: the product (or quotient) of code, block scale and global scale in
/// double, rounded once to f32 (model.md sections 5.2 to 5.7).
[[nodiscard]] float decode_element(const tensor::WeightView& view, std::int64_t row,
                                   std::int64_t col);

/// W[row, first_col .. first_col + count) of `view`: what decode_element gives for each, with every
/// block scale read once.
void decode_columns(const tensor::WeightView& view, std::int64_t row, std::int64_t first_col,
                    std::int64_t count, float* out);

/// The block scale that applies to W[row, col]; 1 for a format without block scales.
[[nodiscard]] float decode_scale(const tensor::WeightView& view, std::int64_t row,
                                 std::int64_t col);

/// Element `index` of a cache row (kF32 or kBf16).
[[nodiscard]] float decode_row_element(tensor::Element element, const std::byte* row,
                                       std::int64_t index);

}  // namespace pellucid::kernels
