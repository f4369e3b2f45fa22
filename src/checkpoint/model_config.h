#pragma once
// What config.json says of the model, in the checkpoint's own words (model.md section 2). Plain
// data: read once, then shared read-only.

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/json.h"

namespace pellucid::checkpoint {

enum class Family { kGlmMoeDsa, kDeepseekV32, kDeepseekV3, kDeepseekV2, kKimiK2, kKimiK25 };

/// The `model_type` of the family: "glm_moe_dsa".
[[nodiscard]] std::string_view family_name(Family family);

enum class ScoringFunc { kSigmoid, kSoftmax };
enum class TopkMethod { kNoauxTc, kGroupLimitedGreedy, kGreedy };

/// Rotary embedding as understood from either config shape (model.md section 4). There is no
/// default theta: a config without one is refused.
struct RopeConfig {
  double theta = 0;
  bool yarn = false;
  double factor = 1;
  std::int64_t original_max_position_embeddings = 0;
  double beta_fast = 32;
  double beta_slow = 1;
  double mscale = 1;
  double mscale_all_dim = 0;  ///< 0: absent, softmax scale not multiplied
  std::string source;  ///< which keys it came from: "rope_parameters", "rope_scaling + rope_theta"

  /// inv_freq [dim / 2], YaRN applied (model.md 3.3), evaluated in f32 as every reference does.
  [[nodiscard]] std::vector<float> inv_freq(std::int64_t dim) const;
  /// YaRN: the ramp [low, high] over pair indices (model.md 3.3); DeepSeek 10, 23; Kimi 8, 20.
  [[nodiscard]] std::pair<double, double> yarn_correction_range(std::int64_t dim) const;
  /// Multiplies the softmax scale: mscale(factor, mscale_all_dim)^2, 1 without YaRN.
  [[nodiscard]] double softmax_scale_multiplier() const;
  /// Multiplies cos and sin: mscale(f, mscale) / mscale(f, mscale_all_dim).
  [[nodiscard]] double cos_sin_multiplier() const;
};

struct ModelConfig {
  Family family = Family::kGlmMoeDsa;
  std::string model_type;
  std::string architecture;
  std::string tensor_prefix;  ///< "" or "language_model."

  std::int64_t hidden_size = 0;
  std::int64_t num_hidden_layers = 0;
  std::int64_t vocab_size = 0;
  std::int64_t max_position_embeddings = 0;
  bool tie_word_embeddings = false;
  double rms_norm_eps = 0;

  std::int64_t num_attention_heads = 0;
  std::int64_t q_lora_rank = 0;  ///< 0: no low-rank query (q_proj)
  std::int64_t kv_lora_rank = 0;
  std::int64_t qk_nope_head_dim = 0;
  std::int64_t qk_rope_head_dim = 0;
  std::int64_t v_head_dim = 0;
  RopeConfig rope;

  std::int64_t intermediate_size = 0;
  std::vector<bool> layer_is_moe;  ///< [num_hidden_layers]
  std::int64_t moe_intermediate_size = 0;
  std::int64_t n_routed_experts = 0;
  std::int64_t num_experts_per_tok = 0;
  std::int64_t n_shared_experts = 0;
  std::int64_t n_group = 1;
  std::int64_t topk_group = 1;
  ScoringFunc scoring_func = ScoringFunc::kSigmoid;
  TopkMethod topk_method = TopkMethod::kNoauxTc;
  bool norm_topk_prob = true;
  double routed_scaling_factor = 1;

  std::int64_t index_n_heads = 0;  ///< 0: dense attention, no indexer
  std::int64_t index_head_dim = 0;
  std::int64_t index_topk = 0;
  bool indexer_rope_interleave = false;
  std::vector<bool> layer_has_indexer;  ///< [num_hidden_layers]; false everywhere when dense

  std::int64_t num_nextn_predict_layers = 0;
  std::vector<std::int32_t> eos_token_ids;  ///< config.json and generation_config.json together
  std::int32_t bos_token_id = -1;           ///< -1: none
  std::int32_t pad_token_id = -1;

  std::vector<std::string> unread_keys;  ///< keys of config.json that nothing here consumed
  std::vector<std::string> warnings;     ///< understood, but worth a look

  [[nodiscard]] bool has_indexer() const { return index_n_heads > 0; }
  [[nodiscard]] std::int64_t qk_head_dim() const { return qk_nope_head_dim + qk_rope_head_dim; }
  /// (nope + rope)^-0.5 times the YaRN multiplier.
  [[nodiscard]] double softmax_scale() const;
};

/// Sampling defaults of generation_config.json; absent keys keep the neutral value.
struct GenerationConfig {
  bool do_sample = true;
  double temperature = 1;
  double top_p = 1;
  std::int64_t top_k = 0;  ///< 0: off
  double min_p = 0;
  double repetition_penalty = 1;
};

/// Reads config.json. Every key is consumed or listed in unread_keys. Rules start with "config.".
[[nodiscard]] Expected<ModelConfig> read_model_config(const json::Value& config,
                                                      std::string_view source);

}  // namespace pellucid::checkpoint
