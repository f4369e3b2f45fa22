// Threads and pinning.

#include <fmt/format.h>

#include <array>

#include "config/rules/rule.h"

namespace pellucid::config {
namespace {

Proposal one_per_cpu(const RuleInput& input) {
  const DeviceFacts& device = input.facts().device;
  if (device.cpus_allowed < 1) {
    return {.value = std::int64_t{1},
            .reason = fmt::format("{} has no CPUs to run operators on", device.name)};
  }
  return {.value = device.cpus_allowed,
          .reason = fmt::format("one per CPU that this process may use ({} of {})",
                                device.cpus_allowed, device.cpus_online)};
}

constexpr std::array kRules = {
    Rule{"threads.one_per_cpu", "engine.threads", SourceKind::kHardware, one_per_cpu},
};

}  // namespace

std::span<const Rule> thread_rules() {
  return kRules;
}

void check_threads(const RuleInput& input, Findings& findings) {
  const DeviceFacts& device = input.facts().device;
  const std::int64_t threads = *input.whole("engine.threads");
  if (device.cpus_allowed < 1 || threads <= device.cpus_allowed) return;
  const Effective& setting = input.effective("engine.threads");
  const auto& pinned = input.effective("engine.pin_threads");
  if (pinned.value == Value(true)) {
    findings.refusals.push_back(
        {.rule = "threads.pin_needs_cpus",
         .key = "engine.pin_threads",
         .one = party_of(pinned),
         .other = {.who = "engine.threads",
                   .says = fmt::format("{} threads for {} CPUs", threads, device.cpus_allowed),
                   .source = setting.origin},
         .consequence = "two pinned threads would share a CPU and wait for each other",
         .alternatives = {change_to(*setting.setting, fmt::format("{}", device.cpus_allowed)),
                          "--no-pin-threads"}});
    return;
  }
  findings.notes.push_back(
      {.rule = "threads.oversubscribed",
       .key = "engine.threads",
       .text = fmt::format("{} threads share {} CPUs: each barrier waits for the scheduler",
                           threads, device.cpus_allowed)});
}

}  // namespace pellucid::config
