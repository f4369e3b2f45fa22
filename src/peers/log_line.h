#pragma once
// One line of a log taken apart: prefix of the engine, message. And a small matcher for messages.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "peers/log_reader.h"

namespace pellucid::peers {

struct LogLine {
  LogEngine shape = LogEngine::kUnknown;  ///< whose prefix it has
  std::string_view date;                  ///< "2026-02-19", or empty
  std::string_view message;
};

/// Without ANSI escape sequences (CSI, OSC, two-byte escapes) and carriage returns.
[[nodiscard]] std::string strip_escapes(std::string_view line);

[[nodiscard]] LogLine parse_line(std::string_view line);

/// Finds `pattern` anywhere in `text`. %w takes letters, digits, '_' and '-'; %d digits and commas;
/// %f digits and dots; each at least one, as many as there are. The captures, or nothing.
[[nodiscard]] std::optional<std::vector<std::string_view>> scan(std::string_view text,
                                                                std::string_view pattern);

struct NamedValue {
  std::string name;
  std::string value;
};

/// "a='x', b=[1, 2], c=None)" or "'a': 'x', 'b': 2}": items at depth 0 of a Python repr, up to the
/// closing bracket, at most `items_max`. Quotes of strings are dropped; None becomes "".
[[nodiscard]] std::vector<NamedValue> parse_python_items(std::string_view text, char separator,
                                                         std::size_t items_max);

}  // namespace pellucid::peers
