// Contracts inside the checkpoint and between it and the operators, whatever the settings.

#include <fmt/format.h>

#include <array>

#include "config/rules/rule.h"
#include "config/text.h"

namespace pellucid::config {
namespace {

constexpr std::int64_t kRouteExpertsMax = 2048;  // router scores live on the stack

void check_problems(const CheckpointFacts& checkpoint, Findings& findings) {
  for (const CheckpointProblem& problem : checkpoint.problems) {
    if (!problem.refuses) {
      findings.notes.push_back({.rule = problem.rule, .key = "", .text = problem.text});
      continue;
    }
    findings.refusals.push_back(
        {.rule = problem.rule,
         .key = "",
         .one = {.who = "checkpoint", .says = problem.text, .source = checkpoint.source},
         .other = {.who = "loader", .says = "a checkpoint without this", .source = "checkpoint"},
         .consequence = "it cannot be loaded",
         .alternatives = {"pellucid inspect shows all problems"}});
  }
}

void note_unread_keys(const CheckpointFacts& checkpoint, Findings& findings) {
  if (checkpoint.unread_keys.empty()) return;
  findings.notes.push_back(
      {.rule = "config.unread",
       .key = "",
       .text = fmt::format("config.json has {} that nothing reads: {}",
                           checkpoint.unread_keys.size() == 1 ? "a key" : "keys",
                           join(checkpoint.unread_keys, ", "))});
}

/// The set of layers with indexer tensors must equal the schedule (model.md 2.1).
void check_schedule(const CheckpointFacts& checkpoint, Findings& findings) {
  const auto& schedule = checkpoint.layer_has_indexer;
  const auto& tensors = checkpoint.layer_has_indexer_tensors;
  for (std::size_t layer = 0; layer < schedule.size() && layer < tensors.size(); ++layer) {
    if (schedule[layer] == tensors[layer]) continue;
    findings.refusals.push_back(
        {.rule = "indexer_schedule",
         .key = "",
         .one = {.who = "indexer schedule",
                 .says = fmt::format("layer {} {} an indexer", layer,
                                     schedule[layer] ? "owns" : "shares"),
                 .source = "config.json"},
         .other = {.who = "tensors",
                   .says = fmt::format("indexer tensors of layer {} are {}", layer,
                                       tensors[layer] ? "there" : "absent"),
                   .source = checkpoint.source},
         .consequence = "layers would attend to the selection of another",
         .alternatives = {"correct indexer_types, index_topk_freq and index_skip_topk_offset"}});
    return;
  }
}

void check_rope(const CheckpointFacts& checkpoint, Findings& findings) {
  const RopeFacts& rope = checkpoint.rope;
  if (!(rope.theta > 0)) {
    findings.refusals.push_back(
        {.rule = "rope_theta",
         .key = "",
         .one = {.who = "RoPE", .says = "no rope_theta", .source = "config.json"},
         .other = {.who = "attention", .says = "a base frequency", .source = "model"},
         .consequence = "a default would be fluent on short prompts and wrong on long ones",
         .alternatives = {"add rope_theta to rope_parameters"}});
  }
  // Released checkpoints: model.md 3.4. The wrong pairing shows only beyond index_topk tokens.
  const bool glm = checkpoint.family == "glm_moe_dsa";
  if (checkpoint.has_indexer() && rope.indexer_interleaved != glm) {
    findings.notes.push_back(
        {.rule = "rope_pairing",
         .key = "",
         .text =
             fmt::format("indexer RoPE is {}, released {} checkpoints have it {}; the wrong "
                         "one shows only beyond {} tokens",
                         rope.indexer_interleaved ? "interleaved" : "half-split", checkpoint.family,
                         glm ? "interleaved" : "half-split", checkpoint.dims.index_topk)});
  }
}

struct Shape {
  std::string_view kernel;
  std::string_view says;
  bool holds;
  std::string_view needs;
};

void check_shapes(const CheckpointFacts& checkpoint, Findings& findings) {
  const ModelDims& d = checkpoint.dims;
  const std::array shapes = {
      Shape{"rope", "an odd qk_rope_head_dim", d.qk_rope_head_dim % 2 == 0, "pairs of elements"},
      Shape{"rope", "index_head_dim below qk_rope_head_dim",
            !checkpoint.has_indexer() || d.index_head_dim >= d.qk_rope_head_dim,
            "index heads that hold the rotated elements"},
      Shape{"route", "more than 2048 experts", d.n_routed_experts <= kRouteExpertsMax,
            "at most 2048 experts"},
      Shape{"route", "num_experts_per_tok above n_routed_experts",
            d.n_routed_experts == 0 || d.num_experts_per_tok <= d.n_routed_experts,
            "enough experts to select from"}};
  for (const Shape& shape : shapes) {
    if (shape.holds) continue;
    findings.refusals.push_back(
        {.rule = "head_dim",
         .key = "",
         .one = {.who = "checkpoint", .says = std::string(shape.says), .source = "config.json"},
         .other = {.who = std::string(shape.kernel),
                   .says = std::string(shape.needs),
                   .source = "kernels"},
         .consequence = "the operator is not defined for it",
         .alternatives = {}});
  }
}

}  // namespace

void check_checkpoint(const RuleInput& input, Findings& findings) {
  const CheckpointFacts& checkpoint = input.facts().checkpoint;
  check_problems(checkpoint, findings);
  note_unread_keys(checkpoint, findings);
  check_schedule(checkpoint, findings);
  check_rope(checkpoint, findings);
  check_shapes(checkpoint, findings);
}

}  // namespace pellucid::config
