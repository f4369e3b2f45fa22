#include <fmt/format.h>

#include "config/device_catalog.h"
#include "config/explain.h"
#include "config/text.h"

namespace pellucid::config {
namespace {

constexpr std::string_view kIntroduction =
    "# Settings\n"
    "\n"
    "Generated from `src/config/settings_table.cc` by `pellucid explain --settings-page`; a test\n"
    "compares. Every setting can be given on the command line, as a variable of the environment, "
    "or\n"
    "in a TOML file (`--config FILE`); argv wins over the environment, and that over the file. "
    "What\n"
    "the user does not say is decided by the checkpoint, the hardware, a recommendation or the\n"
    "default, in that order. `pellucid explain MODEL` shows each value with its source and "
    "reason,\n"
    "`--why KEY` the whole chain.\n"
    "\n"
    "Scope: `start` is fixed for the life of the process, `request` is a default that a request "
    "may\n"
    "change. An axis is a setting that a diagnosis may vary.\n";

std::string flags_text(const Setting& setting) {
  std::vector<std::string> parts;
  for (const Flag& flag : setting.flags) {
    parts.push_back(flag.implied ? fmt::format("`{}` ({})", flag.name, *flag.implied)
                                 : fmt::format("`{}`", flag.name));
  }
  return join(parts, ", ");
}

std::string setting_text(const Setting& setting) {
  std::string preset = setting.preset ? std::string(*setting.preset) : "auto";
  if (preset.empty()) preset = "none";
  std::string text = fmt::format("\n## {}\n\n{}.\n\n", setting.key, setting.doc);
  text += fmt::format("- type: {}; {}", type_name(setting.type), accepted(setting));
  if (!setting.unit.empty()) text += fmt::format(" ({})", setting.unit);
  text += fmt::format("\n- default: {}\n- flag: {}\n- variable: `{}`\n", preset,
                      flags_text(setting), setting.variable());
  text += fmt::format("- scope: {}; used by: {}{}\n", scope_name(setting.scope), setting.owner,
                      setting.axis ? "; axis" : "");
  return text;
}

}  // namespace

std::string settings_page() {
  std::string text(kIntroduction);
  for (const Setting& setting : settings_table()) text += setting_text(setting);
  text += "\n## Devices\n\n`--device NAME[:MEMORY] [xN]` explains for a machine that is not here: ";
  text += join(device_names(), ", ");
  text += "; `host` is the machine that the program runs on.\n";
  return text;
}

}  // namespace pellucid::config
