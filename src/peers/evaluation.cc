#include "peers/evaluation.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/utf8.h"

namespace pellucid::peers {
namespace {

std::string coverage_text(const std::vector<DateRange>& ranges) {
  std::string out;
  for (const DateRange& range : ranges) {
    if (!out.empty()) out += ", ";
    out += to_string(range);
  }
  return out;
}

bool is_date_covered(const Pack& pack, const SettingDef& def, Date date) {
  return contains(pack.dates, date) && (def.dates.empty() || contains(def.dates, date));
}

}  // namespace

std::optional<std::int64_t> calculate(std::string_view text) {
  const std::size_t first = text.find(' ');
  if (first == std::string_view::npos || first + 3 > text.size() || text[first + 2] != ' ') {
    return std::nullopt;
  }
  std::int64_t a = 0;
  std::int64_t b = 0;
  if (!parse_integer(text.substr(0, first), a) || !parse_integer(text.substr(first + 3), b)) {
    return std::nullopt;
  }
  std::int64_t out = 0;
  switch (text[first + 1]) {
    case '+':
      return __builtin_add_overflow(a, b, &out) ? std::nullopt : std::optional(out);
    case '-':
      return __builtin_sub_overflow(a, b, &out) ? std::nullopt : std::optional(out);
    case '*':
      return __builtin_mul_overflow(a, b, &out) ? std::nullopt : std::optional(out);
    case '/':
      return b <= 0 || a % b != 0 ? std::nullopt : std::optional(a / b);
    default:
      return std::nullopt;
  }
}

Evaluation::Evaluation(const Pack& pack, const PeerQuery& query, std::optional<Date> date)
    : pack_(pack), query_(query), date_(date), covered_(date && contains(pack.dates, *date)) {
  for (const ArchitectureDef& a : pack.architectures) {
    if (date && a.name == query.model.architecture && a.first <= *date) architecture_ = &a;
  }
  if (query.device &&
      std::ranges::find(pack.devices, query.device->compute_capability) != pack.devices.end()) {
    device_ = &*query.device;
  }
  for (const SettingDef& def : pack.settings) {
    Cell c;
    c.def = &def;
    PredictedSetting& s = c.setting;
    s.name = def.name;
    s.derived = def.derived;
    c.in_dates = date && is_date_covered(pack, def, *date);
    s.covered = c.in_dates && def.fallback.has_value();
    if (!covered_) {
      s.reason = fmt::format("the pack covers {}", coverage_text(pack.dates));
    } else if (!c.in_dates) {
      s.reason = fmt::format("known for {} only", coverage_text(def.dates));
    } else if (!def.fallback) {
      s.reason = "no rule of this pack decides it here";
    } else {
      s.value = *def.fallback;
      s.origin = "default";
      s.reason = "default of the flag";
      s.citation = pack.title;
    }
    cells_.push_back(std::move(c));
  }
}

const Evaluation::Cell* Evaluation::cell(std::string_view name) const {
  const auto found =
      std::ranges::find_if(cells_, [&](const Cell& c) { return c.def->name == name; });
  return found == cells_.end() ? nullptr : &*found;
}

Evaluation::Cell* Evaluation::cell(std::string_view name) {
  return const_cast<Cell*>(std::as_const(*this).cell(name));
}

void Evaluation::take_user_value(std::string_view name, const std::string& typed,
                                 const std::string& value, const std::string& origin) {
  Cell* c = cell(name);
  PELLUCID_CHECK(c != nullptr);  // read_pack checked the names
  PredictedSetting& s = c->setting;
  if (c->by_user && s.covered) s.overridden.push_back({Source::kUser, s.value, s.origin});
  s.typed = typed;
  c->by_user = c->def->fallback != value || value != "auto";
  if (!c->in_dates) {
    s.reason = fmt::format("{} is typed; what becomes of it is not known: {}",
                           utf8::escape_for_display(typed), s.reason);
    return;
  }
  s.covered = true;
  s.value = value;
  s.source = c->by_user ? Source::kUser : Source::kDefault;
  s.origin = origin;
  s.reason = c->by_user ? "typed by the user" : "auto, typed, is the same as unset";
  s.citation = origin;
}

void Evaluation::doubt_value(const FlagUse& use) {
  const std::vector<std::string>& values = use.flag->values;
  Cell* c = cell(use.flag->setting);
  if (values.empty() || !c->in_dates || std::ranges::find(values, use.value) != values.end())
    return;
  PredictedSetting& s = c->setting;
  s.covered = false;
  s.value.clear();
  c->doubted = true;
  s.reason = fmt::format("unknown value {}", utf8::escape_for_display(use.typed));
  const std::string near = nearest(use.typed, values);
  if (!near.empty()) s.reason += fmt::format("; did you mean {}?", near);
}

void Evaluation::take_flags(const ParsedFlags& flags) {
  for (const FlagUse& use : flags.uses) {
    if (!use.flag->setting.empty()) {
      take_user_value(use.flag->setting, use.typed, use.value, use.origin);
      doubt_value(use);
    }
  }
  out_.not_modelled.insert(out_.not_modelled.end(), flags.not_modelled.begin(),
                           flags.not_modelled.end());
}

void Evaluation::take_environment(const std::vector<Variable>& variables) {
  variables_ = variables;
  for (const Variable& v : variables) {
    const auto def = std::ranges::find(pack_.environment, v.name, &EnvDef::name);
    if (def == pack_.environment.end()) {
      out_.not_modelled.push_back(utf8::escape_for_display(v.name + "=" + v.value));
      continue;
    }
    if (!def->note.empty() && covered_) out_.notes.push_back({def->note, v.name, pack_.title});
    if (!def->setting.empty()) {
      take_user_value(def->setting, v.value, v.value, "environment variable " + v.name);
    }
  }
}

void Evaluation::run_rules() {
  if (!covered_) return;
  for (const Rule& rule : pack_.rules) apply(rule);
}

void Evaluation::apply(const Rule& rule) {
  if (!rule.dates.empty() && !contains(rule.dates, *date_)) return;
  const Verdict verdict = evaluate_all(rule.when, *this);
  if (verdict.truth == Truth::kFalse) return;
  if (verdict.truth == Truth::kUnknown) {
    leave_open(rule, why_unknown(verdict.unknown));
    return;
  }
  if (rule.setting.empty() || set(rule)) speak(rule);
}

void Evaluation::leave_open(const Rule& rule, const std::string& why) {
  if (rule.setting.empty()) return;
  Cell* c = cell(rule.setting);
  if (!c->in_dates || c->doubted) return;
  if (rule.mode == Rule::Mode::kFill && c->setting.source == Source::kUser) return;
  c->setting.covered = false;
  c->setting.value.clear();
  c->setting.reason = why;
  c->setting.origin = rule.id;
  c->setting.citation = rule.source;
}

bool Evaluation::set(const Rule& rule) {
  Cell* c = cell(rule.setting);
  if (!c->in_dates || c->doubted) return false;
  PredictedSetting& s = c->setting;
  if (!rule.value) {
    leave_open(rule, say(rule.not_covered));
    return true;
  }
  std::string unknown;
  std::string value = say(*rule.value, &unknown);
  if (!unknown.empty()) {
    leave_open(rule, why_unknown(unknown));
    return true;
  }
  if (rule.arithmetic) {
    const std::optional<std::int64_t> number = calculate(value);
    if (!number) {
      leave_open(rule, fmt::format("{} has no integer value", utf8::escape_for_display(value)));
      return true;
    }
    value = fmt::format("{}", *number);
  }
  const bool user_stands = s.covered && s.source == Source::kUser;
  if (user_stands && (rule.mode == Rule::Mode::kFill || s.value == value)) {
    if (s.value != value) s.rejected.push_back({Source::kRule, value, rule.id});
    return false;
  }
  if (user_stands) s.forced = true;
  if (s.covered && s.value != value) s.overridden.push_back({s.source, s.value, s.origin});
  // The reason may name the setting's own old value, so it is said before the value changes.
  s.reason = say(rule.reason);
  s.fix = say(rule.fix);
  s.covered = true;
  s.value = std::move(value);
  s.source = Source::kRule;
  s.origin = rule.id;
  s.citation = rule.source;
  return true;
}

void Evaluation::speak(const Rule& rule) {
  if (!rule.log.empty()) {
    out_.logs.push_back({rule.log_level, say(rule.log), rule.id, rule.log_caution});
  }
  if (!rule.note.empty()) out_.notes.push_back({say(rule.note), rule.id, rule.source});
  if (!rule.refuse.empty()) out_.refusals.push_back({say(rule.refuse), rule.id, rule.source});
  if (!rule.contradiction) return;
  const ContradictionDef& c = *rule.contradiction;
  out_.contradictions.push_back({.rule = c.rule,
                                 .one = {say(c.one_who), say(c.one_says), rule.source},
                                 .other = {say(c.other_who), say(c.other_says), "--device"},
                                 .consequence = say(c.consequence),
                                 .fix = say(rule.fix)});
}

std::string Evaluation::say(std::string_view text, std::string* unknown) const {
  std::string out;
  while (true) {
    const std::size_t open = text.find('{');
    const std::size_t close = open == std::string_view::npos ? open : text.find('}', open);
    if (close == std::string_view::npos) return out.append(text);
    out.append(text.substr(0, open));
    const std::string_view name = text.substr(open + 1, close - open - 1);
    const Term value = term(name);
    if (!value.known && unknown != nullptr) *unknown = name;
    out += value.known ? value.value : "(not known)";
    text.remove_prefix(close + 1);
  }
}

Prediction Evaluation::finish() && {
  out_.engine = pack_.engine;
  out_.date = date_;
  out_.device = query_.device ? to_string(*query_.device) : "not given";
  out_.architecture = query_.model.architecture.empty() ? "not given" : query_.model.architecture;
  if (!covered_) {
    out_.outside =
        fmt::format("{} {} is outside the pack of {}, which covers {}: nothing is predicted",
                    date_ ? "the date" : "the version",
                    date_ ? to_string(*date_) : utf8::escape_for_display(query_.at.substr(0, 100)),
                    pack_.engine, coverage_text(pack_.dates));
  }
  out_.coverage = fmt::format("{}: {}", pack_.title, coverage_text(pack_.dates));
  for (const Cell& c : cells_) {
    const Verdict applies = covered_ ? evaluate_all(c.def->applies, *this) : Verdict{};
    if (applies.truth == Truth::kFalse && !c.by_user) continue;
    PredictedSetting s = c.setting;
    if (applies.truth == Truth::kUnknown && s.covered && !c.by_user) {
      s.covered = false;
      s.value.clear();
      s.reason = why_unknown(applies.unknown);
    }
    if (!s.covered && s.origin.empty()) s.origin = "none";
    if (s.citation.empty()) s.citation = pack_.title;
    out_.settings.push_back(std::move(s));
  }
  std::vector<config::Contradiction> found = check_contracts(out_, query_.model);
  found.insert(found.end(), out_.contradictions.begin(), out_.contradictions.end());
  out_.contradictions = std::move(found);
  return std::move(out_);
}

}  // namespace pellucid::peers
