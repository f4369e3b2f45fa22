#pragma once
// Patterns ask for Unicode categories, and the answer for a code point that is younger than the
// matching library's tables is "unassigned". Debian 12's PCRE2 10.42 knows Unicode 14.0; the
// reference (tokenizers 0.23, tiktoken 0.14) knows 16.0: 10,302 code points differ, 4,815 of them
// Han (CJK extensions H and I). Before matching, each of these is replaced by an older code point
// of the same general category, Han-ness and UTF-8 length, so that the offsets of the matches stay
// right.

#include <optional>
#include <string>
#include <string_view>

namespace pellucid::tokenizer {

/// `text` (valid UTF-8) with proxies; nullopt when it needs none.
[[nodiscard]] std::optional<std::string> unicode_proxy(std::string_view text);

}  // namespace pellucid::tokenizer
