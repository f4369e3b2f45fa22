#pragma once
// One item of sampling.logit_bias: "1242=-100".

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/error.h"

namespace pellucid::config {

struct LogitBias {
  std::int32_t token = 0;
  double bias = 0;  ///< [-100, 100]
};

[[nodiscard]] std::optional<LogitBias> parse_logit_bias(std::string_view text);
/// Rule: "setting_value"; names only found and expected.
[[nodiscard]] Expected<void> check_logit_bias(std::string_view text);

}  // namespace pellucid::config
