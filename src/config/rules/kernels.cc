// Which operator table runs, by what the device offers and what the weights are.

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "config/kernel_catalog.h"
#include "config/rules/rule.h"
#include "config/text.h"

namespace pellucid::config {
namespace {

std::string lacks(const std::vector<std::string>& missing) {
  return fmt::format("missing: {}", join(missing, ", "));
}

Proposal fastest(const RuleInput& input) {
  const DeviceFacts& device = input.facts().device;
  const KernelTable* const best = fastest_table(device);
  Proposal proposal;
  for (const KernelTable& table : kernel_tables()) {
    if (&table == best) continue;
    const auto missing = missing_for(table, device);
    proposal.rejected.push_back(
        {std::string(table.name), missing.empty() ? "slower" : lacks(missing)});
  }
  if (best == nullptr) {
    proposal.reason = fmt::format("no operator table of this build runs on {}", device.name);
    return proposal;
  }
  proposal.value = std::string(best->name);
  proposal.reason = fmt::format("the fastest table that {} runs", device.name);
  return proposal;
}

constexpr std::array kRules = {
    Rule{"kernels.fastest", "engine.kernels", SourceKind::kHardware, fastest},
};

std::vector<std::string> runnable_changes(const Setting& setting, const DeviceFacts& device) {
  std::vector<std::string> changes;
  for (const KernelTable& table : kernel_tables()) {
    if (missing_for(table, device).empty()) {
      changes.insert(changes.begin(), change_to(setting, table.name));
    }
  }
  return changes;
}

void check_backend(const RuleInput& input, Findings& findings) {
  const DeviceFacts& device = input.facts().device;
  findings.refusals.push_back(
      {.rule = "kernels.no_backend",
       .key = "engine.kernels",
       .one = {.who = "device",
               .says = fmt::format("{} ({}, compute capability {}.{})", device.name, device.model,
                                   device.capability_major, device.capability_minor),
               .source = "--device"},
       .other = {.who = "this build",
                 .says = fmt::format("operator tables for CPUs only: {}",
                                     join(kernel_table_names(), ", ")),
                 .source = "kernels"},
       .consequence = "no operator has a kernel: the cuda backend is missing",
       .alternatives = {"--device host", "a CPU such as --device cpu-avx2"}});
}

void check_table(const RuleInput& input, Findings& findings) {
  const DeviceFacts& device = input.facts().device;
  const Effective& kernels = input.effective("engine.kernels");
  const KernelTable* const table = find_kernel_table(input.word("engine.kernels"));
  if (table == nullptr) return;
  const auto missing = missing_for(*table, device);
  if (missing.empty()) return;
  findings.refusals.push_back(
      {.rule = "kernels.missing_feature",
       .key = "engine.kernels",
       .one = party_of(kernels),
       .other = {.who = "device",
                 .says = fmt::format("{} ({}), {}", device.name, device.model, lacks(missing)),
                 .source = device.assumed ? "--device" : "this machine"},
       .consequence = "the first instruction of the kind would end the "
                      "program",
       .alternatives = runnable_changes(*kernels.setting, device)});
}

void check_formats(const RuleInput& input, Findings& findings) {
  const auto supported = supported_formats();
  for (const WeightGroup& group : input.facts().checkpoint.weights) {
    if (std::ranges::find(supported, group.format) != supported.end()) continue;
    findings.refusals.push_back({.rule = "kernels.weight_format",
                                 .key = "",
                                 .one = {.who = fmt::format("weights of the {}", group.part),
                                         .says = fmt::format("format {}", group.format),
                                         .source = input.facts().checkpoint.source},
                                 .other = {.who = "operator tables",
                                           .says = fmt::format("formats {}", join(supported, ", ")),
                                           .source = "kernels"},
                                 .consequence = "no kernel decodes these weights",
                                 .alternatives = {"a checkpoint in one of these formats"}});
  }
}

}  // namespace

std::span<const Rule> kernel_rules() {
  return kRules;
}

void check_kernels(const RuleInput& input, Findings& findings) {
  if (input.facts().device.kind == DeviceKind::kCuda) {
    check_backend(input, findings);
  } else {
    check_table(input, findings);
  }
  check_formats(input, findings);
}

}  // namespace pellucid::config
