#include "checkpoint/registry.h"

#include <array>
#include <string_view>

#include "base/check.h"

namespace pellucid::checkpoint {
namespace {

/// Sizes that occur in shapes, in the words of the config.
enum class Dim {
  kOne,
  kVocab,
  kHidden,
  kHiddenTwice,
  kQLora,
  kQueries,  ///< heads * (nope + rope)
  kKvLora,
  kKvA,           ///< kv_lora_rank + rope
  kKvB,           ///< heads * (nope + v)
  kValues,        ///< heads * v
  kIndexQueries,  ///< index heads * index head dim
  kIndexHeads,
  kIndexHeadDim,
  kDense,
  kExpert,
  kShared,
  kExperts,
};

std::int64_t size_of(Dim dim, const ModelConfig& c) {
  switch (dim) {
    case Dim::kOne:
      return 1;
    case Dim::kVocab:
      return c.vocab_size;
    case Dim::kHidden:
      return c.hidden_size;
    case Dim::kHiddenTwice:
      return 2 * c.hidden_size;
    case Dim::kQLora:
      return c.q_lora_rank;
    case Dim::kQueries:
      return c.num_attention_heads * c.qk_head_dim();
    case Dim::kKvLora:
      return c.kv_lora_rank;
    case Dim::kKvA:
      return c.kv_lora_rank + c.qk_rope_head_dim;
    case Dim::kKvB:
      return c.num_attention_heads * (c.qk_nope_head_dim + c.v_head_dim);
    case Dim::kValues:
      return c.num_attention_heads * c.v_head_dim;
    case Dim::kIndexQueries:
      return c.index_n_heads * c.index_head_dim;
    case Dim::kIndexHeads:
      return c.index_n_heads;
    case Dim::kIndexHeadDim:
      return c.index_head_dim;
    case Dim::kDense:
      return c.intermediate_size;
    case Dim::kExpert:
      return c.moe_intermediate_size;
    case Dim::kShared:
      return c.moe_intermediate_size * c.n_shared_experts;
    case Dim::kExperts:
      return c.n_routed_experts;
  }
  PELLUCID_CHECK(false && "unknown dim");
  __builtin_unreachable();
}

/// In which layers a tensor stands.
enum class Where {
  kGlobal,
  kEvery,
  kLowRankQuery,
  kFullQuery,
  kIndexer,
  kDense,
  kMoe,
  kBiasedRouter,
  kSharedExperts,
  kRoutedExpert,  ///< once for each expert, "mlp.experts.E." before the name
  kMtp,
};

struct Row {
  Where where;
  std::string_view name;
  bool is_linear;
  Dim rows;
  Dim cols = Dim::kOne;
  bool is_optional = false;
};

constexpr std::array kRows = {
    Row{Where::kGlobal, "model.embed_tokens", true, Dim::kVocab, Dim::kHidden},
    Row{Where::kGlobal, "model.norm.weight", false, Dim::kHidden},
    Row{Where::kEvery, "input_layernorm.weight", false, Dim::kHidden},
    Row{Where::kEvery, "post_attention_layernorm.weight", false, Dim::kHidden},
    Row{Where::kLowRankQuery, "self_attn.q_a_proj", true, Dim::kQLora, Dim::kHidden},
    Row{Where::kLowRankQuery, "self_attn.q_a_layernorm.weight", false, Dim::kQLora},
    Row{Where::kLowRankQuery, "self_attn.q_b_proj", true, Dim::kQueries, Dim::kQLora},
    Row{Where::kFullQuery, "self_attn.q_proj", true, Dim::kQueries, Dim::kHidden},
    Row{Where::kEvery, "self_attn.kv_a_proj_with_mqa", true, Dim::kKvA, Dim::kHidden},
    Row{Where::kEvery, "self_attn.kv_a_layernorm.weight", false, Dim::kKvLora},
    Row{Where::kEvery, "self_attn.kv_b_proj", true, Dim::kKvB, Dim::kKvLora},
    Row{Where::kEvery, "self_attn.o_proj", true, Dim::kHidden, Dim::kValues},
    Row{Where::kIndexer, "self_attn.indexer.wq_b", true, Dim::kIndexQueries, Dim::kQLora},
    Row{Where::kIndexer, "self_attn.indexer.wk", true, Dim::kIndexHeadDim, Dim::kHidden},
    Row{Where::kIndexer, "self_attn.indexer.k_norm.weight", false, Dim::kIndexHeadDim},
    Row{Where::kIndexer, "self_attn.indexer.k_norm.bias", false, Dim::kIndexHeadDim},
    Row{Where::kIndexer, "self_attn.indexer.weights_proj", true, Dim::kIndexHeads, Dim::kHidden},
    Row{Where::kDense, "mlp.gate_proj", true, Dim::kDense, Dim::kHidden},
    Row{Where::kDense, "mlp.up_proj", true, Dim::kDense, Dim::kHidden},
    Row{Where::kDense, "mlp.down_proj", true, Dim::kHidden, Dim::kDense},
    Row{Where::kMoe, "mlp.gate", true, Dim::kExperts, Dim::kHidden},
    Row{Where::kBiasedRouter, "mlp.gate.e_score_correction_bias", false, Dim::kExperts},
    Row{Where::kSharedExperts, "mlp.shared_experts.gate_proj", true, Dim::kShared, Dim::kHidden},
    Row{Where::kSharedExperts, "mlp.shared_experts.up_proj", true, Dim::kShared, Dim::kHidden},
    Row{Where::kSharedExperts, "mlp.shared_experts.down_proj", true, Dim::kHidden, Dim::kShared},
    Row{Where::kRoutedExpert, "gate_proj", true, Dim::kExpert, Dim::kHidden},
    Row{Where::kRoutedExpert, "up_proj", true, Dim::kExpert, Dim::kHidden},
    Row{Where::kRoutedExpert, "down_proj", true, Dim::kHidden, Dim::kExpert},
    Row{Where::kMtp, "eh_proj", true, Dim::kHidden, Dim::kHiddenTwice},
    Row{Where::kMtp, "enorm.weight", false, Dim::kHidden},
    Row{Where::kMtp, "hnorm.weight", false, Dim::kHidden},
    Row{Where::kMtp, "shared_head.norm.weight", false, Dim::kHidden},
    // DeepSeek repeats the embeddings in its MTP layer, GLM does not (model.md section 3.8).
    Row{Where::kMtp, "embed_tokens", true, Dim::kVocab, Dim::kHidden, true},
    Row{Where::kMtp, "shared_head.head", true, Dim::kVocab, Dim::kHidden, true},
};

struct LayerKind {
  bool moe;
  bool indexer;
  bool mtp;
};

bool stands_in(Where where, const LayerKind& layer, const ModelConfig& c) {
  switch (where) {
    case Where::kGlobal:
      return false;
    case Where::kEvery:
      return true;
    case Where::kLowRankQuery:
      return c.q_lora_rank > 0;
    case Where::kFullQuery:
      return c.q_lora_rank == 0;
    case Where::kIndexer:
      return layer.indexer;
    case Where::kDense:
      return !layer.moe;
    case Where::kMoe:
    case Where::kRoutedExpert:
      return layer.moe;
    case Where::kBiasedRouter:
      return layer.moe && c.topk_method == TopkMethod::kNoauxTc;
    case Where::kSharedExperts:
      return layer.moe && c.n_shared_experts > 0;
    case Where::kMtp:
      return layer.mtp;
  }
  PELLUCID_CHECK(false && "unknown place");
  __builtin_unreachable();
}

class Builder {
 public:
  Builder(const ModelConfig& config, const LayerFacts& facts) : c_(config), facts_(facts) {}

  std::vector<ExpectedTensor> build() {
    for (const Row& row : kRows) {
      if (row.where == Where::kGlobal) add(row, c_.tensor_prefix + std::string(row.name), -1);
    }
    const Row head{Where::kGlobal, "lm_head",    true,
                   Dim::kVocab,    Dim::kHidden, c_.tie_word_embeddings};
    add(head, c_.tensor_prefix + "lm_head", -1);
    const std::int64_t layers = c_.num_hidden_layers + facts_.mtp_layers;
    for (std::int64_t i = 0; i < layers; ++i) add_layer(i);
    return std::move(out_);
  }

 private:
  void add_layer(std::int64_t index) {
    const auto i = static_cast<std::size_t>(index);
    const bool mtp = index >= c_.num_hidden_layers;
    const LayerKind kind{
        .moe = mtp || c_.layer_is_moe[i], .indexer = facts_.has_indexer[i], .mtp = mtp};
    const std::string prefix = c_.tensor_prefix + "model.layers." + std::to_string(index) + ".";
    for (const Row& row : kRows) {
      if (!stands_in(row.where, kind, c_)) continue;
      if (row.where != Where::kRoutedExpert) {
        add(row, prefix + std::string(row.name), static_cast<std::int32_t>(index));
        continue;
      }
      for (std::int64_t e = 0; e < c_.n_routed_experts; ++e) {
        add(row, prefix + "mlp.experts." + std::to_string(e) + "." + std::string(row.name),
            static_cast<std::int32_t>(index));
      }
    }
  }

  void add(const Row& row, std::string name, std::int32_t layer) {
    out_.push_back({.name = std::move(name),
                    .is_linear = row.is_linear,
                    .is_optional = row.is_optional,
                    .is_routed = row.where == Where::kRoutedExpert,
                    .layer = layer,
                    .rows = size_of(row.rows, c_),
                    .cols = size_of(row.cols, c_)});
  }

  const ModelConfig& c_;
  const LayerFacts& facts_;
  std::vector<ExpectedTensor> out_;
};

}  // namespace

LayerFacts complete_facts(const ModelConfig& config) {
  LayerFacts facts{.has_indexer = config.layer_has_indexer,
                   .mtp_layers = config.num_nextn_predict_layers};
  facts.has_indexer.resize(static_cast<std::size_t>(config.num_hidden_layers + facts.mtp_layers),
                           config.has_indexer());
  return facts;
}

std::vector<ExpectedTensor> expected_tensors(const ModelConfig& config, const LayerFacts& facts) {
  PELLUCID_CHECK(std::ssize(facts.has_indexer) == config.num_hidden_layers + facts.mtp_layers);
  return Builder(config, facts).build();
}

ParameterCount count_parameters(const ModelConfig& config,
                                const std::vector<ExpectedTensor>& tensors) {
  ParameterCount out;
  std::uint64_t routed = 0;
  for (const ExpectedTensor& tensor : tensors) {
    if (tensor.is_optional) continue;
    const auto count = static_cast<std::uint64_t>(tensor.rows * tensor.cols);
    if (tensor.layer >= config.num_hidden_layers) {
      out.mtp += count;
      continue;
    }
    out.main += count;
    if (tensor.is_routed) routed += count;
  }
  const auto experts = static_cast<std::uint64_t>(config.n_routed_experts);
  const auto used = static_cast<std::uint64_t>(config.num_experts_per_tok);
  out.active = out.main - routed + routed / experts * used;
  return out;
}

}  // namespace pellucid::checkpoint
