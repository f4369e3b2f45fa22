#pragma once
// Pieces of JSON that predictions and log reports share.

#include <string_view>
#include <vector>

#include "base/json.h"
#include "config/contracts.h"

namespace pellucid::peers {

/// A string of text from outside: bytes that are not UTF-8 become U+FFFD.
[[nodiscard]] json::Value valid_json_text(std::string_view text);
[[nodiscard]] json::Array contradictions_json(const std::vector<config::Contradiction>& list);

}  // namespace pellucid::peers
