#include "model/scratch.h"

#include <algorithm>

namespace pellucid::model {
namespace {

template <class T>
void allocate(std::vector<T>& buffer, std::int64_t count) {
  buffer.resize(static_cast<std::size_t>(count));
}

std::int64_t selection_bound(const checkpoint::ModelConfig& config, const ModelOptions& options) {
  if (!uses_indexer(config, options.attention_scope)) return options.context_max;
  return std::min(config.index_topk, options.context_max);
}

}  // namespace

Scratch::Scratch(const checkpoint::ModelConfig& config, const ModelOptions& options, int threads)
    : selection_max(selection_bound(config, options)) {
  const std::int64_t t = options.chunk_tokens;
  const std::int64_t s = options.context_max;
  const std::int64_t heads = config.num_attention_heads;
  const bool expanded = options.attention_form == AttentionForm::kExpanded;

  allocate(positions, t);
  allocate(visible, t);
  allocate(hidden, t * config.hidden_size);
  allocate(normed, t * config.hidden_size);
  allocate(block_out, t * config.hidden_size);

  const std::int64_t latent_width = config.kv_lora_rank + config.qk_rope_head_dim;
  allocate(q_lora, t * config.q_lora_rank);
  allocate(q, t * heads * config.qk_head_dim());
  allocate(latent, (expanded ? std::max(s, t) : t) * latent_width);
  allocate(q_latent, expanded ? 0 : t * heads * config.kv_lora_rank);
  allocate(o_latent, expanded ? 0 : t * heads * config.kv_lora_rank);
  allocate(kv, expanded ? s * heads * (config.qk_nope_head_dim + config.v_head_dim) : 0);
  allocate(values, t * heads * config.v_head_dim);
  allocate(attention, threads * selection_max);

  allocate(selection_indices, t * selection_max);
  allocate(selection_counts, t);
  if (uses_indexer(config, options.attention_scope)) {
    allocate(index_q, t * config.index_n_heads * config.index_head_dim);
    allocate(index_k, t * config.index_head_dim);
    allocate(index_weights, t * config.index_n_heads);
    allocate(index_scores, std::min(t, kScoreRowsMax) * s);
    allocate(topk, threads * s);
  }

  allocate(gate, t * std::max(config.intermediate_size,
                              config.moe_intermediate_size * config.n_shared_experts));
  allocate(up, static_cast<std::int64_t>(gate.size()));
  allocate(shared_out, t * config.hidden_size);
  allocate(router_logits, t * config.n_routed_experts);
  allocate(expert_ids, t * config.num_experts_per_tok);
  allocate(expert_weights, t * config.num_experts_per_tok);
  allocate(moe_floats,
           kernels::moe_scratch_floats(t, config.num_experts_per_tok, config.hidden_size,
                                       config.moe_intermediate_size));
  allocate(moe_ints,
           kernels::moe_scratch_ints(t, config.num_experts_per_tok, config.n_routed_experts));
  allocate(logits, kLogitRowsMax * config.vocab_size);
}

}  // namespace pellucid::model
