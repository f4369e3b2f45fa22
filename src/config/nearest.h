#pragma once
// The known name that a mistyped one probably meant.

#include <span>
#include <string>
#include <string_view>

namespace pellucid::config {

/// Insertions, deletions, replacements and swaps of neighbours that turn `a` into `b` (optimal
/// string alignment).
[[nodiscard]] std::size_t edit_distance(std::string_view a, std::string_view b);

/// The closest of `names` within a third of the longer length, at least 2; the first of equals;
/// empty when none is that close.
[[nodiscard]] std::string_view nearest(std::string_view name,
                                       std::span<const std::string_view> names);

/// "did you mean NAME", or empty.
[[nodiscard]] std::string did_you_mean(std::string_view name,
                                       std::span<const std::string_view> names);

}  // namespace pellucid::config
