#include "peers/render_json.h"

#include "base/utf8.h"
#include "peers/peers.h"

namespace pellucid::peers {
namespace {

json::Array steps(const std::vector<Step>& list) {
  json::Array out;
  for (const Step& s : list) {
    out.push_back(json::Object{{"value", valid_json_text(s.value)},
                               {"source", source_name(s.source)},
                               {"origin", valid_json_text(s.origin)}});
  }
  return out;
}

json::Object setting(const PredictedSetting& s) {
  json::Object out{{"name", s.name}, {"covered", s.covered}, {"derived", s.derived}};
  if (s.covered) {
    out.emplace_back("value", valid_json_text(s.value));
    out.emplace_back("source", source_name(s.source));
  }
  out.emplace_back("origin", valid_json_text(s.origin));
  out.emplace_back("reason", valid_json_text(s.reason));
  out.emplace_back("citation", valid_json_text(s.citation));
  if (!s.fix.empty()) out.emplace_back("fix", valid_json_text(s.fix));
  if (!s.typed.empty()) out.emplace_back("typed", valid_json_text(s.typed));
  out.emplace_back("forced", s.forced);
  if (!s.overridden.empty()) out.emplace_back("overridden", steps(s.overridden));
  if (!s.rejected.empty()) out.emplace_back("rejected", steps(s.rejected));
  return out;
}

json::Array settings(const std::vector<PredictedSetting>& list) {
  json::Array out;
  for (const PredictedSetting& s : list) out.push_back(setting(s));
  return out;
}

json::Array remarks(const std::vector<Remark>& list) {
  json::Array out;
  for (const Remark& r : list) {
    out.push_back(json::Object{{"text", valid_json_text(r.text)},
                               {"rule", valid_json_text(r.rule)},
                               {"citation", valid_json_text(r.citation)}});
  }
  return out;
}

json::Value optional_date(const std::optional<Date>& date) {
  return date ? json::Value(to_string(*date)) : json::Value();
}

json::Object party(const config::Party& p) {
  return {{"who", valid_json_text(p.who)},
          {"says", valid_json_text(p.says)},
          {"source", valid_json_text(p.source)}};
}

}  // namespace

json::Value valid_json_text(std::string_view text) {
  return utf8::replace_invalid(text);
}

json::Array contradictions_json(const std::vector<config::Contradiction>& list) {
  json::Array out;
  for (const config::Contradiction& c : list) {
    out.push_back(json::Object{{"rule", c.rule},
                               {"one", party(c.one)},
                               {"other", party(c.other)},
                               {"consequence", valid_json_text(c.consequence)},
                               {"fix", valid_json_text(c.fix)}});
  }
  return out;
}

json::Value to_json(const Prediction& p) {
  json::Array logs;
  for (const ExpectedLog& log : p.logs) {
    json::Object line{
        {"level", log.level}, {"text", valid_json_text(log.text)}, {"rule", log.rule}};
    if (!log.caution.empty()) line.emplace_back("caution", log.caution);
    logs.push_back(std::move(line));
  }
  json::Array not_modelled;
  for (const std::string& flag : p.not_modelled) not_modelled.push_back(valid_json_text(flag));
  return json::Object{{"schema", "pellucid.peer_prediction.v1"},
                      {"engine", p.engine},
                      {"date", optional_date(p.date)},
                      {"device", p.device},
                      {"architecture", valid_json_text(p.architecture)},
                      {"coverage", p.coverage},
                      {"settings", settings(p.settings)},
                      {"contradictions", contradictions_json(p.contradictions)},
                      {"refusals", remarks(p.refusals)},
                      {"notes", remarks(p.notes)},
                      {"logs", std::move(logs)},
                      {"not_modelled", std::move(not_modelled)}};
}

json::Value to_json(const Difference& d) {
  json::Array changes;
  for (const SettingChange& c : d.settings) {
    changes.push_back(
        json::Object{{"name", c.name}, {"before", setting(c.before)}, {"after", setting(c.after)}});
  }
  json::Object out{{"schema", "pellucid.peer_difference.v1"},
                   {"change", valid_json_text(d.change)},
                   {"changes_nothing", d.changes_nothing()},
                   {"settings", std::move(changes)},
                   {"contradictions_ended", contradictions_json(d.ended)},
                   {"contradictions_begun", contradictions_json(d.begun)},
                   {"refusals_begun", remarks(d.refusals_begun)}};
  if (!d.why_nothing.empty()) out.emplace_back("why_nothing", valid_json_text(d.why_nothing));
  return out;
}

json::Value to_json(std::span<const TimelinePoint> points) {
  json::Array out;
  for (const TimelinePoint& point : points) {
    out.push_back(json::Object{{"first", to_string(point.dates.first)},
                               {"last", to_string(point.dates.last)},
                               {"settings", settings(point.settings)}});
  }
  return json::Object{{"schema", "pellucid.peer_timeline.v1"}, {"points", std::move(out)}};
}

}  // namespace pellucid::peers
