#pragma once
// Reading of the rotary embedding from either config shape (model.md section 4).

#include <string>
#include <vector>

#include "checkpoint/key_reader.h"
#include "checkpoint/model_config.h"

namespace pellucid::checkpoint {

/// Takes rope_parameters, rope_scaling and rope_theta from `keys`. Theta is never defaulted. Shapes
/// that disagree: rope_parameters wins and a warning says so. Appends the keys of the two objects
/// that nothing reads to `unread`.
[[nodiscard]] Expected<RopeConfig> read_rope(KeyReader& keys, std::string_view prefix,
                                             std::string_view source,
                                             std::vector<std::string>& unread,
                                             std::vector<std::string>& warnings);

}  // namespace pellucid::checkpoint
