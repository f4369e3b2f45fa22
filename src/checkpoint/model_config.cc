#include "checkpoint/model_config.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/utf8.h"
#include "checkpoint/family.h"
#include "checkpoint/indexer_schedule.h"
#include "checkpoint/key_reader.h"
#include "checkpoint/rope.h"
#include "checkpoint/token_ids.h"

namespace pellucid::checkpoint {
namespace {

// Far above every released model, and small enough that a hostile config cannot make this program
// allocate or loop: the largest has 78 layers, 384 experts, hidden size 7168, 163,840 tokens.
constexpr IntRange kLayers{.min = 1, .max = 512};
constexpr IntRange kWidth{.min = 1, .max = 1 << 18};
constexpr IntRange kHeads{.min = 1, .max = 1024};
constexpr IntRange kHeadDim{.min = 1, .max = 4096};
constexpr IntRange kExperts{.min = 1, .max = 2048};
constexpr IntRange kVocab{.min = 1, .max = 1 << 22};
constexpr IntRange kPositions{.min = 1, .max = (1LL << 31) - 1};

/// A required integer: which key, its range, where it goes.
struct IntField {
  const char* key;
  IntRange range;
  std::int64_t ModelConfig::* member;
};

constexpr IntField kRequired[] = {
    {"hidden_size", kWidth, &ModelConfig::hidden_size},
    {"num_hidden_layers", kLayers, &ModelConfig::num_hidden_layers},
    {"vocab_size", kVocab, &ModelConfig::vocab_size},
    {"max_position_embeddings", kPositions, &ModelConfig::max_position_embeddings},
    {"num_attention_heads", kHeads, &ModelConfig::num_attention_heads},
    {"kv_lora_rank", kWidth, &ModelConfig::kv_lora_rank},
    {"qk_nope_head_dim", kHeadDim, &ModelConfig::qk_nope_head_dim},
    {"qk_rope_head_dim", kHeadDim, &ModelConfig::qk_rope_head_dim},
    {"v_head_dim", kHeadDim, &ModelConfig::v_head_dim},
    {"intermediate_size", kWidth, &ModelConfig::intermediate_size},
    {"moe_intermediate_size", kWidth, &ModelConfig::moe_intermediate_size},
    {"n_routed_experts", kExperts, &ModelConfig::n_routed_experts},
    {"num_experts_per_tok", kExperts, &ModelConfig::num_experts_per_tok},
    {"n_group", kExperts, &ModelConfig::n_group},
    {"topk_group", kExperts, &ModelConfig::topk_group},
};

std::unexpected<Error> must_be(const KeyReader& keys, std::string_view key, std::int64_t found,
                               std::string expected) {
  return keys.refuse(key, std::to_string(found), std::move(expected));
}

Expected<void> read_sizes(KeyReader& keys, ModelConfig& c) {
  for (const IntField& field : kRequired) {
    PELLUCID_TRY(c.*field.member, keys.integer(field.key, field.range));
  }
  PELLUCID_TRY(const auto q_lora_rank, keys.optional_integer("q_lora_rank", kWidth));
  c.q_lora_rank = q_lora_rank.value_or(0);
  PELLUCID_TRY(const auto shared, keys.optional_integer("n_shared_experts", {.min = 0, .max = 64}));
  c.n_shared_experts = shared.value_or(0);
  PELLUCID_TRY(const auto nextn,
               keys.optional_integer("num_nextn_predict_layers", {.min = 0, .max = 8}));
  c.num_nextn_predict_layers = nextn.value_or(0);
  PELLUCID_TRY(c.rms_norm_eps, keys.real("rms_norm_eps", {.above = 0, .max = 0.1}));
  PELLUCID_TRY(const auto tie, keys.optional_boolean("tie_word_embeddings"));
  c.tie_word_embeddings = tie.value_or(false);
  if (c.qk_rope_head_dim % 2 != 0) {
    return must_be(keys, "qk_rope_head_dim", c.qk_rope_head_dim, "an even number");
  }
  PELLUCID_TRY(const auto qk_head_dim, keys.optional_integer("qk_head_dim", kHeadDim));
  if (qk_head_dim && *qk_head_dim != c.qk_head_dim()) {
    return must_be(keys, "qk_head_dim", *qk_head_dim,
                   std::to_string(c.qk_head_dim()) + " = qk_nope_head_dim + qk_rope_head_dim");
  }
  return {};
}

/// Variants of the forward pass that this program does not have.
Expected<void> check_variants(KeyReader& keys, ModelConfig& c) {
  PELLUCID_TRY(const auto act, keys.optional_string("hidden_act"));
  if (act && *act != "silu") {
    return keys.refuse("hidden_act", "\"" + *act + "\"", "\"silu\"", ErrorKind::kUnsupported);
  }
  PELLUCID_TRY(const auto bias, keys.optional_boolean("attention_bias"));
  if (bias.value_or(false)) {
    return keys.refuse("attention_bias", "true", "false", ErrorKind::kUnsupported);
  }
  PELLUCID_TRY(const auto mlp_bias, keys.optional_boolean("mlp_bias"));
  if (mlp_bias.value_or(false)) {
    return keys.refuse("mlp_bias", "true", "false", ErrorKind::kUnsupported);
  }
  PELLUCID_TRY(const auto interleave, keys.optional_boolean("rope_interleave"));
  if (!interleave.value_or(true)) {
    return keys.refuse("rope_interleave", "false", "true", ErrorKind::kUnsupported);
  }
  PELLUCID_TRY(const auto router, keys.optional_string("moe_router_dtype"));
  if (router && *router != "float32") {
    c.warnings.push_back("moe_router_dtype is " + *router + "; the router always runs in float32");
  }
  return {};
}

Expected<ScoringFunc> read_scoring(KeyReader& keys, const FamilyTraits& family) {
  PELLUCID_TRY(const auto name, keys.optional_string("scoring_func"));
  if (!name) return family.scoring_func;
  if (*name == "sigmoid") return ScoringFunc::kSigmoid;
  if (*name == "softmax") return ScoringFunc::kSoftmax;
  return keys.refuse("scoring_func", "\"" + *name + "\"", "sigmoid or softmax",
                     ErrorKind::kUnsupported);
}

Expected<TopkMethod> read_topk_method(KeyReader& keys, const FamilyTraits& family) {
  PELLUCID_TRY(const auto name, keys.optional_string("topk_method"));
  if (!name) return family.topk_method;
  if (*name == "noaux_tc") return TopkMethod::kNoauxTc;
  if (*name == "group_limited_greedy") return TopkMethod::kGroupLimitedGreedy;
  if (*name == "greedy") return TopkMethod::kGreedy;
  return keys.refuse("topk_method", "\"" + *name + "\"", "noaux_tc, group_limited_greedy or greedy",
                     ErrorKind::kUnsupported);
}

Expected<void> check_groups(const KeyReader& keys, const ModelConfig& c) {
  if (c.n_routed_experts % c.n_group != 0) {
    return must_be(keys, "n_group", c.n_group,
                   "a divisor of n_routed_experts = " + std::to_string(c.n_routed_experts));
  }
  if (c.topk_group > c.n_group) {
    return must_be(keys, "topk_group", c.topk_group,
                   "at most n_group = " + std::to_string(c.n_group));
  }
  const std::int64_t group_size = c.n_routed_experts / c.n_group;
  if (c.topk_method == TopkMethod::kNoauxTc && c.n_group > 1 && group_size < 2) {
    return must_be(keys, "n_group", c.n_group, "groups of 2 or more: a group scores by its best 2");
  }
  const std::int64_t eligible = c.n_group == 1 ? c.n_routed_experts : c.topk_group * group_size;
  if (c.num_experts_per_tok > eligible) {
    return must_be(keys, "num_experts_per_tok", c.num_experts_per_tok,
                   "at most " + std::to_string(eligible) + ", the experts that can be chosen");
  }
  return {};
}

Expected<void> read_router(KeyReader& keys, const FamilyTraits& family, ModelConfig& c) {
  PELLUCID_TRY(c.scoring_func, read_scoring(keys, family));
  PELLUCID_TRY(c.topk_method, read_topk_method(keys, family));
  const bool biased = c.topk_method == TopkMethod::kNoauxTc;
  if (biased != (c.scoring_func == ScoringFunc::kSigmoid)) {
    return keys.refuse("topk_method", biased ? "noaux_tc with softmax" : "no noaux_tc with sigmoid",
                       "sigmoid with noaux_tc, or softmax with greedy or group_limited_greedy",
                       ErrorKind::kUnsupported);
  }
  PELLUCID_TRY(c.norm_topk_prob, keys.boolean("norm_topk_prob"));
  PELLUCID_TRY(c.routed_scaling_factor,
               keys.real("routed_scaling_factor", {.above = 0, .max = 1e4}));
  return check_groups(keys, c);
}

/// MoE iff i >= first_k_dense_replace and i % moe_layer_freq == 0; mlp_layer_types must agree.
Expected<void> read_layer_kinds(KeyReader& keys, ModelConfig& c) {
  const std::int64_t layers = c.num_hidden_layers;
  PELLUCID_TRY(const auto types, keys.optional_strings("mlp_layer_types"));
  PELLUCID_TRY(const auto dense,
               keys.optional_integer("first_k_dense_replace", {.min = 0, .max = layers}));
  PELLUCID_TRY(const auto freq, keys.optional_integer("moe_layer_freq", {.min = 1, .max = layers}));
  if (!types && !dense) {
    return keys.refuse("first_k_dense_replace", "nothing", "a value", ErrorKind::kNotFound);
  }
  std::vector<bool> by_count;
  for (std::int64_t i = 0; i < layers; ++i) {
    by_count.push_back(i >= dense.value_or(0) && i % freq.value_or(1) == 0);
  }
  c.layer_is_moe = by_count;
  if (!types) return {};
  if (std::ssize(*types) != layers) {
    return keys.refuse("mlp_layer_types", std::to_string(types->size()) + " entries",
                       std::to_string(layers) + ", one for each layer");
  }
  for (std::size_t i = 0; i < types->size(); ++i) {
    const std::string& type = (*types)[i];
    if (type != "dense" && type != "sparse") {
      return keys.refuse("mlp_layer_types", "\"" + utf8::escape_for_display(type) + "\"",
                         "\"dense\" or \"sparse\"");
    }
    c.layer_is_moe[i] = type == "sparse";
  }
  if (dense && c.layer_is_moe != by_count) {
    return keys.refuse(
        "mlp_layer_types",
        "layers that first_k_dense_replace = " + std::to_string(*dense) + " contradicts",
        "both the same");
  }
  return {};
}

Expected<void> read_indexer(KeyReader& keys, const FamilyTraits& family, ModelConfig& c) {
  c.layer_has_indexer.assign(static_cast<std::size_t>(c.num_hidden_layers), false);
  if (!family.sparse_attention) return {};
  PELLUCID_TRY(c.index_n_heads, keys.integer("index_n_heads", kHeads));
  PELLUCID_TRY(c.index_head_dim, keys.integer("index_head_dim", kHeadDim));
  PELLUCID_TRY(c.index_topk, keys.integer("index_topk", kPositions));
  if (c.index_head_dim < c.qk_rope_head_dim) {
    return must_be(keys, "index_head_dim", c.index_head_dim,
                   "at least qk_rope_head_dim = " + std::to_string(c.qk_rope_head_dim));
  }
  if (c.index_topk > c.max_position_embeddings) {
    return must_be(
        keys, "index_topk", c.index_topk,
        "at most max_position_embeddings = " + std::to_string(c.max_position_embeddings));
  }
  if (c.q_lora_rank == 0) {
    return keys.refuse("q_lora_rank", "null", "a rank: the indexer's query is built from it");
  }
  PELLUCID_TRY(const auto interleave, keys.optional_boolean("indexer_rope_interleave"));
  c.indexer_rope_interleave = interleave.value_or(family.indexer_rope_interleave);
  if (c.indexer_rope_interleave != family.indexer_rope_interleave) {
    c.warnings.push_back("indexer_rope_interleave is not what released models of this family have");
  }
  PELLUCID_TRY(c.layer_has_indexer, read_indexer_schedule(keys, c.num_hidden_layers, c.warnings));
  return {};
}

/// Released GLM files have theta 1e6 or 8e6; another one there is the mark of a rewritten config.
void check_released_theta(ModelConfig& c) {
  const bool released_geometry =
      c.family == Family::kGlmMoeDsa && c.num_hidden_layers == 78 && c.hidden_size == 6144;
  if (!released_geometry || c.rope.theta == 1e6 || c.rope.theta == 8e6) return;
  c.warnings.push_back("rope_theta is " + std::to_string(c.rope.theta) +
                       "; released models of this shape have 1e6 or 8e6");
}

Expected<void> read_body(KeyReader& keys, std::string_view prefix, const FamilyTraits& family,
                         std::string_view source, ModelConfig& c) {
  PELLUCID_TRY_VOID(read_sizes(keys, c));
  PELLUCID_TRY_VOID(check_variants(keys, c));
  PELLUCID_TRY_VOID(read_router(keys, family, c));
  PELLUCID_TRY_VOID(read_layer_kinds(keys, c));
  PELLUCID_TRY_VOID(read_indexer(keys, family, c));
  std::vector<std::string> rope_unread;
  PELLUCID_TRY(c.rope, read_rope(keys, prefix, source, rope_unread, c.warnings));
  check_released_theta(c);
  PELLUCID_TRY_VOID(read_token_ids(keys, c.vocab_size, c));
  for (const IrrelevantKey& row : irrelevant_keys()) keys.take(row.key);
  c.unread_keys = keys.unread();
  c.unread_keys.insert(c.unread_keys.end(), rope_unread.begin(), rope_unread.end());
  return {};
}

Expected<std::string> read_architecture(KeyReader& keys, const FamilyTraits& family,
                                        std::vector<std::string>& warnings) {
  PELLUCID_TRY(const auto names, keys.optional_strings("architectures"));
  if (!names || names->empty()) return std::string(family.architecture);
  if (names->front() != family.architecture) {
    warnings.push_back("architectures says " + utf8::escape_for_display(names->front()) +
                       "; model_type " + std::string(family.model_type) + " is " +
                       std::string(family.architecture));
  }
  return names->front();
}

Expected<const FamilyTraits*> read_family(KeyReader& keys) {
  PELLUCID_TRY(const auto model_type, keys.optional_string("model_type"));
  if (!model_type) {
    return keys.refuse("model_type", "nothing", "a model type", ErrorKind::kNotFound);
  }
  if (*model_type == "glm5_next") {
    return keys.refuse("model_type",
                       "\"glm5_next\", which mixes linear attention with pooled sparse attention",
                       "a model with latent attention in every layer", ErrorKind::kUnsupported);
  }
  if (const FamilyTraits* family = find_family(*model_type)) return family;
  std::string known;
  for (const FamilyTraits& row : families()) {
    known += (known.empty() ? "" : ", ") + std::string(row.model_type);
  }
  return keys.refuse("model_type", "\"" + utf8::escape_for_display(*model_type) + "\"",
                     "one of " + known, ErrorKind::kUnsupported);
}

/// The text part of a wrapper config. What the outer object says of tokens counts where the inner
/// one is silent.
Expected<void> read_wrapped(KeyReader& outer, const FamilyTraits& family, std::string_view source,
                            ModelConfig& c) {
  PELLUCID_TRY(const json::Object* text, outer.optional_object("text_config"));
  if (text == nullptr) {
    return outer.refuse("text_config", "nothing", "the text model", ErrorKind::kNotFound);
  }
  KeyReader inner(*text, "text_config.", source);
  PELLUCID_TRY(const auto inner_type, inner.optional_string("model_type"));
  if (inner_type && *inner_type != "kimi_k2" && *inner_type != "deepseek_v3") {
    return inner.refuse("model_type", "\"" + utf8::escape_for_display(*inner_type) + "\"",
                        "kimi_k2 or deepseek_v3", ErrorKind::kUnsupported);
  }
  inner.take("architectures");
  PELLUCID_TRY_VOID(read_body(inner, "text_config.", family, source, c));
  PELLUCID_TRY_VOID(read_token_ids(outer, c.vocab_size, c));
  for (const std::string_view vision :
       {"vision_config", "media_placeholder_token_id", "use_unified_vision_chunk",
        "video_placeholder", "ignore_index"}) {
    outer.take(vision);
  }
  PELLUCID_TRY(const auto tie, outer.optional_boolean("tie_word_embeddings"));
  if (tie && *tie != c.tie_word_embeddings) {
    return outer.refuse("tie_word_embeddings", *tie ? "true" : "false", "what text_config says");
  }
  for (const IrrelevantKey& row : irrelevant_keys()) outer.take(row.key);
  const auto outer_unread = outer.unread();
  c.unread_keys.insert(c.unread_keys.begin(), outer_unread.begin(), outer_unread.end());
  return {};
}

}  // namespace

double ModelConfig::softmax_scale() const {
  return rope.softmax_scale_multiplier() / std::sqrt(static_cast<double>(qk_head_dim()));
}

Expected<ModelConfig> read_model_config(const json::Value& config, std::string_view source) {
  if (!config.is_object()) {
    return fail({.rule = "config.object",
                 .object = "config",
                 .found = std::string(json::type_name(config.type())),
                 .expected = "an object",
                 .source = std::string(source)});
  }
  KeyReader keys(config.object(), "", source);
  PELLUCID_TRY(const FamilyTraits* family, read_family(keys));
  ModelConfig c;
  c.family = family->family;
  c.model_type = family->model_type;
  c.tensor_prefix = family->tensor_prefix;
  PELLUCID_TRY(c.architecture, read_architecture(keys, *family, c.warnings));
  if (family->family == Family::kKimiK25) {
    PELLUCID_TRY_VOID(read_wrapped(keys, *family, source, c));
    return c;
  }
  PELLUCID_TRY_VOID(read_body(keys, "", *family, source, c));
  return c;
}

}  // namespace pellucid::checkpoint
