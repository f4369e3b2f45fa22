// The context, the prefill chunk and the KV cache.

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "config/memory_plan.h"
#include "config/rules/rule.h"

namespace pellucid::config {
namespace {

constexpr std::int64_t kContextDefault = 8192;  // 0.7 GB of bf16 cache rows on GLM-5.2
constexpr std::int64_t kChunkDefault = 256;     // a weight row is decoded once per chunk

Proposal context_of_checkpoint(const RuleInput& input) {
  const std::int64_t limit = input.dims().max_position_embeddings;
  if (limit >= kContextDefault) {
    return {.reason = fmt::format("the model's limit of {} tokens is no requirement", limit)};
  }
  return {.value = limit,
          .reason = fmt::format("max_position_embeddings is {}", limit),
          .rejected = {{fmt::format("{}", kContextDefault), "exceeds the model's limit"}}};
}

Proposal context_default(const RuleInput& input) {
  const std::int64_t limit = input.dims().max_position_embeddings;
  Proposal proposal{.value = kContextDefault,
                    .reason = "bounds the cache, which is allocated at start, in full"};
  if (limit > kContextDefault) {
    proposal.rejected = {
        {fmt::format("{}", limit), "the model's limit costs memory from the start"}};
  }
  return proposal;
}

Proposal chunk_default(const RuleInput& input) {
  const std::int64_t context = *input.whole("engine.context");
  if (context < kChunkDefault) {
    return {.value = context, .reason = fmt::format("the context is {} tokens", context)};
  }
  return {.value = kChunkDefault,
          .reason = "weights are decoded once per chunk; more costs scratch and gains little"};
}

Proposal tokens_full(const RuleInput& input) {
  const std::int64_t context = *input.whole("engine.context");
  const std::int64_t sequences = *input.whole("engine.sequences");
  const std::int64_t paged = (context + kPageTokens - 1) / kPageTokens * kPageTokens;
  return {.value = paged * sequences,
          .reason = fmt::format("{} sequence{} of {} tokens, in whole pages of {}", sequences,
                                sequences == 1 ? "" : "s", context, kPageTokens)};
}

Proposal dtype_bf16(const RuleInput& input) {
  const ModelDims& dims = input.dims();
  const std::int64_t width = dims.kv_lora_rank + dims.qk_rope_head_dim;
  return {.value = std::string("bf16"),
          .reason = "the dtype in which the models were trained and released",
          .rejected = {{"f32", fmt::format("{} instead of {} bytes per token and layer", width * 4,
                                           width * 2)}}};
}

constexpr std::array kRules = {
    Rule{"kv.context_of_checkpoint", "engine.context", SourceKind::kCheckpoint,
         context_of_checkpoint},
    Rule{"kv.context_default", "engine.context", SourceKind::kRecommendation, context_default},
    Rule{"kv.chunk_default", "engine.chunk", SourceKind::kRecommendation, chunk_default},
    Rule{"kv.dtype_bf16", "kv.dtype", SourceKind::kRecommendation, dtype_bf16},
    Rule{"kv.tokens_full", "kv.tokens", SourceKind::kRecommendation, tokens_full},
};

void check_context(const RuleInput& input, Findings& findings) {
  const std::int64_t limit = input.dims().max_position_embeddings;
  const Effective& context = input.effective("engine.context");
  if (*input.whole("engine.context") <= limit) return;
  findings.refusals.push_back(
      {.rule = "kv.context_limit",
       .key = "engine.context",
       .one = party_of(context),
       .other = {.who = "checkpoint",
                 .says = fmt::format("max_position_embeddings {}", limit),
                 .source = "config.json"},
       .consequence = "positions beyond were never trained",
       .alternatives = {change_to(*context.setting, fmt::format("{}", limit))}});
}

void check_chunk(const RuleInput& input, Findings& findings) {
  const std::int64_t context = *input.whole("engine.context");
  const std::int64_t chunk = *input.whole("engine.chunk");
  const Effective& setting = input.effective("engine.chunk");
  if (chunk <= context) return;
  findings.refusals.push_back(
      {.rule = "kv.chunk_in_context",
       .key = "engine.chunk",
       .one = party_of(setting),
       .other = party_of(input.effective("engine.context")),
       .consequence = "a step cannot hold more tokens than a sequence",
       .alternatives = {change_to(*setting.setting, fmt::format("{}", context)),
                        fmt::format("--context {}", chunk)}});
}

void check_tokens(const RuleInput& input, Findings& findings) {
  const std::int64_t context = *input.whole("engine.context");
  const std::int64_t tokens = *input.whole("kv.tokens");
  const Effective& setting = input.effective("kv.tokens");
  if (tokens >= context) return;
  findings.refusals.push_back(
      {.rule = "kv.tokens_hold_context",
       .key = "kv.tokens",
       .one = party_of(setting),
       .other = party_of(input.effective("engine.context")),
       .consequence = "a sequence could never reach its context",
       .alternatives = {change_to(*setting.setting, fmt::format("{}", context)),
                        fmt::format("--context {}", tokens)}});
}

/// Page ids and token slots of the router are int32.
void check_index_ranges(const RuleInput& input, Findings& findings) {
  const auto pages =
      static_cast<std::uint64_t>((*input.whole("kv.tokens") + kPageTokens - 1) / kPageTokens);
  const std::array<std::uint64_t, 1> page_extent = {pages};
  const std::array<std::uint64_t, 2> route_extent = {
      static_cast<std::uint64_t>(*input.whole("engine.chunk")),
      static_cast<std::uint64_t>(std::max<std::int64_t>(1, input.dims().num_experts_per_tok))};
  const std::array uses = {IndexUse{.kernel = "KV cache",
                                    .expression = "pages of kv.tokens",
                                    .extents = page_extent,
                                    .source = "kv.tokens",
                                    .fix = "lower --kv-tokens"},
                           IndexUse{.kernel = "moe",
                                    .expression = "engine.chunk * num_experts_per_tok",
                                    .extents = route_extent,
                                    .source = "engine.chunk",
                                    .fix = "lower --chunk"}};
  for (const IndexUse& use : uses) {
    const auto found = check_index_range(use);
    if (!found) continue;
    findings.refusals.push_back({.rule = found->rule,
                                 .key = use.source,
                                 .one = found->one,
                                 .other = found->other,
                                 .consequence = found->consequence,
                                 .alternatives = {found->fix}});
  }
}

}  // namespace

std::span<const Rule> kv_rules() {
  return kRules;
}

void check_kv(const RuleInput& input, Findings& findings) {
  check_context(input, findings);
  check_chunk(input, findings);
  check_tokens(input, findings);
  check_index_ranges(input, findings);
}

}  // namespace pellucid::config
