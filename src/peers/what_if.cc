// What one change would do, and how a setting moved over the dates of a pack.

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>

#include "base/utf8.h"
#include "peers/evaluation.h"

namespace pellucid::peers {
namespace {

struct Change {
  std::string key;
  std::optional<std::string> value;  ///< absent: unset
};

Expected<Change> parse_change(std::string_view text) {
  const std::size_t equals = text.find('=');
  const bool unset = text.starts_with('-') && equals == std::string_view::npos;
  Change out;
  out.key = unset ? text.substr(1) : text.substr(0, equals);
  if (!unset && equals != std::string_view::npos) out.value = text.substr(equals + 1);
  if (!out.key.empty() && (unset || (out.value && !out.value->empty()))) return out;
  return fail({.kind = ErrorKind::kInvalid,
               .rule = "peer_change",
               .object = "change",
               .found = utf8::escape_for_display(text.substr(0, 200)),
               .expected = "key=value, or -key to unset"});
}

std::unexpected<Error> unknown_key(const Pack& pack, std::string_view key) {
  std::vector<std::string> names{"date", "device", "model.quantization"};
  for (const FlagDef& flag : pack.flags) {
    for (const std::string& name : flag.names) {
      names.push_back(name.substr(std::min(name.find_first_not_of('-'), name.size())));
    }
  }
  const std::string near = nearest(key, names);
  return fail({.kind = ErrorKind::kNotFound,
               .rule = "peer_change",
               .object = "change",
               .found = utf8::escape_for_display(key.substr(0, 100)),
               .expected = fmt::format("a flag of {} that this pack models, device, date, "
                                       "model.quantization or env.NAME",
                                       pack.engine),
               .fix = near.empty() ? "" : "did you mean " + near + "?"});
}

std::unexpected<Error> needs_value(std::string_view key) {
  return fail({.kind = ErrorKind::kInvalid,
               .rule = "peer_change",
               .object = std::string(key),
               .found = "nothing",
               .expected = "a value: it cannot be unset"});
}

void change_environment(PeerQuery& query, std::string_view name, const Change& change) {
  const std::string prefix = std::string(name) + "=";
  std::erase_if(query.environment, [&](const std::string& e) { return e.starts_with(prefix); });
  if (change.value) query.environment.push_back(prefix + *change.value);
}

Expected<void> change_flag(PeerQuery& query, const Pack& pack, const FlagDef& flag, Date date,
                           const Change& change) {
  PELLUCID_TRY(const ParsedFlags parsed, parse_flags(pack, query.flags, date));
  std::vector<std::string> kept;
  std::size_t next = 0;
  const auto same = [&](const FlagUse& use) {
    return use.flag == &flag || (!flag.setting.empty() && use.flag->setting == flag.setting);
  };
  for (const FlagUse& use : parsed.uses) {
    if (!same(use)) continue;
    for (; next < use.first; ++next) kept.push_back(query.flags[next]);
    next = use.first + use.count;
  }
  for (; next < query.flags.size(); ++next) kept.push_back(query.flags[next]);
  query.flags = std::move(kept);
  if (!change.value) return {};
  if (flag.kind == FlagDef::Kind::kSwitch) {
    if (*change.value == "true" || *change.value == "1") query.flags.push_back(flag.names.front());
    return {};
  }
  query.flags.push_back(flag.names.front());
  query.flags.push_back(*change.value);
  return {};
}

Expected<PeerQuery> changed_query(const PeerQuery& query, const Change& change) {
  PELLUCID_TRY(const Target target, find_target(query));
  PeerQuery out = query;
  if (change.key == "device") {
    out.device.reset();
    if (change.value) {
      PELLUCID_TRY(out.device, parse_device(*change.value));
    }
    return out;
  }
  if (change.key == "date" || change.key == "model.quantization") {
    if (!change.value) return needs_value(change.key);
    (change.key == "date" ? out.at : out.model.quantization) = *change.value;
    return out;
  }
  if (change.key.starts_with("env.")) {
    change_environment(out, std::string_view(change.key).substr(4), change);
    return out;
  }
  const FlagDef* flag = find_flag(*target.pack, change.key);
  if (flag == nullptr) return unknown_key(*target.pack, change.key);
  const Date date = target.date.value_or(target.pack->dates.back().last);
  PELLUCID_TRY_VOID(change_flag(out, *target.pack, *flag, date, change));
  return out;
}

bool same_effect(const PredictedSetting& a, const PredictedSetting& b) {
  return a.covered == b.covered && a.value == b.value;
}

bool same_contradiction(const config::Contradiction& a, const config::Contradiction& b) {
  return a.rule == b.rule && a.one.who == b.one.who && a.one.says == b.one.says &&
         a.other.who == b.other.who && a.other.says == b.other.says;
}

std::vector<config::Contradiction> missing_from(const std::vector<config::Contradiction>& of,
                                                const std::vector<config::Contradiction>& in) {
  std::vector<config::Contradiction> out;
  std::ranges::copy_if(of, std::back_inserter(out), [&](const config::Contradiction& c) {
    return std::ranges::none_of(in, [&](const auto& d) { return same_contradiction(c, d); });
  });
  return out;
}

PredictedSetting absent(const std::string& name) {
  PredictedSetting out;
  out.name = name;
  out.covered = false;
  out.origin = kDoesNotApply;
  out.reason = kDoesNotApply;
  return out;
}

Difference compare(const Prediction& before, const Prediction& after) {
  Difference out;
  for (const PredictedSetting& b : before.settings) {
    const PredictedSetting* a = after.find(b.name);
    if (a == nullptr) out.settings.push_back({b.name, b, absent(b.name)});
    if (a != nullptr && !same_effect(b, *a)) out.settings.push_back({b.name, b, *a});
  }
  for (const PredictedSetting& a : after.settings) {
    if (before.find(a.name) == nullptr) out.settings.push_back({a.name, absent(a.name), a});
  }
  out.ended = missing_from(before.contradictions, after.contradictions);
  out.begun = missing_from(after.contradictions, before.contradictions);
  for (const Remark& refusal : after.refusals) {
    const bool had = std::ranges::any_of(before.refusals,
                                         [&](const Remark& r) { return r.text == refusal.text; });
    if (!had) out.refusals_begun.push_back(refusal);
  }
  return out;
}

/// The choices of the flag, as typed, that would give the setting another value and let it start.
/// Of two words for the same value the shorter is enough.
Expected<std::vector<std::string>> effective_choices(const PeerQuery& query, const FlagDef& flag,
                                                     const PredictedSetting& now) {
  std::vector<std::string> out;
  std::set<std::string> values;
  for (const std::string& choice : flag.choices) {
    PELLUCID_TRY(const PeerQuery changed,
                 changed_query(query, {.key = flag.names.front(), .value = choice}));
    PELLUCID_TRY(const Prediction prediction, predict(changed));
    const PredictedSetting* s = prediction.find(now.name);
    if (s == nullptr || !s->covered || !prediction.refusals.empty()) continue;
    if (same_effect(*s, now) || !values.insert(s->value).second) continue;
    out.push_back(choice);
  }
  return out;
}

std::string join_or(const std::vector<std::string>& words) {
  std::string out;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i > 0) out += i + 1 == words.size() ? " or " : ", ";
    out += words[i];
  }
  return out;
}

Expected<std::string> why_nothing(const PeerQuery& changed, const Prediction& after,
                                  const Change& change) {
  PELLUCID_TRY(const Target target, find_target(changed));
  const FlagDef* flag = find_flag(*target.pack, change.key);
  const PredictedSetting* s = flag == nullptr ? nullptr : after.find(flag->setting);
  if (s == nullptr) {
    return fmt::format("nothing that this pack predicts depends on {}",
                       utf8::escape_for_display(change.key));
  }
  if (!s->covered) return fmt::format("{} is not covered: {}", s->name, s->reason);
  std::string out = fmt::format("{} stays {}: {}", s->name, s->value, s->reason);
  if (s->source == Source::kRule) out += fmt::format(" [{}]", s->origin);
  if (s->forced) out += "; the typed value is overridden";
  PELLUCID_TRY(const std::vector<std::string> choices, effective_choices(changed, *flag, *s));
  if (!choices.empty()) out += "; to change it, say " + join_or(choices);
  return out;
}

/// Days on which something in the pack may change, between first and last, both included.
std::set<Date> change_days(const Pack& pack, Date first, Date last) {
  std::set<Date> out{first};
  const auto add = [&](const std::vector<DateRange>& ranges) {
    for (const DateRange& range : ranges) {
      for (const Date day : {range.first, range.last + std::chrono::days(1)}) {
        if (first < day && day <= last) out.insert(day);
      }
    }
  };
  add(pack.dates);
  for (const Rule& rule : pack.rules) add(rule.dates);
  for (const SettingDef& setting : pack.settings) add(setting.dates);
  for (const FlagDef& flag : pack.flags) add(flag.dates);
  for (const ArchitectureDef& a : pack.architectures) add({{a.first, last}});
  return out;
}

std::vector<PredictedSetting> watched(const Prediction& prediction,
                                      std::span<const std::string> names) {
  std::vector<PredictedSetting> out;
  for (const std::string& name : names) {
    const PredictedSetting* s = prediction.find(name);
    out.push_back(s == nullptr ? absent(name) : *s);
  }
  return out;
}

bool same_effects(const std::vector<PredictedSetting>& a, const std::vector<PredictedSetting>& b) {
  return std::ranges::equal(a, b, same_effect);
}

}  // namespace

Expected<Difference> what_if(const PeerQuery& query, std::string_view text) {
  PELLUCID_TRY(const Change change, parse_change(text));
  PELLUCID_TRY(const Prediction before, predict(query));
  PELLUCID_TRY(const PeerQuery changed, changed_query(query, change));
  PELLUCID_TRY(const Prediction after, predict(changed));
  Difference out = compare(before, after);
  out.change = text;
  if (!out.changes_nothing()) return out;
  PELLUCID_TRY(out.why_nothing, why_nothing(changed, after, change));
  return out;
}

Expected<std::vector<TimelinePoint>> timeline(const PeerQuery& query, Date first, Date last,
                                              std::span<const std::string> watch) {
  if (last < first) {
    return fail({.kind = ErrorKind::kInvalid,
                 .rule = "peer_date",
                 .object = "timeline",
                 .found = to_string(first) + " to " + to_string(last),
                 .expected = "the first day before the last"});
  }
  PELLUCID_TRY(const Target target, find_target(query));
  const std::span<const std::string> names = watch.empty() ? target.pack->timeline : watch;
  for (const std::string& name : names) {
    if (target.pack->setting(name) == nullptr) return unknown_key(*target.pack, name);
  }
  std::vector<TimelinePoint> out;
  for (const Date day : change_days(*target.pack, first, last)) {
    PeerQuery on_day = query;
    on_day.at = to_string(day);
    PELLUCID_TRY(const Prediction prediction, predict(on_day));
    std::vector<PredictedSetting> now = watched(prediction, names);
    if (!out.empty()) out.back().dates.last = day - std::chrono::days(1);
    if (!out.empty() && same_effects(out.back().settings, now)) continue;
    out.push_back({{day, last}, std::move(now)});
  }
  out.back().dates.last = last;
  return out;
}

}  // namespace pellucid::peers
