#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "base/utf8.h"
#include "peers/peers.h"

namespace pellucid::peers {
namespace {

using Out = std::back_insert_iterator<std::string>;

std::string shown(std::string_view text) {
  return utf8::escape_for_display(text);
}

std::string value_text(const PredictedSetting& s) {
  if (s.origin == kDoesNotApply) return "-";
  if (!s.covered) return "not covered";
  if (s.value.empty()) return "(none)";
  return shown(s.value);
}

std::string source_text(const PredictedSetting& s) {
  std::string out(source_name(s.source));
  if (s.forced) out += ", forced";
  return out;
}

std::string because(const PredictedSetting& s) {
  std::string out = shown(s.reason);
  if (s.covered && s.source == Source::kUser) out = shown(s.origin);
  if (s.covered && s.source == Source::kRule) out += fmt::format(" [{}]", s.origin);
  if (!s.typed.empty() && s.covered && s.typed != s.value && s.source != Source::kUser) {
    out += fmt::format("; typed: {}", shown(s.typed));
  }
  for (const Step& step : s.rejected) {
    out += fmt::format("; {} would have said {}", step.origin, shown(step.value));
  }
  return out;
}

bool is_plain_default(const PredictedSetting& s) {
  return s.covered && s.source == Source::kDefault && s.typed.empty();
}

void print_uncovered(const Prediction& p, Out out) {
  std::vector<std::pair<std::string_view, std::string>> by_reason;
  for (const PredictedSetting& s : p.settings) {
    if (s.covered) continue;
    const auto same =
        std::ranges::find(by_reason, s.reason, &std::pair<std::string_view, std::string>::first);
    if (same == by_reason.end()) {
      by_reason.emplace_back(s.reason, s.name);
    } else {
      same->second += ", " + s.name;
    }
  }
  if (by_reason.empty()) return;
  fmt::format_to(out, "\nnot covered\n");
  for (const auto& [reason, names] : by_reason) {
    fmt::format_to(out, "  {}: {}\n", names, shown(reason));
  }
}

void print_settings(const Prediction& p, Out out) {
  std::size_t name_width = 0;
  std::size_t value_width = 0;
  std::string defaults;
  for (const PredictedSetting& s : p.settings) {
    if (is_plain_default(s)) {
      defaults += fmt::format("{}{}={}", defaults.empty() ? "" : ", ", s.name, value_text(s));
    } else if (s.covered) {
      name_width = std::max(name_width, s.name.size());
      value_width = std::max(value_width, value_text(s).size());
    }
  }
  if (name_width > 0) fmt::format_to(out, "\nsettings\n");
  for (const PredictedSetting& s : p.settings) {
    if (!s.covered || is_plain_default(s)) continue;
    fmt::format_to(out, "  {:<{}}  {:<{}}  {:<12}  {}\n", s.name, name_width, value_text(s),
                   value_width, source_text(s), because(s));
  }
  if (!defaults.empty()) fmt::format_to(out, "  defaults: {}\n", defaults);
  print_uncovered(p, out);
}

void print_headline(const config::Contradiction& c, Out out) {
  fmt::format_to(out, "  [{}] {} {}; {} {}\n", c.rule, shown(c.one.who), shown(c.one.says),
                 shown(c.other.who), shown(c.other.says));
}

void print_contradiction(const config::Contradiction& c, Out out) {
  print_headline(c, out);
  fmt::format_to(out, "    from    {}\n", shown(c.one.source));
  fmt::format_to(out, "    and     {}\n", shown(c.other.source));
  fmt::format_to(out, "    so      {}\n", shown(c.consequence));
  fmt::format_to(out, "    change  {}\n", shown(c.fix));
}

void print_contradictions(std::string_view title, const std::vector<config::Contradiction>& list,
                          Out out) {
  if (list.empty()) return;
  fmt::format_to(out, "\n{}\n", title);
  for (const config::Contradiction& c : list) print_contradiction(c, out);
}

void print_remarks(std::string_view title, const std::vector<Remark>& list, Out out) {
  if (list.empty()) return;
  fmt::format_to(out, "\n{}\n", title);
  for (const Remark& r : list) fmt::format_to(out, "  {} [{}]\n", shown(r.text), shown(r.rule));
}

std::string state_text(std::span<const PredictedSetting> settings) {
  std::string out;
  for (const PredictedSetting& s : settings) {
    out += fmt::format("{}{}={}", out.empty() ? "" : "  ", s.name, value_text(s));
  }
  return out;
}

}  // namespace

std::string to_text(const Prediction& p) {
  std::string text;
  Out out(text);
  fmt::format_to(out, "{}@{} on {}, {}\n", p.engine,
                 p.date ? to_string(*p.date) : "an unknown version",
                 p.device == "not given" ? "no device (none is given; packs know GPUs only: "
                                           "--device sm_120)"
                                         : shown(p.device),
                 shown(p.architecture));
  fmt::format_to(out, "covered: {}\n", p.coverage);
  if (!p.outside.empty()) fmt::format_to(out, "{}\n", p.outside);
  print_contradictions("contradictions", p.contradictions, out);
  print_remarks("refuses to start", p.refusals, out);
  print_settings(p, out);
  print_remarks("notes", p.notes, out);
  if (!p.logs.empty()) fmt::format_to(out, "\nlog lines to expect\n");
  for (const ExpectedLog& log : p.logs) {
    fmt::format_to(out, "  {:<7} {}\n", log.level, shown(log.text));
    if (!log.caution.empty()) fmt::format_to(out, "          ({})\n", log.caution);
  }
  if (!p.not_modelled.empty()) fmt::format_to(out, "\nnot modelled\n");
  for (const std::string& flag : p.not_modelled) fmt::format_to(out, "  {}\n", flag);
  return text;
}

std::string to_text(const Difference& d) {
  std::string text;
  Out out(text);
  if (d.changes_nothing()) {
    fmt::format_to(out, "{}: changes nothing: {}\n", shown(d.change), shown(d.why_nothing));
    return text;
  }
  fmt::format_to(out, "{}: changes\n", shown(d.change));
  for (const SettingChange& c : d.settings) {
    fmt::format_to(out, "  {}: {} -> {}  ({})\n", c.name, value_text(c.before), value_text(c.after),
                   because(c.after));
  }
  if (!d.ended.empty()) fmt::format_to(out, "\ncontradictions that end\n");
  for (const config::Contradiction& c : d.ended) print_headline(c, out);
  print_contradictions("contradictions that begin", d.begun, out);
  print_remarks("refuses to start", d.refusals_begun, out);
  return text;
}

std::string to_text(std::span<const TimelinePoint> points) {
  std::string text;
  Out out(text);
  for (const TimelinePoint& point : points) {
    fmt::format_to(out, "{:<22}  {}\n", to_string(point.dates), state_text(point.settings));
  }
  return text;
}

}  // namespace pellucid::peers
