#pragma once
// What every part of a step needs, and the ops in the forms that the parts use. Private to the
// room.

#include <cstdint>
#include <span>

#include "base/thread_pool.h"
#include "checkpoint/model_config.h"
#include "kernels/ops.h"
#include "model/model.h"
#include "model/scratch.h"

namespace pellucid::model {

/// The rotary embedding of a model: one table for main attention and indexer (model.md 3.4).
struct Rope {
  std::vector<float> inv_freq;  ///< [qk_rope_head_dim / 2]
  float magnitude = 1;
};

struct StepContext {
  const checkpoint::ModelConfig& config;
  const ModelOptions& options;
  const kernels::OpTable& ops;
  ThreadPool& pool;
  const Rope& rope;
  Scratch& scratch;
  Tap* tap;
  std::int64_t tokens;          ///< T
  std::int64_t first_position;  ///< of the step's first row
  /// Set by select(): what the rows attend to in this layer and in shared layers above it.
  kernels::Selection selection;

  [[nodiscard]] std::int64_t end_position() const { return first_position + tokens; }
  [[nodiscard]] std::span<const std::int32_t> positions() const {
    return std::span(scratch.positions).first(static_cast<std::size_t>(tokens));
  }
  [[nodiscard]] std::span<const std::int32_t> visible() const {
    return std::span(scratch.visible).first(static_cast<std::size_t>(tokens));
  }
};

/// y [rows, W.rows] = x W^T for `rows` rows of x, `x_stride` floats apart.
inline void linear(const StepContext& step, const tensor::WeightView& weight, const float* x,
                   std::int64_t x_stride, std::int64_t rows, float* y) {
  step.ops.linear({.weight = weight,
                   .x = x,
                   .x_stride = x_stride,
                   .y = y,
                   .y_stride = weight.rows,
                   .tokens = rows},
                  step.pool);
}

/// The step's rows, contiguous.
inline void linear(const StepContext& step, const tensor::WeightView& weight, const float* x,
                   float* y) {
  linear(step, weight, x, weight.cols, step.tokens, y);
}

/// RMSNorm over the first weight.size() elements of rows `stride` floats apart.
inline void rms_norm(const StepContext& step, std::span<const float> weight, const float* x,
                     float* y, std::int64_t stride) {
  step.ops.rms_norm({.x = x,
                     .x_stride = stride,
                     .y = y,
                     .y_stride = stride,
                     .weight = weight.data(),
                     .eps = static_cast<float>(step.config.rms_norm_eps),
                     .tokens = step.tokens,
                     .width = static_cast<std::int64_t>(weight.size())},
                    step.pool);
}

/// Where the rotated dims of one row of heads lie.
struct RopeSlice {
  float* x;  ///< first rotated element of head 0 of row 0
  std::int64_t token_stride;
  std::int64_t head_stride;
  std::int64_t heads;
};

inline void rotate(const StepContext& step, const RopeSlice& slice, kernels::RopePairing pairing) {
  step.ops.rope({.x = slice.x,
                 .token_stride = slice.token_stride,
                 .head_stride = slice.head_stride,
                 .heads = slice.heads,
                 .rope_dim = step.config.qk_rope_head_dim,
                 .pairing = pairing,
                 .inv_freq = step.rope.inv_freq,
                 .magnitude = step.rope.magnitude,
                 .positions = step.positions()},
                step.pool);
}

/// hidden += x, over the step's rows.
inline void add_to_residual(const StepContext& step, const float* x) {
  step.ops.add(
      {.acc = step.scratch.hidden.data(), .x = x, .count = step.tokens * step.config.hidden_size},
      step.pool);
}

[[nodiscard]] inline tensor::PagedRows readable(const tensor::MutablePagedRows& rows) {
  return {.pages = rows.pages,
          .page_tokens = rows.page_tokens,
          .row_bytes = rows.row_bytes,
          .width = rows.width,
          .element = rows.element};
}

}  // namespace pellucid::model
