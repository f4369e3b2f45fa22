// What is allocated against what there is. Weights stay in the mapped files: they may exceed
// memory, at the price of reading them again and again.

#include <fmt/format.h>

#include <array>

#include "config/memory_plan.h"
#include "config/rules/rule.h"

namespace pellucid::config {
namespace {

Proposal available(const RuleInput& input) {
  const DeviceFacts& device = input.facts().device;
  if (device.memory_available < 1) {
    return {.reason = "the system does not say what memory is available"};
  }
  return {.value = Bytes{device.memory_available * device.count},
          .reason = device.assumed
                        ? fmt::format("all memory of {}", device.name)
                        : std::string("what this machine can give without swapping, now")};
}

constexpr std::array kRules = {
    Rule{"memory.available", "memory.budget", SourceKind::kHardware, available},
};

PlanInput plan_input(const RuleInput& input) {
  return {.checkpoint = input.facts().checkpoint,
          .context = *input.whole("engine.context"),
          .chunk = *input.whole("engine.chunk"),
          .threads = *input.whole("engine.threads"),
          .kv_tokens = *input.whole("kv.tokens"),
          .sparse = input.word("attention.scope") == "sparse",
          .expanded = input.word("attention.form") == "expanded",
          .kv_element_bytes = input.word("kv.dtype") == "f32" ? 4 : 2};
}

/// The longest context, in whole pages, whose cache and scratch fit; 0 when none does.
std::int64_t longest_context(PlanInput plan, std::int64_t sequences, std::int64_t budget) {
  std::int64_t fits = 0;
  std::int64_t exceeds = plan.context / kPageTokens + 1;
  while (exceeds - fits > 1) {
    const std::int64_t pages = fits + (exceeds - fits) / 2;
    plan.context = pages * kPageTokens;
    plan.kv_tokens = plan.context * sequences;
    const MemoryPlan tried = plan_memory(plan);
    (tried.kv_bytes + tried.scratch_bytes <= budget ? fits : exceeds) = pages;
  }
  return fits * kPageTokens;
}

/// Fewer sequences of the same context, when at least one fits.
void suggest_sequences(const RuleInput& input, const MemoryPlan& plan, std::int64_t budget,
                       Refusal& refusal) {
  const std::int64_t context = *input.whole("engine.context");
  const std::int64_t paged = (context + kPageTokens - 1) / kPageTokens * kPageTokens;
  const std::int64_t sequences = plan.tokens_fitting(budget) / paged;
  if (sequences < 1) return;
  refusal.alternatives.push_back(
      change_to(*input.effective("engine.sequences").setting, fmt::format("{}", sequences)));
}

/// Bytes of all devices; 0: not known.
std::int64_t device_memory(const DeviceFacts& device) {
  return device.memory_total * device.count;
}

void refuse_budget(const RuleInput& input, const MemoryPlan& plan, std::int64_t budget,
                   Findings& findings) {
  const Effective& setting = input.effective("memory.budget");
  Refusal refusal{
      .rule = "memory.budget",
      .key = "memory.budget",
      .one = {.who = "KV cache and scratch",
              .says = fmt::format("{} for the cache and {} for scratch", format_size(plan.kv_bytes),
                                  format_size(plan.scratch_bytes)),
              .source = input.effective("kv.tokens").origin},
      .other = party_of(setting),
      .consequence = "the cache could not be allocated"};
  const Effective& tokens = input.effective("kv.tokens");
  if (!is_user(tokens.source)) {
    const std::int64_t context =
        longest_context(plan_input(input), *input.whole("engine.sequences"), budget);
    if (context > 0) refusal.alternatives.push_back(fmt::format("--context {}", context));
    suggest_sequences(input, plan, budget, refusal);
  } else if (plan.tokens_fitting(budget) >= *input.whole("engine.context")) {
    refusal.alternatives.push_back(
        change_to(*tokens.setting, fmt::format("{}", plan.tokens_fitting(budget))));
  }
  const std::int64_t needed = plan.kv_bytes + plan.scratch_bytes;
  const std::int64_t there = device_memory(input.facts().device);
  if (there < 1 || needed <= there) {
    refusal.alternatives.push_back(change_to(*setting.setting, fmt::format("{}", needed)));
  }
  findings.refusals.push_back(std::move(refusal));
}

}  // namespace

std::span<const Rule> memory_rules() {
  return kRules;
}

MemoryPlan plan_memory(const Resolution& resolution) {
  struct Sealed : RuleInput {
    explicit Sealed(const Resolution& r) : resolution(r) {}
    [[nodiscard]] const Facts& facts() const override { return resolution.facts(); }
    [[nodiscard]] const Effective& effective(std::string_view key) const override {
      return resolution.effective(key);
    }
    const Resolution& resolution;
  };
  return plan_memory(plan_input(Sealed(resolution)));
}

void check_memory(const RuleInput& input, Findings& findings) {
  const DeviceFacts& device = input.facts().device;
  const MemoryPlan plan = plan_memory(plan_input(input));
  const std::optional<std::int64_t> budget = input.whole("memory.budget");
  if (budget && plan.kv_bytes + plan.scratch_bytes > *budget) {
    refuse_budget(input, plan, *budget, findings);
  }
  const std::int64_t total = device_memory(device);
  if (total < 1) return;
  const Effective& setting = input.effective("memory.budget");
  if (is_user(setting.source) && *budget > total) {
    findings.refusals.push_back(
        {.rule = "memory.budget_of_device",
         .key = "memory.budget",
         .one = party_of(setting),
         .other = {.who = "device",
                   .says = fmt::format("{} of memory", format_size(total)),
                   .source = device.assumed ? "--device" : "this machine"},
         .consequence = "the budget is not there to be spent",
         .alternatives = {change_to(*setting.setting, fmt::format("{}", total))}});
  }
  const std::int64_t all = plan.weight_bytes + plan.kv_bytes + plan.scratch_bytes;
  if (all <= total) return;
  findings.notes.push_back(
      {.rule = "memory.weights_exceed",
       .key = "",
       .text = fmt::format("weights, cache and scratch take {}, the device has {}: mapped weights "
                           "are read from the disk again in every step",
                           format_size(all), format_size(total))});
}

}  // namespace pellucid::config
