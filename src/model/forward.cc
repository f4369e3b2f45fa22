#include <numeric>

#include "base/check.h"
#include "model/dsa.h"
#include "model/mla.h"
#include "model/model.h"
#include "model/model_state.h"
#include "model/moe.h"

namespace pellucid::model {
namespace {

void check_step(const Step& input, const ModelOptions& options, std::size_t layers) {
  const auto tokens = static_cast<std::int64_t>(input.ids.size());
  PELLUCID_CHECK(tokens > 0 && tokens <= options.chunk_tokens);
  PELLUCID_CHECK(input.first_position >= 0);
  PELLUCID_CHECK(input.first_position + tokens <= options.context_max);
  PELLUCID_CHECK(input.caches.size() == layers);
}

StepContext begin_step(Model::State& state, const Step& input, Tap* tap) {
  Scratch& scratch = state.scratch;
  const std::size_t tokens = input.ids.size();
  const auto first = static_cast<std::int32_t>(input.first_position);
  std::iota(scratch.positions.begin(), scratch.positions.begin() + input.ids.size(), first);
  std::iota(scratch.visible.begin(), scratch.visible.begin() + input.ids.size(), first + 1);
  StepContext step{.config = state.config,
                   .options = state.options,
                   .ops = state.ops,
                   .pool = state.pool,
                   .rope = state.rope,
                   .scratch = scratch,
                   .tap = tap,
                   .tokens = static_cast<std::int64_t>(tokens),
                   .first_position = input.first_position,
                   .selection = {}};
  state.ops.embed(
      {.table = state.weights.embed_tokens, .ids = input.ids, .out = scratch.hidden.data()},
      state.pool);
  return step;
}

void feed_forward(const StepContext& step, std::int64_t layer, const LayerWeights& weights) {
  if (const auto* moe = std::get_if<MoeWeights>(&weights.ffn)) {
    moe_ffn(step, layer, *moe);
    return;
  }
  dense_ffn(step, std::get<MlpWeights>(weights.ffn));
}

}  // namespace

// For each layer (model.md section 3):
//   a = x + Attention(RMSNorm(x));  x' = a + FFN(RMSNorm(a))
void Model::forward(const Step& input, Tap* tap) {
  const Weights& weights = state_->weights;
  check_step(input, state_->options, weights.layers.size());
  StepContext step = begin_step(*state_, input, tap);
  Scratch& scratch = step.scratch;
  const std::int64_t width = step.config.hidden_size;
  if (!uses_indexer(step.config, step.options.attention_scope)) select_all(step);

  for (std::size_t index = 0; index < weights.layers.size(); ++index) {
    const LayerWeights& layer = weights.layers[index];
    const auto number = static_cast<std::int64_t>(index);

    rms_norm(step, layer.input_layernorm, scratch.hidden.data(), scratch.normed.data(), width);
    mla_attention(step, number, layer.attention, input.caches[index]);
    add_to_residual(step, scratch.block_out.data());

    rms_norm(step, layer.post_attention_layernorm, scratch.hidden.data(), scratch.normed.data(),
             width);
    feed_forward(step, number, layer);
    add_to_residual(step, scratch.block_out.data());

    if (tap != nullptr) {
      tap->hidden(number, step.first_position,
                  std::span(scratch.hidden).first(static_cast<std::size_t>(step.tokens * width)));
    }
  }
  rms_norm(step, weights.norm, scratch.hidden.data(), scratch.normed.data(), width);
}

}  // namespace pellucid::model
