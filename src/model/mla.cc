#include "model/mla.h"

#include "model/dsa.h"

namespace pellucid::model {
namespace {

// q = q_b(RMSNorm(q_a(x))), or q_proj(x) without low rank. Per head: nope first, rope last.
void project_query(const StepContext& step, const AttentionWeights& weights) {
  const auto& config = step.config;
  Scratch& scratch = step.scratch;
  if (config.q_lora_rank == 0) {
    linear(step, weights.q_proj, scratch.normed.data(), scratch.q.data());
  } else {
    linear(step, weights.q_a_proj, scratch.normed.data(), scratch.q_lora.data());
    rms_norm(step, weights.q_a_layernorm, scratch.q_lora.data(), scratch.q_lora.data(),
             config.q_lora_rank);
    linear(step, weights.q_b_proj, scratch.q_lora.data(), scratch.q.data());
  }
  rotate(step,
         {.x = scratch.q.data() + config.qk_nope_head_dim,
          .token_stride = config.num_attention_heads * config.qk_head_dim(),
          .head_stride = config.qk_head_dim(),
          .heads = config.num_attention_heads},
         kernels::RopePairing::kInterleaved);
}

// Cache row: c = RMSNorm(first kv_lora_rank of kv_a(x)), then k_rope = RoPE(the rest), one head
// shared by all.
void write_latent(const StepContext& step, const AttentionWeights& weights,
                  const LayerCache& cache) {
  const auto& config = step.config;
  float* latent = step.scratch.latent.data();
  const std::int64_t width = config.kv_lora_rank + config.qk_rope_head_dim;
  linear(step, weights.kv_a_proj_with_mqa, step.scratch.normed.data(), latent);
  rms_norm(step, weights.kv_a_layernorm, latent, latent, width);
  rotate(step,
         {.x = latent + config.kv_lora_rank, .token_stride = width, .head_stride = 0, .heads = 1},
         kernels::RopePairing::kInterleaved);
  step.ops.store_rows(
      {.x = latent, .x_stride = width, .positions = step.positions(), .rows = cache.latent},
      step.pool);
}

// Attention in the space of the latents: W_UK moves to the query, W_UV to the output.
void attend_absorbed(const StepContext& step, const AttentionWeights& weights,
                     const LayerCache& cache) {
  const auto& config = step.config;
  Scratch& scratch = step.scratch;
  const std::int64_t q_token_stride = config.num_attention_heads * config.qk_head_dim();
  step.ops.absorb_query({.kv_b = weights.kv_b_proj,
                         .q = scratch.q.data(),
                         .q_token_stride = q_token_stride,
                         .q_head_stride = config.qk_head_dim(),
                         .q_latent = scratch.q_latent.data(),
                         .heads = config.num_attention_heads,
                         .nope_dim = config.qk_nope_head_dim,
                         .v_dim = config.v_head_dim,
                         .tokens = step.tokens},
                        step.pool);
  step.ops.absorbed_attention({.q_latent = scratch.q_latent.data(),
                               .q_rope = scratch.q.data() + config.qk_nope_head_dim,
                               .q_rope_token_stride = q_token_stride,
                               .q_rope_head_stride = config.qk_head_dim(),
                               .cache = readable(cache.latent),
                               .selection = step.selection,
                               .scale = static_cast<float>(config.softmax_scale()),
                               .heads = config.num_attention_heads,
                               .kv_lora_rank = config.kv_lora_rank,
                               .rope_dim = config.qk_rope_head_dim,
                               .tokens = step.tokens,
                               .out = scratch.o_latent.data(),
                               .scratch = scratch.attention.data()},
                              step.pool);
  step.ops.project_value({.kv_b = weights.kv_b_proj,
                          .o_latent = scratch.o_latent.data(),
                          .out = scratch.values.data(),
                          .heads = config.num_attention_heads,
                          .nope_dim = config.qk_nope_head_dim,
                          .v_dim = config.v_head_dim,
                          .tokens = step.tokens},
                         step.pool);
}

// Attention as the paper first states it: kv_b turns every cached latent into keys and values.
void attend_expanded(const StepContext& step, const AttentionWeights& weights,
                     const LayerCache& cache) {
  const auto& config = step.config;
  Scratch& scratch = step.scratch;
  const std::int64_t width = config.kv_lora_rank + config.qk_rope_head_dim;
  const std::int64_t rows = step.end_position();
  step.ops.load_rows(
      {.rows = readable(cache.latent), .begin = 0, .count = rows, .out = scratch.latent.data()},
      step.pool);
  linear(step, weights.kv_b_proj, scratch.latent.data(), width, rows, scratch.kv.data());
  step.ops.expanded_attention({.q = scratch.q.data(),
                               .q_token_stride = config.num_attention_heads * config.qk_head_dim(),
                               .q_head_stride = config.qk_head_dim(),
                               .kv = scratch.kv.data(),
                               .k_rope = scratch.latent.data() + config.kv_lora_rank,
                               .k_rope_stride = width,
                               .selection = step.selection,
                               .scale = static_cast<float>(config.softmax_scale()),
                               .heads = config.num_attention_heads,
                               .nope_dim = config.qk_nope_head_dim,
                               .rope_dim = config.qk_rope_head_dim,
                               .v_dim = config.v_head_dim,
                               .tokens = step.tokens,
                               .out = scratch.values.data(),
                               .scratch = scratch.attention.data()},
                              step.pool);
}

}  // namespace

void mla_attention(StepContext& step, std::int64_t layer, const AttentionWeights& weights,
                   const LayerCache& cache) {
  project_query(step, weights);
  write_latent(step, weights, cache);
  if (weights.indexer && uses_indexer(step.config, step.options.attention_scope)) {
    select_sparse(step, layer, *weights.indexer, cache);
  }
  switch (step.options.attention_form) {
    case AttentionForm::kAbsorbed:
      attend_absorbed(step, weights, cache);
      break;
    case AttentionForm::kExpanded:
      attend_expanded(step, weights, cache);
      break;
  }
  linear(step, weights.o_proj, step.scratch.values.data(), step.scratch.block_out.data());
}

}  // namespace pellucid::model
