#pragma once
// The value of a setting, apart from its declaration.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "config/views.h"

namespace pellucid::config {

/// Left open: a rule decides, or the moment of use.
struct Auto {
  friend bool operator==(const Auto&, const Auto&) = default;
};

using TextList = std::vector<std::string>;
using Value = std::variant<Auto, bool, std::int64_t, double, Bytes, std::string, TextList>;

[[nodiscard]] inline bool is_auto(const Value& value) {
  return std::holds_alternative<Auto>(value);
}

/// As it is typed: "auto", "true", "256", "0.95", "bf16"; a size in bytes; a list by commas.
[[nodiscard]] std::string format_value(const Value& value);

/// For people: a size with its unit; everything else as format_value().
[[nodiscard]] std::string display_value(const Value& value);

/// "96GB", "96 GiB", "4096": decimal and binary units of bytes. Empty when it is none of these, is
/// negative or exceeds 2^63 - 1.
[[nodiscard]] std::optional<Bytes> parse_size(std::string_view text);

/// "1.25 GB": decimal units, three digits.
[[nodiscard]] std::string format_size(std::int64_t bytes);

}  // namespace pellucid::config
