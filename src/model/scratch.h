#pragma once
// Every buffer of a step, sized once for the largest step. Private to the room.

#include <cstdint>
#include <vector>

#include "checkpoint/model_config.h"
#include "model/model.h"

namespace pellucid::model {

/// Rows scored at a time by the indexer: bounds the score buffer to 32 * context_max floats.
inline constexpr std::int64_t kScoreRowsMax = 32;

struct Scratch {
  Scratch(const checkpoint::ModelConfig& config, const ModelOptions& options, int threads);

  // T = chunk_tokens, S = context_max, H = num_attention_heads.
  std::vector<std::int32_t> positions;  ///< [T]
  std::vector<std::int32_t> visible;    ///< [T] positions that a row may attend to, itself included
  std::vector<float> hidden;            ///< [T, hidden_size] residual stream
  std::vector<float> normed;            ///< [T, hidden_size]
  std::vector<float> block_out;         ///< [T, hidden_size] before it joins the residual stream

  std::vector<float> q_lora;    ///< [T, q_lora_rank] after q_a_layernorm
  std::vector<float> q;         ///< [T, H, qk_head_dim]
  std::vector<float> latent;    ///< [T, kv_lora_rank + rope] of this step, or [S, ...] of the cache
  std::vector<float> q_latent;  ///< [T, H, kv_lora_rank]
  std::vector<float> o_latent;  ///< [T, H, kv_lora_rank]
  std::vector<float> kv;        ///< [S, H, nope + v], expanded form only
  std::vector<float> values;    ///< [T, H, v_head_dim]
  std::vector<float> attention;  ///< [threads, selection stride]

  std::int64_t selection_max;                   ///< most positions that a row can select
  std::vector<std::int32_t> selection_indices;  ///< [T, selection_max]
  std::vector<std::int32_t> selection_counts;   ///< [T]
  std::vector<float> index_q;                   ///< [T, index_n_heads, index_head_dim]
  std::vector<float> index_k;                   ///< [T, index_head_dim]
  std::vector<float> index_weights;             ///< [T, index_n_heads]
  std::vector<float> index_scores;              ///< [kScoreRowsMax, S]
  std::vector<std::int32_t> topk;               ///< [threads, S]
  std::int64_t nan_index_scores = 0;

  std::vector<float> gate, up;           ///< [T, widest dense or shared block]
  std::vector<float> shared_out;         ///< [T, hidden_size]
  std::vector<float> router_logits;      ///< [T, n_routed_experts]
  std::vector<std::int32_t> expert_ids;  ///< [T, num_experts_per_tok]
  std::vector<float> expert_weights;     ///< [T, num_experts_per_tok]
  std::vector<float> moe_floats;
  std::vector<std::int32_t> moe_ints;

  std::vector<float> logits;  ///< [kLogitRowsMax, vocab_size]
};

}  // namespace pellucid::model
