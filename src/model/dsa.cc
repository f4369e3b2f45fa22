#include "model/dsa.h"

#include <algorithm>
#include <cmath>

namespace pellucid::model {
namespace {

/// LayerNorm eps of the indexer keys; fixed in the reference, not rms_norm_eps (model.md 3.5).
constexpr float kIndexKeyNormEps = 1e-6F;

kernels::RopePairing index_rope_pairing(const checkpoint::ModelConfig& config) {
  return config.indexer_rope_interleave ? kernels::RopePairing::kInterleaved
                                        : kernels::RopePairing::kHalfSplit;
}

// ki = RoPE(LayerNorm(wk x)): the first qk_rope_head_dim dims rotate, the rest pass.
void write_index_keys(const StepContext& step, const IndexerWeights& weights,
                      const LayerCache& cache) {
  const std::int64_t width = step.config.index_head_dim;
  float* keys = step.scratch.index_k.data();
  linear(step, weights.wk, step.scratch.normed.data(), keys);
  step.ops.layer_norm({.x = keys,
                       .x_stride = width,
                       .y = keys,
                       .y_stride = width,
                       .weight = weights.k_norm_weight.data(),
                       .bias = weights.k_norm_bias.data(),
                       .eps = kIndexKeyNormEps,
                       .tokens = step.tokens,
                       .width = width},
                      step.pool);
  rotate(step, {.x = keys, .token_stride = width, .head_stride = 0, .heads = 1},
         index_rope_pairing(step.config));
  step.ops.store_rows(
      {.x = keys, .x_stride = width, .positions = step.positions(), .rows = cache.index_keys},
      step.pool);
}

// qi = RoPE(wq_b qr), and the weights of the heads: weights_proj x * n_heads^-0.5 * head_dim^-0.5.
void project_index_query(const StepContext& step, const IndexerWeights& weights) {
  const auto& config = step.config;
  Scratch& scratch = step.scratch;
  linear(step, weights.wq_b, scratch.q_lora.data(), scratch.index_q.data());
  rotate(step,
         {.x = scratch.index_q.data(),
          .token_stride = config.index_n_heads * config.index_head_dim,
          .head_stride = config.index_head_dim,
          .heads = config.index_n_heads},
         index_rope_pairing(config));
  linear(step, weights.weights_proj, scratch.normed.data(), scratch.index_weights.data());
  const auto factor = static_cast<float>(
      1.0 / std::sqrt(static_cast<double>(config.index_n_heads * config.index_head_dim)));
  const std::int64_t count = step.tokens * config.index_n_heads;
  for (std::int64_t i = 0; i < count; ++i) {
    scratch.index_weights[static_cast<std::size_t>(i)] *= factor;
  }
}

struct RowRange {
  std::int64_t begin;
  std::int64_t count;
};

void score(const StepContext& step, const LayerCache& cache, RowRange rows) {
  const auto& config = step.config;
  Scratch& scratch = step.scratch;
  const std::int64_t heads = config.index_n_heads;
  step.ops.indexer_scores({.q = scratch.index_q.data() + rows.begin * heads * config.index_head_dim,
                           .weights = scratch.index_weights.data() + rows.begin * heads,
                           .keys = readable(cache.index_keys),
                           .visible = step.visible().subspan(static_cast<std::size_t>(rows.begin),
                                                             static_cast<std::size_t>(rows.count)),
                           .index_n_heads = heads,
                           .index_head_dim = config.index_head_dim,
                           .tokens = rows.count,
                           .scores = scratch.index_scores.data(),
                           .scores_stride = step.end_position()},
                          step.pool);
}

/// Writes the selection of `rows`; `scores` is null when they see at most k positions.
void take_best(const StepContext& step, RowRange rows, std::int64_t k, const float* scores) {
  Scratch& scratch = step.scratch;
  const std::int64_t stride = step.selection.stride;
  const auto begin = static_cast<std::size_t>(rows.begin);
  const auto count = static_cast<std::size_t>(rows.count);
  step.ops.topk({.scores = scores,
                 .scores_stride = scores != nullptr ? step.end_position() : 0,
                 .visible = step.visible().subspan(begin, count),
                 .k = k,
                 .tokens = rows.count,
                 .indices = scratch.selection_indices.data() + rows.begin * stride,
                 .stride = stride,
                 .counts = std::span(scratch.selection_counts).subspan(begin, count),
                 .scratch = scratch.topk.data(),
                 .nan_count = &scratch.nan_index_scores},
                step.pool);
}

void begin_selection(StepContext& step) {
  step.selection = {
      .indices = step.scratch.selection_indices.data(),
      .stride = std::min(step.scratch.selection_max, step.end_position()),
      .counts =
          std::span(step.scratch.selection_counts).first(static_cast<std::size_t>(step.tokens))};
}

}  // namespace

void select_all(StepContext& step) {
  begin_selection(step);
  take_best(step, {0, step.tokens}, step.end_position(), nullptr);
}

void select_sparse(StepContext& step, std::int64_t layer, const IndexerWeights& weights,
                   const LayerCache& cache) {
  const std::int64_t k = step.config.index_topk;
  begin_selection(step);
  write_index_keys(step, weights, cache);
  // Row i sees first_position + i + 1 positions; the first `whole` rows see no more than k and
  // select all of them, so nothing is scored for them.
  const std::int64_t whole = std::clamp<std::int64_t>(k - step.first_position, 0, step.tokens);
  if (whole > 0) take_best(step, {0, whole}, k, nullptr);
  if (whole < step.tokens) project_index_query(step, weights);
  for (std::int64_t row = whole; row < step.tokens; row += kScoreRowsMax) {
    const RowRange rows{row, std::min(kScoreRowsMax, step.tokens - row)};
    score(step, cache, rows);
    if (step.tap != nullptr) {
      step.tap->index_scores(layer, step.first_position + row,
                             std::span(step.scratch.index_scores)
                                 .first(static_cast<std::size_t>(rows.count * step.end_position())),
                             step.end_position());
    }
    take_best(step, rows, k, step.scratch.index_scores.data());
  }
  if (step.tap != nullptr) step.tap->selection(layer, step.first_position, step.selection);
}

}  // namespace pellucid::model
