#include "model/model.h"

#include <new>
#include <string>
#include <utility>

#include "base/check.h"
#include "model/model_state.h"

namespace pellucid::model {

bool uses_indexer(const checkpoint::ModelConfig& config, AttentionScope scope) {
  return config.has_indexer() && scope == AttentionScope::kCheckpoint;
}

Expected<std::unique_ptr<Model>> Model::create(const checkpoint::ModelConfig& config,
                                               const Weights& weights, const ModelOptions& options,
                                               const kernels::OpTable& ops, ThreadPool& pool) {
  PELLUCID_CHECK(options.chunk_tokens > 0 && options.chunk_tokens <= options.context_max);
  Rope rope{.inv_freq = config.rope.inv_freq(config.qk_rope_head_dim),
            .magnitude = static_cast<float>(config.rope.cos_sin_multiplier())};
  try {
    std::unique_ptr<State> state(new State{.config = config,
                                           .weights = weights,
                                           .options = options,
                                           .ops = ops,
                                           .pool = pool,
                                           .rope = std::move(rope),
                                           .scratch = Scratch(config, options, pool.threads())});
    return std::unique_ptr<Model>(new Model(std::move(state)));
  } catch (const std::bad_alloc&) {
    return fail({.kind = ErrorKind::kLimit,
                 .rule = "model_scratch",
                 .object = "buffers of a step",
                 .found = std::to_string(options.context_max) + " tokens of context, chunks of " +
                          std::to_string(options.chunk_tokens),
                 .expected = "buffers that fit in memory",
                 .source = "context_max, chunk_tokens",
                 .fix = "lower context_max or chunk_tokens"});
  }
}

Model::Model(std::unique_ptr<State> state) : state_(std::move(state)) {}

Model::~Model() = default;

std::span<const float> Model::logits(std::int64_t first_row, std::int64_t rows) {
  PELLUCID_CHECK(first_row >= 0 && rows > 0 && rows <= kLogitRowsMax);
  PELLUCID_CHECK(first_row + rows <= state_->options.chunk_tokens);
  const std::int64_t hidden = state_->config.hidden_size;
  const std::int64_t vocab = state_->config.vocab_size;
  float* out = state_->scratch.logits.data();
  state_->ops.linear({.weight = state_->weights.lm_head,
                      .x = state_->scratch.normed.data() + first_row * hidden,
                      .x_stride = hidden,
                      .y = out,
                      .y_stride = vocab,
                      .tokens = rows},
                     state_->pool);
  return {out, static_cast<std::size_t>(rows * vocab)};
}

std::int64_t Model::nan_index_scores() const {
  return state_->scratch.nan_index_scores;
}

}  // namespace pellucid::model
