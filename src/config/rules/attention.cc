// Which positions attention sees, and in which of two equal forms it is computed
// (model.md 3.2, 3.4).

#include <fmt/format.h>

#include <array>

#include "config/memory_plan.h"
#include "config/rules/rule.h"

namespace pellucid::config {
namespace {

std::string indexer_summary(const CheckpointFacts& checkpoint) {
  return fmt::format("{} of {} layers own an indexer, top {}", checkpoint.indexer_layers(),
                     checkpoint.dims.num_hidden_layers, checkpoint.dims.index_topk);
}

Proposal scope_of_checkpoint(const RuleInput& input) {
  const CheckpointFacts& checkpoint = input.facts().checkpoint;
  if (!checkpoint.has_indexer()) {
    return {.value = std::string("dense"),
            .reason = fmt::format("{} has no indexer", checkpoint.family),
            .rejected = {{"sparse", "needs an indexer in the checkpoint"}}};
  }
  return {.value = std::string("sparse"),
          .reason = indexer_summary(checkpoint),
          .rejected = {{"dense", fmt::format("the model was trained sparse; equal up to {} tokens",
                                             checkpoint.dims.index_topk)}}};
}

/// Per query and cached row the absorbed form multiplies kv_lora_rank + rope and kv_lora_rank
/// numbers per head, the expanded one nope + rope and v; but it must make keys and values of every
/// cached row first, and keep them.
Proposal form_absorbed(const RuleInput& input) {
  const ModelDims& dims = input.dims();
  const std::int64_t context = input.whole("engine.context").value_or(0);
  const std::int64_t bytes = saturating_product(
      {context, dims.num_attention_heads, dims.qk_nope_head_dim + dims.v_head_dim, 4});
  return {.value = std::string("absorbed"),
          .reason = "attends to cached latents: no keys and values are made of each cached row",
          .rejected = {{"expanded", fmt::format("needs {} of scratch at {} tokens, and makes keys "
                                                "and values of every cached row in each step",
                                                format_size(bytes), context)}}};
}

constexpr std::array kRules = {
    Rule{"attention.scope_of_checkpoint", "attention.scope", SourceKind::kCheckpoint,
         scope_of_checkpoint},
    Rule{"attention.form_absorbed", "attention.form", SourceKind::kRecommendation, form_absorbed},
};

void refuse(Findings& findings, const Effective& scope, Party other, std::string change) {
  findings.refusals.push_back({.rule = "attention.sparse_needs_indexer",
                               .key = std::string(scope.setting->key),
                               .one = party_of(scope),
                               .other = std::move(other),
                               .consequence = "there is nothing that selects positions",
                               .alternatives = {std::move(change)}});
}

}  // namespace

std::span<const Rule> attention_rules() {
  return kRules;
}

void check_attention(const RuleInput& input, Findings& findings) {
  const CheckpointFacts& checkpoint = input.facts().checkpoint;
  const Effective& scope = input.effective("attention.scope");
  const bool sparse = input.word("attention.scope") == "sparse";
  if (sparse && !checkpoint.has_indexer()) {
    refuse(findings, scope,
           {.who = "checkpoint",
            .says = fmt::format("{} without an indexer", checkpoint.family),
            .source = checkpoint.source},
           change_to(*scope.setting, "dense"));
  }
  if (!sparse && checkpoint.has_indexer()) {
    findings.notes.push_back(
        {.rule = "attention.dense_differs",
         .key = std::string(scope.setting->key),
         .text = fmt::format("dense attention equals the model up to {} tokens and differs beyond",
                             checkpoint.dims.index_topk)});
  }
}

}  // namespace pellucid::config
