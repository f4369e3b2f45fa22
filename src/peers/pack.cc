#include "peers/pack.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <set>
#include <utility>

#include "base/check.h"
#include "peers/pack_toml.h"

namespace pellucid::peers {
namespace {

constexpr std::array<std::string_view, 13> kFacts{
    "device.sm",      "device.major",       "device.capability", "device.memory_gib",
    "device.count",   "model.architecture", "model.dtype",       "model.dsa",
    "model.mla",      "model.deepseek",     "model.index_topk",  "model.quantization",
    "model.kv_scales"};
constexpr std::array<std::string_view, 2> kMoreFacts{"model.kv_cache_quant",
                                                     "model.attention_heads"};

FlagDef::Kind read_kind(TableReader& in) {
  using Kind = FlagDef::Kind;
  const std::string kind = in.text("kind");
  if (kind == "integer") return Kind::kInteger;
  if (kind == "number") return Kind::kNumber;
  if (kind == "switch") return Kind::kSwitch;
  if (!kind.empty() && kind != "string") {
    in.fail_with("pack_key", kind, "string, integer, number or switch");
  }
  return Kind::kString;
}

FlagDef read_flag(TableReader& in) {
  FlagDef out;
  out.names = in.texts("names");
  if (out.names.empty()) in.fail_with("pack_key", "no names", "at least one name of the flag");
  out.setting = in.text("setting");
  out.kind = read_kind(in);
  out.value = in.optional_text("value").value_or("true");
  out.choices = in.texts("choices");
  out.values = in.texts("values");
  out.dates = in.dates("dates");
  if (const toml::table* alias = in.table("alias")) {
    for (const auto& [typed, meant] : *alias) {
      out.alias.emplace(typed.str(), meant.value_or(std::string()));
    }
  }
  return out;
}

SettingDef read_setting(TableReader& in) {
  return {.name = in.required_text("name"),
          .fallback = in.optional_text("default"),
          .applies = in.conditions("applies"),
          .dates = in.dates("dates"),
          .derived = in.flag("derived")};
}

EnvDef read_env(TableReader& in) {
  return {.name = in.required_text("name"), .setting = in.text("setting"), .note = in.text("note")};
}

Date read_date(TableReader& in, std::string_view key) {
  const std::string text = in.required_text(key);
  const Expected<Date> date = parse_date(text);
  if (!date) in.fail_with(date.error().rule, text, date.error().expected);
  return date.value_or(Date{});
}

ArchitectureDef read_architecture(TableReader& in) {
  return {.name = in.required_text("name"),
          .first = read_date(in, "from"),
          .mla = in.flag("mla"),
          .dsa = in.flag("dsa"),
          .deepseek = in.flag("deepseek")};
}

VersionDef read_version(TableReader& in) {
  return {.name = in.required_text("name"), .date = read_date(in, "date")};
}

std::optional<ContradictionDef> read_contradiction(TableReader& in, std::string_view file) {
  const toml::table* table = in.table("contradiction");
  if (table == nullptr) return std::nullopt;
  TableReader inner(*table, file, "contradiction");
  ContradictionDef out{inner.required_text("rule"),       inner.required_text("one_who"),
                       inner.required_text("one_says"),   inner.required_text("other_who"),
                       inner.required_text("other_says"), inner.required_text("consequence")};
  if (const Expected<void> done = inner.finish(); !done) {
    in.fail_with(done.error().rule, done.error().found, done.error().expected);
  }
  return out;
}

Rule read_rule(TableReader& in, std::string_view file, const std::vector<std::string>& passes) {
  Rule out;
  out.id = in.required_text("id");
  const std::string pass = in.required_text("pass");
  const auto found = std::ranges::find(passes, pass);
  if (found == passes.end()) in.fail_with("pack_rule", "pass " + pass, "one of the pack's passes");
  out.pass = static_cast<std::size_t>(found - passes.begin());
  out.dates = in.dates("dates");
  out.when = in.conditions("when");
  out.setting = in.text("set");
  out.value = in.optional_text("value");
  out.arithmetic = in.flag("arithmetic");
  out.not_covered = in.text("not_covered");
  const std::string mode = in.text("mode");
  if (!mode.empty() && mode != "fill" && mode != "force") {
    in.fail_with("pack_rule", "mode " + mode, "fill or force");
  }
  out.mode = mode == "force" ? Rule::Mode::kForce : Rule::Mode::kFill;
  out.source = in.required_text("source");
  out.reason = in.text("reason");
  out.fix = in.text("fix");
  out.log = in.text("log");
  out.log_level = in.text("log_level");
  out.log_caution = in.text("log_caution");
  out.note = in.text("note");
  out.refuse = in.text("refuse");
  out.contradiction = read_contradiction(in, file);

  const bool sets = !out.setting.empty();
  if (sets != (out.value || !out.not_covered.empty())) {
    in.fail_with("pack_rule", out.id, "set together with value or not_covered");
  }
  if (sets && out.value && out.reason.empty()) {
    in.fail_with("pack_rule", out.id, "a reason for the value");
  }
  const bool speaks =
      !out.log.empty() || !out.note.empty() || !out.refuse.empty() || out.contradiction.has_value();
  if (!sets && !speaks) in.fail_with("pack_rule", out.id, "an effect");
  return out;
}

/// Reads each table of the array `key` of `root` with `read`, which takes a TableReader.
template <class T, class Read>
Expected<std::vector<T>> read_all(const toml::table& root, std::string_view key,
                                  std::string_view file, Read&& read) {
  std::vector<T> out;
  const toml::node* node = root.get(key);
  if (node == nullptr) return out;
  const toml::array* array = node->as_array();
  for (std::size_t i = 0; array != nullptr && i < array->size(); ++i) {
    const toml::table* table = array->get(i)->as_table();
    if (table == nullptr) break;
    TableReader in(*table, file, fmt::format("{} {}", key, i + 1));
    out.push_back(read(in));
    PELLUCID_TRY_VOID(in.finish());
  }
  if (array != nullptr && out.size() == array->size()) return out;
  return fail({.kind = ErrorKind::kInvalid,
               .rule = "pack_key",
               .object = std::string(key),
               .expected = "an array of tables",
               .source = std::string(file)});
}

std::unexpected<Error> missing_header(std::string_view file) {
  return fail({.kind = ErrorKind::kInvalid,
               .rule = "pack_key",
               .object = "pack",
               .expected = "one table [pack], before any rule",
               .source = std::string(file)});
}

Expected<void> read_header(Pack& pack, const toml::table& table, std::string_view file) {
  TableReader in(table, file, "pack");
  pack.engine = in.required_text("engine");
  pack.title = in.required_text("title");
  pack.env_prefix = in.text("env_prefix");
  pack.dates = in.dates("dates");
  pack.passes = in.texts("passes");
  pack.devices = in.integers("devices");
  pack.timeline = in.texts("timeline");
  if (pack.dates.empty()) in.fail_with("pack_key", "no dates", "what the pack covers");
  return in.finish();
}

template <class T>
void append(std::vector<T>& to, std::vector<T> from) {
  std::ranges::move(from, std::back_inserter(to));
}

Expected<void> read_part(Pack& pack, const toml::table& root, std::string_view file) {
  constexpr std::array<std::string_view, 7> kKeys{"pack", "architecture", "version", "flag",
                                                  "env",  "setting",      "rule"};
  for (const auto& [key, node] : root) {
    if (std::ranges::find(kKeys, key.str()) != kKeys.end()) continue;
    return fail({.kind = ErrorKind::kInvalid,
                 .rule = "pack_key",
                 .object = std::string(key.str()),
                 .expected = "a table of the format",
                 .source = std::string(file)});
  }
  const toml::node* header = root.get("pack");
  if ((header == nullptr) != !pack.engine.empty()) return missing_header(file);
  if (header != nullptr) {
    if (header->as_table() == nullptr) return missing_header(file);
    PELLUCID_TRY_VOID(read_header(pack, *header->as_table(), file));
  }
  PELLUCID_TRY(auto architectures,
               read_all<ArchitectureDef>(root, "architecture", file, read_architecture));
  PELLUCID_TRY(auto versions, read_all<VersionDef>(root, "version", file, read_version));
  PELLUCID_TRY(auto flags, read_all<FlagDef>(root, "flag", file, read_flag));
  PELLUCID_TRY(auto environment, read_all<EnvDef>(root, "env", file, read_env));
  PELLUCID_TRY(auto settings, read_all<SettingDef>(root, "setting", file, read_setting));
  PELLUCID_TRY(auto rules, read_all<Rule>(root, "rule", file, [&](TableReader& in) {
                 return read_rule(in, file, pack.passes);
               }));
  append(pack.architectures, std::move(architectures));
  append(pack.versions, std::move(versions));
  append(pack.flags, std::move(flags));
  append(pack.environment, std::move(environment));
  append(pack.settings, std::move(settings));
  append(pack.rules, std::move(rules));
  return {};
}

class NameCheck {
 public:
  NameCheck(const Pack& pack, std::string_view file) : pack_(pack), file_(file) {}

  void name(std::string_view name, std::string_view where) {
    if (error_ || is_fact(name) || pack_.setting(name) != nullptr) return;
    error_ = Error{.kind = ErrorKind::kInvalid,
                   .rule = "pack_name",
                   .object = std::string(where),
                   .found = std::string(name),
                   .expected = "a setting of the pack or a fact",
                   .source = std::string(file_)};
  }
  void conditions(const std::vector<Condition>& list, std::string_view where) {
    for (const Condition& condition : list) name(condition.name, where);
  }
  void text(std::string_view text, std::string_view where) {
    for (const std::string& n : template_names(text)) name(n, where);
  }
  void rule(const Rule& rule) {
    if (!rule.setting.empty()) name(rule.setting, rule.id);
    conditions(rule.when, rule.id);
    for (const std::string* t : {&rule.reason, &rule.fix, &rule.log, &rule.note, &rule.refuse}) {
      text(*t, rule.id);
    }
    text(rule.value.value_or(""), rule.id);
    if (!ids_.insert(rule.id).second && !error_) {
      error_ = Error{.kind = ErrorKind::kInvalid,
                     .rule = "pack_rule",
                     .object = rule.id,
                     .expected = "an id that no other rule has",
                     .source = std::string(file_)};
    }
  }
  [[nodiscard]] Expected<void> finish() const {
    if (error_) return fail(*error_);
    return {};
  }

 private:
  const Pack& pack_;
  std::string_view file_;
  std::set<std::string> ids_;
  std::optional<Error> error_;
};

Expected<void> check_names(const Pack& pack, std::string_view file) {
  NameCheck check(pack, file);
  for (const SettingDef& setting : pack.settings) check.conditions(setting.applies, setting.name);
  for (const FlagDef& flag : pack.flags) {
    if (!flag.setting.empty()) check.name(flag.setting, flag.names.front());
  }
  for (const EnvDef& env : pack.environment) {
    if (!env.setting.empty()) check.name(env.setting, env.name);
  }
  for (const std::string& name : pack.timeline) check.name(name, "timeline");
  for (const Rule& rule : pack.rules) check.rule(rule);
  return check.finish();
}

std::string_view folder(const EmbeddedText& file) {
  return file.name.substr(0, file.name.find('/'));
}

std::vector<Pack> read_embedded() {
  std::vector<Pack> out;
  const std::span<const EmbeddedText> files = embedded_packs();
  for (std::size_t first = 0; first < files.size();) {
    std::size_t last = first;
    while (last < files.size() && folder(files[last]) == folder(files[first])) ++last;
    Expected<Pack> pack = read_pack(files.subspan(first, last - first));
    PELLUCID_CHECK(pack.has_value() && "a built-in pack reads; pack_test says why one does not");
    out.push_back(*std::move(pack));
    first = last;
  }
  return out;
}

}  // namespace

const SettingDef* Pack::setting(std::string_view name) const {
  const auto found = std::ranges::find(settings, name, &SettingDef::name);
  return found == settings.end() ? nullptr : &*found;
}

bool is_fact(std::string_view name) {
  return name.starts_with("env.") || std::ranges::find(kFacts, name) != kFacts.end() ||
         std::ranges::find(kMoreFacts, name) != kMoreFacts.end();
}

std::vector<std::string> template_names(std::string_view text) {
  std::vector<std::string> out;
  while (true) {
    const std::size_t open = text.find('{');
    if (open == std::string_view::npos) return out;
    const std::size_t close = text.find('}', open);
    if (close == std::string_view::npos) return out;
    out.emplace_back(text.substr(open + 1, close - open - 1));
    text.remove_prefix(close + 1);
  }
}

Expected<Pack> read_pack(std::span<const EmbeddedText> parts) {
  Pack pack;
  for (const EmbeddedText& part : parts) {
    const toml::parse_result parsed = toml::parse(part.text, part.name);
    if (!parsed) {
      return fail({.kind = ErrorKind::kInvalid,
                   .rule = "pack_syntax",
                   .object = "pack",
                   .found = std::string(parsed.error().description()),
                   .expected = "TOML",
                   .source = fmt::format("{}:{}", part.name, parsed.error().source().begin.line)});
    }
    PELLUCID_TRY_VOID(read_part(pack, parsed.table(), part.name));
  }
  if (pack.engine.empty()) return missing_header(parts.empty() ? "" : parts.front().name);
  PELLUCID_TRY_VOID(check_names(pack, pack.engine));
  std::ranges::stable_sort(pack.rules, {}, &Rule::pass);
  return pack;
}

const std::vector<Pack>& packs() {
  static const std::vector<Pack> kPacks = read_embedded();
  return kPacks;
}

const Pack* find_pack(std::string_view engine) {
  const auto found = std::ranges::find(packs(), engine, &Pack::engine);
  return found == packs().end() ? nullptr : &*found;
}

}  // namespace pellucid::peers
