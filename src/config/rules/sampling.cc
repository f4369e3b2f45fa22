// Sampling defaults: what generation_config.json says, where it says anything.

#include <fmt/format.h>

#include <array>

#include "config/logit_bias.h"
#include "config/rules/rule.h"

namespace pellucid::config {
namespace {

const GenerationFacts& generation(const RuleInput& input) {
  return input.facts().checkpoint.generation;
}

/// A neutral value is what a file that does not mention the key stands for.
template <class T>
Proposal from_generation_config(std::string_view name, T value, T neutral) {
  if (value == neutral) {
    return {.reason = fmt::format("generation_config.json leaves {} neutral", name)};
  }
  return {.value = value, .reason = fmt::format("generation_config.json: {} {}", name, value)};
}

Proposal temperature(const RuleInput& input) {
  if (!generation(input).do_sample) {
    return {.value = 0.0,
            .reason = "generation_config.json: do_sample false",
            .rejected = {{fmt::format("{}", generation(input).temperature),
                          "its temperature is for sampling"}}};
  }
  return from_generation_config("temperature", generation(input).temperature, 1.0);
}

Proposal top_k(const RuleInput& input) {
  return from_generation_config("top_k", generation(input).top_k, std::int64_t{0});
}

Proposal top_p(const RuleInput& input) {
  return from_generation_config("top_p", generation(input).top_p, 1.0);
}

Proposal min_p(const RuleInput& input) {
  return from_generation_config("min_p", generation(input).min_p, 0.0);
}

Proposal repetition_penalty(const RuleInput& input) {
  return from_generation_config("repetition_penalty", generation(input).repetition_penalty, 1.0);
}

constexpr std::array kRules = {
    Rule{"sampling.generation_config", "sampling.temperature", SourceKind::kCheckpoint,
         temperature},
    Rule{"sampling.generation_config", "sampling.top_k", SourceKind::kCheckpoint, top_k},
    Rule{"sampling.generation_config", "sampling.top_p", SourceKind::kCheckpoint, top_p},
    Rule{"sampling.generation_config", "sampling.min_p", SourceKind::kCheckpoint, min_p},
    Rule{"sampling.generation_config", "sampling.repetition_penalty", SourceKind::kCheckpoint,
         repetition_penalty},
};

void check_answer_length(const RuleInput& input, Findings& findings) {
  const auto answer = input.whole("sampling.max_tokens");
  const std::int64_t context = *input.whole("engine.context");
  if (!answer || *answer < context) return;
  const Effective& setting = input.effective("sampling.max_tokens");
  findings.refusals.push_back(
      {.rule = "sampling.answer_in_context",
       .key = "sampling.max_tokens",
       .one = party_of(setting),
       .other = party_of(input.effective("engine.context")),
       .consequence = "prompt and answer share the context: nothing is left for a prompt",
       .alternatives = {change_to(*setting.setting, fmt::format("{}", context - 1)),
                        fmt::format("--context {}", *answer + 1)}});
}

void check_bias_ids(const RuleInput& input, Findings& findings) {
  const Effective& setting = input.effective("sampling.logit_bias");
  for (const std::string& item : std::get<TextList>(setting.value)) {
    const auto bias = parse_logit_bias(item);
    if (!bias || bias->token < input.dims().vocab_size) continue;
    findings.refusals.push_back(
        {.rule = "sampling.bias_in_vocabulary",
         .key = "sampling.logit_bias",
         .one = {.who = "sampling.logit_bias", .says = item, .source = setting.origin},
         .other = {.who = "checkpoint",
                   .says = fmt::format("token ids from 0 to {}", input.dims().vocab_size - 1),
                   .source = "config.json vocab_size"},
         .consequence = "there is no such token",
         .alternatives = {"drop the entry"}});
  }
}

/// Greedy decoding takes the first of the ordering; what only narrows a draw does nothing.
void note_unused_filters(const RuleInput& input, Findings& findings) {
  if (input.effective("sampling.temperature").value != Value(0.0)) return;
  for (const char* key : {"sampling.top_k", "sampling.top_p", "sampling.min_p", "sampling.seed"}) {
    const Effective& setting = input.effective(key);
    if (!is_user(setting.source)) continue;
    findings.notes.push_back(
        {.rule = "sampling.greedy_ignores",
         .key = key,
         .text = fmt::format("{} has no effect at temperature 0 ({})", setting.origin,
                             input.effective("sampling.temperature").origin)});
  }
}

}  // namespace

std::span<const Rule> sampling_rules() {
  return kRules;
}

void check_sampling(const RuleInput& input, Findings& findings) {
  check_answer_length(input, findings);
  check_bias_ids(input, findings);
  note_unused_filters(input, findings);
}

}  // namespace pellucid::config
