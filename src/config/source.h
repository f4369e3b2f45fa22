#pragma once
// What the user asked for, and where exactly: the command line, PELLUCID_* variables and a TOML
// file, read into declarations. Nothing is decided here; unknown names and malformed values are
// errors that name the nearest known name.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/env.h"
#include "base/error.h"
#include "config/setting.h"

namespace pellucid::config {

/// Where a value comes from, in ascending precedence.
enum class SourceKind {
  kDefault,
  kRecommendation,
  kHardware,
  kCheckpoint,
  kFile,
  kEnvironment,
  kArgv
};

[[nodiscard]] std::string_view source_name(SourceKind kind);
[[nodiscard]] inline bool is_user(SourceKind kind) {
  return kind >= SourceKind::kFile;
}

struct Declaration {
  const Setting* setting = nullptr;
  Value value = {};
  std::string typed = {};  ///< as the user wrote it
  SourceKind kind = SourceKind::kDefault;
  std::string origin = {};  ///< "argv[4] --threads", "PELLUCID_ENGINE_THREADS", "run.toml:3:11"
};

/// One flag of the command line: `text` is its value, or that which it implies.
struct FlagUse {
  std::string name = {};
  std::string text = {};
  int position = 0;  ///< index in argv
};

/// Rules: "setting_value", "unknown_flag".
[[nodiscard]] Expected<std::vector<Declaration>> read_flags(std::span<const FlagUse> uses);

/// Every variable that begins with PELLUCID_; the others are not ours. Rules: "setting_value",
/// "unknown_variable".
[[nodiscard]] Expected<std::vector<Declaration>> read_variables(
    std::span<const EnvVariable> variables);

/// A TOML document; `source` is its path. Rules: "toml_syntax", "setting_value",
/// "unknown_setting".
[[nodiscard]] Expected<std::vector<Declaration>> read_toml(std::string_view text,
                                                           std::string_view source);

/// "key=value" of `--what-if`, where key is that of a setting or a flag without its dashes.
[[nodiscard]] Expected<Declaration> read_change(std::string_view text);
/// The setting that a key or a flag (with or without dashes) names. Rule: "unknown_setting".
[[nodiscard]] Expected<const Setting*> named_setting(std::string_view name,
                                                     std::string_view source);

/// The names that could have been meant: keys, flags, variables.
[[nodiscard]] std::vector<std::string_view> setting_keys();
[[nodiscard]] std::vector<std::string_view> setting_flags();

}  // namespace pellucid::config
