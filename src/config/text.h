#pragma once
// Small text helpers of the room. Private to it.

#include <string>
#include <string_view>

namespace pellucid::config {

/// The items with `separator` between them. (fmt::join of string_views draws a false overflow
/// warning from g++ 12.)
template <class Range>
[[nodiscard]] std::string join(const Range& items, std::string_view separator) {
  std::string out;
  bool first = true;
  for (const auto& item : items) {
    if (!first) out += separator;
    first = false;
    out += item;
  }
  return out;
}

}  // namespace pellucid::config
