#pragma once
// Machines that are not here: what `--device NAME[:MEMORY] [xN]` stands for.

#include <span>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/machine.h"
#include "config/facts.h"

namespace pellucid::config {

/// The names that parse_device() knows.
[[nodiscard]] std::vector<std::string_view> device_names();

/// "sm_120", "sm_120:96GB", "sm_120:96GB x8", "cpu-zen5:256GB". "host" is not among them: it is the
/// machine that the program runs on. Rules: "device_name", "device_spec".
[[nodiscard]] Expected<DeviceFacts> parse_device(std::string_view text, std::string_view source);

/// The machine that the program runs on.
[[nodiscard]] DeviceFacts host_device(const MachineInfo& machine);

}  // namespace pellucid::config
