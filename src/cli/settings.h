#pragma once
// The settings of the command line: flags made from the settings table, the other sources, and the
// rooms' own options made from the resolved views.

#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "config/resolution.h"
#include "config/source.h"
#include "engine/engine.h"
#include "sampler/sampler.h"

namespace CLI {
class App;
}

namespace pellucid::cli {

struct SettingsFlags {
  std::vector<config::FlagUse> uses;
  std::optional<std::string> file;  ///< --config
};

/// Declares every flag of the settings table, and --config.
void add_settings_flags(CLI::App& app, SettingsFlags& flags);

/// Fills in where in argv each use stands.
void locate_flags(SettingsFlags& flags, int argc, const char* const* argv);

/// All that the user declared: flags, PELLUCID_* variables and the file.
[[nodiscard]] Expected<std::vector<config::Declaration>> read_declarations(
    const SettingsFlags& flags);
/// The same with another file.
[[nodiscard]] Expected<std::vector<config::Declaration>> read_declarations(
    const SettingsFlags& flags, const std::string& file);

[[nodiscard]] engine::EngineOptions engine_options(const config::Settings& settings);

/// A seed that was left open is drawn here.
[[nodiscard]] sampler::SamplingParams sampling_params(const config::SamplingSettings& settings);

}  // namespace pellucid::cli
