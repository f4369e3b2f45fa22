#include "kernels/simd/dense.h"

#include <algorithm>
#include <cstring>

namespace pellucid::kernels::simd {
namespace {

// Tokens that share one decoded tile; a multiple of the three that `dot` takes together. With a
// tile of 512 columns their activations are 48 KiB: they stay in L2 while the rows pass by.
constexpr std::int64_t kTokenGroup = 24;

// Rows whose partial sums are kept while a tile of activations is hot: 24 KiB of lanes.
constexpr std::int64_t kRowGroup = 8;

// bf16 and f32 rows without any scale are read in place; others are decoded tile by tile.
bool read_in_place(const WeightRow& row) {
  const bool plain = row.element == tensor::Element::kF32 || row.element == tensor::Element::kBf16;
  return plain && row.scale == tensor::Scale::kNone && row.global_scale == 1.0F;
}

void dot_tile(const MicroKernels& micro, const WeightRow& row, const float* const* x,
              std::int64_t tokens, std::int64_t begin, std::int64_t count, float* lanes) {
  if (read_in_place(row)) {
    const std::int64_t bytes = row.element == tensor::Element::kBf16 ? 2 : 4;
    micro.dot(row.element, row.codes + begin * bytes, x, begin, tokens, count, lanes);
    return;
  }
  alignas(64) float tile[kTileColumns];
  micro.decode(row, begin, count, tile);
  micro.dot(tensor::Element::kF32, reinterpret_cast<const std::byte*>(tile), x, begin, tokens,
            count, lanes);
}

struct TokenGroup {
  std::int64_t tokens;
  const float* x[kTokenGroup];
  float* y[kTokenGroup];
};

TokenGroup token_group(const RowsTimesTokens& job, std::int64_t first) {
  TokenGroup group;
  group.tokens = std::min(kTokenGroup, job.count - first);
  for (std::int64_t i = 0; i < group.tokens; ++i) {
    const std::int64_t slot = job.slots == nullptr ? first + i : job.slots[first + i];
    group.x[i] = job.x + slot / job.x_divisor * job.x_stride;
    group.y[i] = job.y + slot * job.y_stride;
  }
  return group;
}

void multiply_rows(const MicroKernels& micro, const RowsTimesTokens& job, const TokenGroup& group,
                   std::int64_t begin, std::int64_t rows) {
  alignas(64) float lanes[kRowGroup][kTokenGroup * kLanes];
  const auto used = static_cast<std::size_t>(group.tokens * kLanes) * sizeof(float);
  for (std::int64_t r = 0; r < rows; ++r) std::memset(lanes[r], 0, used);
  const std::int64_t cols = job.weight->cols;
  for (std::int64_t c = 0; c < cols; c += kTileColumns) {
    const std::int64_t count = std::min(kTileColumns, cols - c);
    for (std::int64_t r = 0; r < rows; ++r) {
      const WeightRow row = weight_row(*job.weight, job.first_row + begin + r);
      dot_tile(micro, row, group.x, group.tokens, c, count, lanes[r]);
    }
  }
  float sums[kTokenGroup];
  for (std::int64_t r = 0; r < rows; ++r) {
    micro.reduce(lanes[r], group.tokens, sums);
    for (std::int64_t i = 0; i < group.tokens; ++i) group.y[i][begin + r] = sums[i];
  }
}

}  // namespace

WeightRow weight_row(const tensor::WeightView& view, std::int64_t row) {
  const std::byte* scales = nullptr;
  if (view.scale != tensor::Scale::kNone) {
    scales = view.scales + row / view.block_rows * view.scale_cols() * view.scale_bytes();
  }
  return {.element = view.element,
          .scale = view.scale,
          .codes = view.codes + row * view.row_bytes(),
          .scales = scales,
          .block_cols = view.block_cols,
          .global_scale = view.global_scale,
          .global_divides = view.global_divides};
}

void multiply(const MicroKernels& micro, const RowsTimesTokens& job) {
  for (std::int64_t first = 0; first < job.count; first += kTokenGroup) {
    const TokenGroup group = token_group(job, first);
    // A single token reads each row in one go: the memory stream stays sequential.
    const std::int64_t row_group = group.tokens == 1 ? 1 : kRowGroup;
    for (std::int64_t r = 0; r < job.rows; r += row_group) {
      multiply_rows(micro, job, group, r, std::min(row_group, job.rows - r));
    }
  }
}

std::int64_t rows_per_task(std::int64_t cols, std::int64_t tokens) {
  constexpr std::int64_t kProductsPerTask = 16384;
  const std::int64_t per_row = std::max<std::int64_t>(1, cols * std::min(tokens, kTokenGroup));
  const std::int64_t rows = (kProductsPerTask + per_row - 1) / per_row;
  return (rows + kRowGroup - 1) / kRowGroup * kRowGroup;
}

}  // namespace pellucid::kernels::simd
