// From declarations and facts to a sealed resolution. Per setting: the strongest user declaration,
// else the strongest rule that applies, else the default. Settings are taken in the order of the
// table, so the result does not depend on the order of the inputs.

#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"
#include "config/rules/rule.h"

namespace pellucid::config {
namespace {

/// The settings resolved so far.
class Progress : public RuleInput {
 public:
  explicit Progress(const Facts& facts) : facts_(facts) {
    settings_.reserve(settings_table().size());
  }

  [[nodiscard]] const Facts& facts() const override { return facts_; }
  [[nodiscard]] const Effective& effective(std::string_view key) const override {
    const auto found = std::ranges::find_if(
        settings_, [&](const Effective& effective) { return effective.setting->key == key; });
    PELLUCID_CHECK(found != settings_.end());  // a rule reads only settings above its own
    return *found;
  }
  void add(Effective effective) { settings_.push_back(std::move(effective)); }
  std::vector<Effective> take() { return std::move(settings_); }

 private:
  const Facts& facts_;
  std::vector<Effective> settings_;
};

std::vector<const Rule*> rules_of(std::string_view key) {
  std::vector<const Rule*> found;
  for (const auto& rules : {attention_rules(), kernel_rules(), kv_rules(), memory_rules(),
                            sampling_rules(), thread_rules()}) {
    for (const Rule& rule : rules) {
      if (rule.key == key) found.push_back(&rule);
    }
  }
  std::ranges::stable_sort(found, [](const Rule* a, const Rule* b) { return a->level > b->level; });
  return found;
}

/// What one source says of one setting; items of a list are gathered.
Expected<std::vector<Declaration>> merge_by_source(const Setting& setting,
                                                   std::span<const Declaration> all) {
  std::vector<Declaration> merged;
  for (const Declaration& declaration : all) {
    if (declaration.setting != &setting) continue;
    const auto same = std::ranges::find(merged, declaration.kind, &Declaration::kind);
    if (same == merged.end()) {
      merged.push_back(declaration);
      continue;
    }
    if (auto* list = std::get_if<TextList>(&same->value)) {
      const auto& more = std::get<TextList>(declaration.value);
      list->insert(list->end(), more.begin(), more.end());
      std::ranges::sort(*list);
      same->typed += "," + declaration.typed;
      continue;
    }
    if (same->value == declaration.value) continue;
    return fail({.rule = "setting_conflict",
                 .object = std::string(setting.key),
                 .found = fmt::format("{} from {}, and {} from {}", same->typed, same->origin,
                                      declaration.typed, declaration.origin),
                 .expected = "one value",
                 .source = std::string(source_name(declaration.kind)),
                 .fix = "remove one of them"});
  }
  std::ranges::sort(merged, std::greater{}, &Declaration::kind);
  return merged;
}

Step step_of(const Declaration& declaration) {
  const bool open = is_auto(declaration.value);
  return {.kind = declaration.kind,
          .origin = declaration.origin,
          .value = declaration.typed,
          .reason = open ? "leaves the choice to the rules" : "the user's word"};
}

void take(Effective& effective, Step& step, Value value) {
  step.effective = true;
  effective.value = std::move(value);
  effective.source = step.kind;
  effective.origin = step.origin;
  effective.reason = step.reason;
}

/// Declarations first. True when one of them holds a value; a stronger "auto" silences the weaker
/// sources, which is what was asked for.
bool apply_declarations(Effective& effective, std::span<const Declaration> declarations) {
  bool decided = false;
  for (const Declaration& declaration : declarations) {
    Step step = step_of(declaration);
    const bool strongest = effective.chain.empty();
    if (strongest) {
      effective.typed = declaration.typed;
      decided = !is_auto(declaration.value);
      if (decided) take(effective, step, declaration.value);
    } else {
      step.reason = fmt::format("overridden by {}", effective.chain.front().origin);
    }
    effective.chain.push_back(std::move(step));
  }
  return decided;
}

/// An open value says what kept the last rule from deciding it, where there is one.
std::string default_reason(const Effective& effective) {
  if (effective.setting->preset) return "the default";
  if (!effective.chain.empty()) {
    const Step& last = effective.chain.back();
    if (!is_user(last.kind) && last.value.empty()) return last.reason;
  }
  return "left open until it is needed";
}

void apply_rules(Effective& effective, const RuleInput& input, bool decided) {
  for (const Rule* rule : rules_of(effective.setting->key)) {
    Proposal proposal = rule->propose(input);
    Step step{.kind = rule->level,
              .origin = std::string(rule->id),
              .value = proposal.value ? format_value(*proposal.value) : "",
              .reason = proposal.reason};
    if (proposal.value && !decided) {
      take(effective, step, *std::move(proposal.value));
      effective.rejected = std::move(proposal.rejected);
      decided = true;
    }
    effective.chain.push_back(std::move(step));
  }
  const Setting& setting = *effective.setting;
  Step step{.kind = SourceKind::kDefault,
            .origin = "settings table",
            .value = std::string(setting.preset.value_or("auto")),
            .reason = default_reason(effective)};
  if (!decided) {
    Value value = Auto{};
    if (setting.preset) {
      auto parsed = parse_value(setting, *setting.preset, "settings table");
      PELLUCID_CHECK(parsed.has_value());
      value = *std::move(parsed);
    }
    take(effective, step, std::move(value));
  }
  effective.chain.push_back(std::move(step));
}

}  // namespace

Expected<Resolution> resolve(std::span<const Declaration> declarations, Facts facts) {
  Progress progress(facts);
  for (const Setting& setting : settings_table()) {
    PELLUCID_TRY(const auto merged, merge_by_source(setting, declarations));
    Effective effective{.setting = &setting};
    const bool decided = apply_declarations(effective, merged);
    apply_rules(effective, progress, decided);
    progress.add(std::move(effective));
  }
  Findings findings;
  for (auto* check : {&check_checkpoint, &check_kernels, &check_attention, &check_threads,
                      &check_kv, &check_memory, &check_sampling}) {
    (*check)(progress, findings);
  }
  std::vector<Effective> settings = progress.take();
  return Resolution(std::move(facts), std::move(settings), std::move(findings.refusals),
                    std::move(findings.notes));
}

std::optional<std::int64_t> RuleInput::whole(std::string_view key) const {
  const Value& value = effective(key).value;
  if (const auto* number = std::get_if<std::int64_t>(&value)) return *number;
  if (const auto* bytes = std::get_if<Bytes>(&value)) return bytes->count;
  return std::nullopt;
}

std::string RuleInput::word(std::string_view key) const {
  return format_value(effective(key).value);
}

Party party_of(const Effective& effective) {
  return {.who = std::string(effective.setting->key),
          .says = display_value(effective.value),
          .source = effective.origin};
}

std::string change_to(const Setting& setting, std::string_view value) {
  return fmt::format("{} {}", setting.flag(), value);
}

}  // namespace pellucid::config
