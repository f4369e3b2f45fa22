#pragma once
// The weights of the forward pass, by the checkpoint's own names: matrices as views of the mapped
// files, norms and biases as f32. Views are valid as long as the Checkpoint they came from.

#include <cstdint>
#include <functional>
#include <optional>
#include <variant>
#include <vector>

#include "base/error.h"
#include "checkpoint/checkpoint.h"
#include "tensor/weight.h"

namespace pellucid::model {

/// Lightning indexer of a "full" layer (model.md 3.5).
struct IndexerWeights {
  tensor::WeightView wq_b;          ///< [index_n_heads * index_head_dim, q_lora_rank]
  tensor::WeightView wk;            ///< [index_head_dim, hidden]
  tensor::WeightView weights_proj;  ///< [index_n_heads, hidden]
  std::vector<float> k_norm_weight;
  std::vector<float> k_norm_bias;
};

struct AttentionWeights {
  tensor::WeightView q_proj;    ///< [H * qk_head_dim, hidden]; only when q_lora_rank is 0
  tensor::WeightView q_a_proj;  ///< [q_lora_rank, hidden]
  std::vector<float> q_a_layernorm;
  tensor::WeightView q_b_proj;            ///< [H * qk_head_dim, q_lora_rank]
  tensor::WeightView kv_a_proj_with_mqa;  ///< [kv_lora_rank + rope, hidden]
  std::vector<float> kv_a_layernorm;
  tensor::WeightView kv_b_proj;  ///< [H * (nope + v), kv_lora_rank]
  tensor::WeightView o_proj;     ///< [hidden, H * v]
  std::optional<IndexerWeights> indexer;
};

/// SwiGLU block: a dense layer, or the shared experts as one block.
struct MlpWeights {
  tensor::WeightView gate_proj, up_proj, down_proj;
};

struct MoeWeights {
  tensor::WeightView gate;                                        ///< router [experts, hidden]
  std::vector<float> e_score_correction_bias;                     ///< [experts], empty when absent
  std::vector<tensor::WeightView> gate_proj, up_proj, down_proj;  ///< [experts]
  std::optional<MlpWeights> shared_experts;
};

struct LayerWeights {
  std::vector<float> input_layernorm;
  AttentionWeights attention;
  std::vector<float> post_attention_layernorm;
  std::variant<MlpWeights, MoeWeights> ffn;
};

struct Weights {
  tensor::WeightView embed_tokens;  ///< [vocab, hidden]
  std::vector<LayerWeights> layers;
  std::vector<float> norm;
  tensor::WeightView lm_head;  ///< [vocab, hidden]; embed_tokens when tied
};

/// Binds every tensor of layers [0, num_hidden_layers). `on_layer(done)` is called after each.
[[nodiscard]] Expected<Weights> load_weights(const checkpoint::Checkpoint& checkpoint,
                                             const std::function<void(std::int64_t)>& on_layer);

}  // namespace pellucid::model
