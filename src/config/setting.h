#pragma once
// The settings table: one row per setting, from which come the command line's flags, the PELLUCID_*
// variables, the keys of the TOML file, --help, docs/settings.md and the fields of views.h. To add
// a setting: one row in settings_table.cc and one field in views.h.
//
// The table is constant and shared. Rows stand in an order in which each rule may read the settings
// above its own.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "config/value.h"

namespace pellucid::config {

enum class Type { kBool, kInt, kReal, kSize, kChoice, kText, kTextList };

enum class Scope {
  kStart,    ///< fixed for the life of the process
  kRequest,  ///< a default that a request may change
};

/// A spelling on the command line. With `implied` the flag takes no value and stands for that one.
struct Flag {
  std::string_view name;
  std::optional<std::string_view> implied = std::nullopt;
};

/// Inclusive; with `above_low` the low end is excluded.
struct Range {
  double low = 0;
  double high = 0;
  bool above_low = false;
};

struct Setting {
  std::string_view key;  ///< "engine.threads"
  std::string_view group;
  std::string_view owner;  ///< the room that uses it
  Scope scope = Scope::kStart;
  bool axis = false;  ///< a value that a diagnosis may vary to find a cause
  std::vector<Flag> flags;
  std::string_view unit = "";
  std::optional<Range> range = std::nullopt;
  std::span<const std::string_view> choices = {};
  std::optional<std::string_view> preset;  ///< the default as typed; empty: auto
  std::string_view auto_synonym = "";      ///< another spelling of auto, kept from older flags
  std::string_view doc;
  Expected<void> (*check_item)(std::string_view text) = nullptr;  ///< of each item of a list

  // From the field of the view.
  Type type = Type::kText;
  void (*store)(const Value& value, Settings& settings) = nullptr;

  /// "PELLUCID_ENGINE_THREADS".
  [[nodiscard]] std::string variable() const;
  /// The flag that takes a value, else the first.
  [[nodiscard]] std::string_view flag() const;
};

[[nodiscard]] std::span<const Setting> settings_table();

/// The row of that key, or null.
[[nodiscard]] const Setting* find_setting(std::string_view key);

struct FlagMatch {
  const Setting* setting = nullptr;
  const Flag* flag = nullptr;
};

/// The row and spelling of "--threads"; both null when no setting has it.
[[nodiscard]] FlagMatch find_flag(std::string_view name);

[[nodiscard]] std::string_view type_name(Type type);
[[nodiscard]] std::string_view scope_name(Scope scope);

/// What the setting accepts, for messages and help: "a whole number from 1 to 1024, or auto".
[[nodiscard]] std::string accepted(const Setting& setting);

/// A typed value, checked against type, range and choices. `source` is where it was typed. "auto"
/// and an auto synonym give Auto, except for free text. Rule: "setting_value".
[[nodiscard]] Expected<Value> parse_value(const Setting& setting, std::string_view text,
                                          std::string_view source);

}  // namespace pellucid::config
