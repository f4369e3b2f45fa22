// Two resolutions held against each other, and the effect of one change.

#include <fmt/format.h>

#include <algorithm>

#include "base/utf8.h"
#include "config/explain.h"
#include "config/kernel_plan.h"
#include "config/memory_plan.h"
#include "config/text_table.h"

namespace pellucid::config {
namespace {

void compare_settings(const Resolution& before, const Resolution& after,
                      std::vector<Difference>& out) {
  for (std::size_t i = 0; i < before.settings().size(); ++i) {
    const Effective& a = before.settings()[i];
    const Effective& b = after.settings()[i];
    if (a.value == b.value) continue;
    out.push_back({.what = std::string(a.setting->key),
                   .before = shown_value(a),
                   .after = shown_value(b),
                   .reason = fmt::format("{}: {}", b.origin, b.reason)});
  }
}

void compare_sizes(std::string what, std::int64_t before, std::int64_t after,
                   std::vector<Difference>& out) {
  if (before == after) return;
  out.push_back({.what = std::move(what),
                 .before = format_size(before),
                 .after = format_size(after),
                 .reason = fmt::format("{}{}", after > before ? "+" : "-",
                                       format_size(std::abs(after - before)))});
}

void compare_memory(const Resolution& before, const Resolution& after,
                    std::vector<Difference>& out) {
  const MemoryPlan a = plan_memory(before);
  const MemoryPlan b = plan_memory(after);
  compare_sizes("memory: weights", a.weight_bytes, b.weight_bytes, out);
  compare_sizes("memory: KV per token", a.latent_bytes_per_token + a.index_bytes_per_token,
                b.latent_bytes_per_token + b.index_bytes_per_token, out);
  compare_sizes("memory: KV cache", a.kv_bytes, b.kv_bytes, out);
  compare_sizes("memory: scratch", a.scratch_bytes, b.scratch_bytes, out);
}

const KernelChoice* same_op(const std::vector<KernelChoice>& choices, const KernelChoice& wanted) {
  const auto found = std::ranges::find_if(choices, [&](const KernelChoice& choice) {
    return choice.op == wanted.op && choice.format == wanted.format;
  });
  return found == choices.end() ? nullptr : &*found;
}

std::string kernel_name(const KernelChoice* choice) {
  if (choice == nullptr) return "not used";
  return choice->table.empty() ? "no kernel" : choice->table;
}

Difference kernel_difference(const KernelChoice& named, const KernelChoice* before,
                             const KernelChoice* after) {
  return {.what = fmt::format("kernel of {}{}", named.op,
                              named.format.empty() ? "" : fmt::format(" ({})", named.format)),
          .before = kernel_name(before),
          .after = kernel_name(after),
          .reason = after == nullptr ? "" : after->reason};
}

void compare_kernels(const Resolution& before, const Resolution& after,
                     std::vector<Difference>& out) {
  const auto a = plan_kernels(before);
  const auto b = plan_kernels(after);
  for (const KernelChoice& choice : a) {
    const KernelChoice* other = same_op(b, choice);
    if (other != nullptr && other->table == choice.table) continue;
    out.push_back(kernel_difference(choice, &choice, other));
  }
  for (const KernelChoice& choice : b) {
    if (same_op(a, choice) == nullptr) out.push_back(kernel_difference(choice, nullptr, &choice));
  }
}

struct Finding {
  std::string what;
  std::string text;
  std::string fix;
  friend bool operator==(const Finding&, const Finding&) = default;
};

std::vector<Finding> findings_of(const Resolution& resolution) {
  std::vector<Finding> out;
  for (const Refusal& refusal : resolution.refusals()) {
    out.push_back({fmt::format("refusal {}", refusal.rule),
                   fmt::format("{} {} against {}: {}", refusal.one.who, refusal.one.says,
                               refusal.other.who, refusal.other.says),
                   refusal.alternatives.empty() ? "" : refusal.alternatives.front()});
  }
  for (const Note& note : resolution.notes()) {
    out.push_back({fmt::format("note {}", note.rule), note.text, ""});
  }
  return out;
}

void compare_findings(const Resolution& before, const Resolution& after,
                      std::vector<Difference>& out) {
  const auto a = findings_of(before);
  const auto b = findings_of(after);
  for (const Finding& finding : a) {
    if (std::ranges::find(b, finding) != b.end()) continue;
    out.push_back({.what = finding.what, .before = finding.text, .after = "", .reason = "gone"});
  }
  for (const Finding& finding : b) {
    if (std::ranges::find(a, finding) != a.end()) continue;
    out.push_back(
        {.what = finding.what, .before = "", .after = finding.text, .reason = finding.fix});
  }
}

std::string nothing_reason(const Resolution& before, const Resolution& after,
                           const Setting& setting, bool unset) {
  const Effective& was = before.effective(setting.key);
  const Effective& is = after.effective(setting.key);
  const std::string value =
      is_auto(is.value) ? "stays open" : fmt::format("is {}", shown_value(is));
  if (unset && was.typed.empty()) {
    return fmt::format("{} was not set; it {} by {} ({})", setting.key, value, is.origin,
                       is.reason);
  }
  if (unset) {
    return fmt::format("unset, {} {} by {} ({})", setting.key, value, is.origin, is.reason);
  }
  return fmt::format("{} {} already, by {} ({})", setting.key,
                     is_auto(was.value) ? "is open" : fmt::format("is {}", shown_value(was)),
                     was.origin, was.reason);
}

/// Removes every declaration of the setting; the change replaces what was said in any source.
std::vector<Declaration> without(std::span<const Declaration> declarations,
                                 const Setting& setting) {
  std::vector<Declaration> out(declarations.begin(), declarations.end());
  std::erase_if(out, [&](const Declaration& d) { return d.setting == &setting; });
  return out;
}

}  // namespace

std::vector<Difference> compare(const Resolution& before, const Resolution& after) {
  std::vector<Difference> out;
  compare_settings(before, after, out);
  compare_memory(before, after, out);
  compare_kernels(before, after, out);
  compare_findings(before, after, out);
  return out;
}

std::string differences_text(std::span<const Difference> differences, const ExplainStyle& style) {
  TextTable table(style.width);
  for (const Difference& d : differences) {
    if (d.before.empty()) {
      table.add({d.what, fmt::format("new: {}{}", utf8::escape_for_display(d.after),
                                     d.reason.empty() ? "" : fmt::format("; {}", d.reason))});
    } else if (d.after.empty()) {
      table.add({d.what, fmt::format("gone: {}", utf8::escape_for_display(d.before))});
    } else {
      table.add({d.what, fmt::format("{} -> {}{}", d.before, d.after,
                                     d.reason.empty() ? "" : fmt::format("  ({})", d.reason))});
    }
  }
  return table.text();
}

Expected<WhatIf> what_if(std::span<const Declaration> declarations, const Facts& facts,
                         std::string_view change) {
  const bool unset = change.starts_with('-') && change.find('=') == std::string_view::npos;
  WhatIf result{.change = std::string(change)};
  std::vector<Declaration> changed;
  const Setting* setting = nullptr;
  if (unset) {
    std::string_view name = change;
    name.remove_prefix(1);
    PELLUCID_TRY(setting, named_setting(name, "--what-if"));
    changed = without(declarations, *setting);
  } else {
    PELLUCID_TRY(Declaration declaration, read_change(change));
    setting = declaration.setting;
    changed = without(declarations, *setting);
    changed.push_back(std::move(declaration));
  }
  PELLUCID_TRY(const Resolution before, resolve(declarations, facts));
  PELLUCID_TRY(const Resolution after, resolve(changed, facts));
  result.differences = compare(before, after);
  result.accepted = after.refusals().empty();
  if (result.differences.empty()) {
    result.why_nothing = nothing_reason(before, after, *setting, unset);
  }
  return result;
}

std::string what_if_text(const WhatIf& result, const ExplainStyle& style) {
  if (!result.differences.empty()) return differences_text(result.differences, style);
  std::string text;
  for (const std::string& line : wrap("changes nothing: " + result.why_nothing, style.width)) {
    text += line + "\n";
  }
  return text;
}

}  // namespace pellucid::config
