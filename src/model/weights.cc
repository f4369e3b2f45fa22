#include "model/weights.h"

#include <string>
#include <utility>

namespace pellucid::model {
namespace {

using checkpoint::Checkpoint;
using checkpoint::ModelConfig;

Expected<IndexerWeights> load_indexer(const Checkpoint& from, const std::string& base) {
  const ModelConfig& config = from.config();
  IndexerWeights out;
  PELLUCID_TRY(out.wq_b, from.linear(base + "wq_b", config.index_n_heads * config.index_head_dim,
                                     config.q_lora_rank));
  PELLUCID_TRY(out.wk, from.linear(base + "wk", config.index_head_dim, config.hidden_size));
  PELLUCID_TRY(out.weights_proj,
               from.linear(base + "weights_proj", config.index_n_heads, config.hidden_size));
  PELLUCID_TRY(out.k_norm_weight, from.vector(base + "k_norm.weight", config.index_head_dim));
  PELLUCID_TRY(out.k_norm_bias, from.vector(base + "k_norm.bias", config.index_head_dim));
  return out;
}

Expected<void> load_query(const Checkpoint& from, const std::string& base, AttentionWeights& out) {
  const ModelConfig& config = from.config();
  const std::int64_t width = config.num_attention_heads * config.qk_head_dim();
  if (config.q_lora_rank == 0) {
    PELLUCID_TRY(out.q_proj, from.linear(base + "q_proj", width, config.hidden_size));
    return {};
  }
  PELLUCID_TRY(out.q_a_proj,
               from.linear(base + "q_a_proj", config.q_lora_rank, config.hidden_size));
  PELLUCID_TRY(out.q_a_layernorm, from.vector(base + "q_a_layernorm.weight", config.q_lora_rank));
  PELLUCID_TRY(out.q_b_proj, from.linear(base + "q_b_proj", width, config.q_lora_rank));
  return {};
}

Expected<AttentionWeights> load_attention(const Checkpoint& from, const std::string& base,
                                          bool has_indexer) {
  const ModelConfig& config = from.config();
  const std::int64_t heads = config.num_attention_heads;
  AttentionWeights out;
  PELLUCID_TRY_VOID(load_query(from, base, out));
  PELLUCID_TRY(out.kv_a_proj_with_mqa,
               from.linear(base + "kv_a_proj_with_mqa",
                           config.kv_lora_rank + config.qk_rope_head_dim, config.hidden_size));
  PELLUCID_TRY(out.kv_a_layernorm,
               from.vector(base + "kv_a_layernorm.weight", config.kv_lora_rank));
  PELLUCID_TRY(out.kv_b_proj, from.linear(base + "kv_b_proj",
                                          heads * (config.qk_nope_head_dim + config.v_head_dim),
                                          config.kv_lora_rank));
  PELLUCID_TRY(out.o_proj,
               from.linear(base + "o_proj", config.hidden_size, heads * config.v_head_dim));
  if (has_indexer) {
    PELLUCID_TRY(out.indexer, load_indexer(from, base + "indexer."));
  }
  return out;
}

Expected<MlpWeights> load_mlp(const Checkpoint& from, const std::string& base,
                              std::int64_t intermediate) {
  const std::int64_t hidden = from.config().hidden_size;
  MlpWeights out;
  PELLUCID_TRY(out.gate_proj, from.linear(base + "gate_proj", intermediate, hidden));
  PELLUCID_TRY(out.up_proj, from.linear(base + "up_proj", intermediate, hidden));
  PELLUCID_TRY(out.down_proj, from.linear(base + "down_proj", hidden, intermediate));
  return out;
}

Expected<MoeWeights> load_moe(const Checkpoint& from, const std::string& base) {
  const ModelConfig& config = from.config();
  MoeWeights out;
  PELLUCID_TRY(out.gate, from.linear(base + "gate", config.n_routed_experts, config.hidden_size));
  if (config.topk_method == checkpoint::TopkMethod::kNoauxTc) {
    PELLUCID_TRY(out.e_score_correction_bias,
                 from.vector(base + "gate.e_score_correction_bias", config.n_routed_experts));
  }
  for (std::int64_t expert = 0; expert < config.n_routed_experts; ++expert) {
    PELLUCID_TRY(const MlpWeights mlp,
                 load_mlp(from, base + "experts." + std::to_string(expert) + ".",
                          config.moe_intermediate_size));
    out.gate_proj.push_back(mlp.gate_proj);
    out.up_proj.push_back(mlp.up_proj);
    out.down_proj.push_back(mlp.down_proj);
  }
  if (config.n_shared_experts > 0) {
    PELLUCID_TRY(out.shared_experts,
                 load_mlp(from, base + "shared_experts.",
                          config.moe_intermediate_size * config.n_shared_experts));
  }
  return out;
}

Expected<LayerWeights> load_layer(const Checkpoint& from, std::int64_t layer) {
  const ModelConfig& config = from.config();
  const auto index = static_cast<std::size_t>(layer);
  const std::string base = config.tensor_prefix + "model.layers." + std::to_string(layer) + ".";
  LayerWeights out;
  PELLUCID_TRY(out.input_layernorm,
               from.vector(base + "input_layernorm.weight", config.hidden_size));
  PELLUCID_TRY(out.attention,
               load_attention(from, base + "self_attn.", config.layer_has_indexer[index]));
  PELLUCID_TRY(out.post_attention_layernorm,
               from.vector(base + "post_attention_layernorm.weight", config.hidden_size));
  if (config.layer_is_moe[index]) {
    PELLUCID_TRY(out.ffn, load_moe(from, base + "mlp."));
  } else {
    PELLUCID_TRY(out.ffn, load_mlp(from, base + "mlp.", config.intermediate_size));
  }
  return out;
}

// A shared layer reuses the selection of the nearest full layer below it, so layer 0 must be full;
// and the indexer's query is a projection of the low-rank query.
Expected<void> check_indexer_schedule(const Checkpoint& from) {
  const ModelConfig& config = from.config();
  if (!config.has_indexer()) return {};
  if (config.layer_has_indexer.front() && config.q_lora_rank > 0) return {};
  const bool first_shared = !config.layer_has_indexer.front();
  return fail({.kind = ErrorKind::kInvalid,
               .rule = "indexer_schedule",
               .object = first_shared ? "indexer of layer 0" : "q_lora_rank",
               .found = first_shared ? "a shared layer" : "null",
               .expected = first_shared ? "a full layer, as no layer below it has a selection"
                                        : "a low-rank query, which the indexer projects",
               .source = (from.path() / "config.json").string(),
               .fix = ""});
}

}  // namespace

Expected<Weights> load_weights(const Checkpoint& checkpoint,
                               const std::function<void(std::int64_t)>& on_layer) {
  const ModelConfig& config = checkpoint.config();
  PELLUCID_TRY_VOID(check_indexer_schedule(checkpoint));
  Weights out;
  PELLUCID_TRY(out.embed_tokens, checkpoint.linear(config.tensor_prefix + "model.embed_tokens",
                                                   config.vocab_size, config.hidden_size));
  for (std::int64_t layer = 0; layer < config.num_hidden_layers; ++layer) {
    PELLUCID_TRY(LayerWeights weights, load_layer(checkpoint, layer));
    out.layers.push_back(std::move(weights));
    if (on_layer) on_layer(layer + 1);
  }
  PELLUCID_TRY(out.norm,
               checkpoint.vector(config.tensor_prefix + "model.norm.weight", config.hidden_size));
  if (config.tie_word_embeddings) {
    out.lm_head = out.embed_tokens;
    return out;
  }
  PELLUCID_TRY(out.lm_head, checkpoint.linear(config.tensor_prefix + "lm_head", config.vocab_size,
                                              config.hidden_size));
  return out;
}

}  // namespace pellucid::model
