#pragma once
// What resolution needs to know, gathered from the headers of a checkpoint and from the machine.

#include <optional>
#include <string>

#include "base/error.h"
#include "config/facts.h"

namespace pellucid::cli {

struct CheckpointReading {
  config::CheckpointFacts facts;
  std::optional<Error> refusal;  ///< why loading would refuse the checkpoint
};

/// Reads configs and headers, no weights. Fails when the config is unusable: without one there is
/// nothing to resolve against.
[[nodiscard]] Expected<CheckpointReading> read_checkpoint_facts(const std::string& directory);

/// "host", or a device of config/device_catalog.h. `measure` reads memory for a moment to learn the
/// bandwidth of the host.
[[nodiscard]] Expected<config::DeviceFacts> read_device_facts(const std::string& device,
                                                              bool measure);

}  // namespace pellucid::cli
