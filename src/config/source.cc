#include "config/source.h"

#include <fmt/format.h>

#include "config/nearest.h"

namespace pellucid::config {
namespace {

constexpr std::string_view kPrefix = "PELLUCID_";

const Setting* setting_of_variable(std::string_view name) {
  for (const Setting& setting : settings_table()) {
    if (setting.variable() == name) return &setting;
  }
  return nullptr;
}

Error unknown_variable(const EnvVariable& variable) {
  std::vector<std::string> known;
  for (const Setting& setting : settings_table()) known.push_back(setting.variable());
  const std::vector<std::string_view> names(known.begin(), known.end());
  return {.kind = ErrorKind::kNotFound,
          .rule = "unknown_variable",
          .object = variable.name,
          .found = fmt::format("\"{}\"", variable.value),
          .expected = "the variable of a setting (docs/settings.md)",
          .source = "environment",
          .fix = did_you_mean(variable.name, names)};
}

std::string without_dashes(std::string_view flag) {
  while (flag.starts_with('-')) flag.remove_prefix(1);
  return std::string(flag);
}

FlagMatch flag_of_name(std::string_view name) {
  return find_flag("--" + without_dashes(name));
}

}  // namespace

std::string_view source_name(SourceKind kind) {
  switch (kind) {
    case SourceKind::kDefault:
      return "default";
    case SourceKind::kRecommendation:
      return "rule";
    case SourceKind::kHardware:
      return "hardware";
    case SourceKind::kCheckpoint:
      return "checkpoint";
    case SourceKind::kFile:
      return "file";
    case SourceKind::kEnvironment:
      return "env";
    case SourceKind::kArgv:
      return "argv";
  }
  return {};
}

std::vector<std::string_view> setting_keys() {
  std::vector<std::string_view> keys;
  for (const Setting& setting : settings_table()) keys.push_back(setting.key);
  return keys;
}

std::vector<std::string_view> setting_flags() {
  std::vector<std::string_view> flags;
  for (const Setting& setting : settings_table()) {
    for (const Flag& flag : setting.flags) flags.push_back(flag.name);
  }
  return flags;
}

Expected<std::vector<Declaration>> read_flags(std::span<const FlagUse> uses) {
  std::vector<Declaration> out;
  for (const FlagUse& use : uses) {
    const auto [setting, flag] = find_flag(use.name);
    const std::string origin = fmt::format("argv[{}] {}", use.position, use.name);
    if (setting == nullptr) {
      return fail({.kind = ErrorKind::kNotFound,
                   .rule = "unknown_flag",
                   .object = use.name,
                   .expected = "a flag of --help",
                   .source = fmt::format("argv[{}]", use.position),
                   .fix = did_you_mean(use.name, setting_flags())});
    }
    PELLUCID_TRY(Value value, parse_value(*setting, use.text, origin));
    out.push_back({.setting = setting,
                   .value = std::move(value),
                   .typed = use.text,
                   .kind = SourceKind::kArgv,
                   .origin = origin});
  }
  return out;
}

Expected<std::vector<Declaration>> read_variables(std::span<const EnvVariable> variables) {
  std::vector<Declaration> out;
  for (const EnvVariable& variable : variables) {
    if (!variable.name.starts_with(kPrefix)) continue;
    const Setting* const setting = setting_of_variable(variable.name);
    if (setting == nullptr) return fail(unknown_variable(variable));
    PELLUCID_TRY(Value value, parse_value(*setting, variable.value, variable.name));
    out.push_back({.setting = setting,
                   .value = std::move(value),
                   .typed = variable.value,
                   .kind = SourceKind::kEnvironment,
                   .origin = variable.name});
  }
  return out;
}

Expected<const Setting*> named_setting(std::string_view name, std::string_view source) {
  if (const Setting* setting = find_setting(name)) return setting;
  if (const FlagMatch match = flag_of_name(name); match.setting != nullptr) return match.setting;
  auto names = setting_keys();
  std::string meant = did_you_mean(name, names);
  if (meant.empty()) meant = did_you_mean("--" + without_dashes(name), setting_flags());
  return fail({.kind = ErrorKind::kNotFound,
               .rule = "unknown_setting",
               .object = std::string(name),
               .expected = "the key of a setting (docs/settings.md)",
               .source = std::string(source),
               .fix = meant});
}

Expected<Declaration> read_change(std::string_view text) {
  constexpr std::string_view kSource = "--what-if";
  const std::size_t equals = text.find('=');
  const std::string_view name = text.substr(0, equals);
  PELLUCID_TRY(const Setting* setting, named_setting(name, kSource));
  const FlagMatch match = flag_of_name(name);
  std::string typed;
  if (equals != std::string_view::npos) {
    typed = std::string(text.substr(equals + 1));
  } else if (match.flag != nullptr && match.flag->implied) {
    typed = std::string(*match.flag->implied);
  } else {
    return fail({.rule = "what_if",
                 .object = std::string(text),
                 .found = "a key without a value",
                 .expected = "key=value, or -key to unset",
                 .source = std::string(kSource)});
  }
  PELLUCID_TRY(Value value, parse_value(*setting, typed, kSource));
  return Declaration{.setting = setting,
                     .value = std::move(value),
                     .typed = typed,
                     .kind = SourceKind::kArgv,
                     .origin = std::string(kSource)};
}

}  // namespace pellucid::config
