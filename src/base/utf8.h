#pragma once
// UTF-8: validation and code points. Invalid means overlong, surrogate, above U+10FFFF, truncated
// or stray continuation bytes.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace pellucid::utf8 {

struct Decoded {
  char32_t code_point;  ///< U+FFFD when !valid
  std::uint8_t length;  ///< bytes consumed, >= 1; for an invalid sequence the maximal subpart
  bool valid;
};

/// Decodes at text[offset]; offset < text.size().
[[nodiscard]] Decoded decode(std::string_view text, std::size_t offset);
[[nodiscard]] bool is_valid(std::string_view text);
void append(std::string& out, char32_t code_point);
/// Each maximal invalid subpart becomes one U+FFFD (as Python and Rust decode "lossy").
[[nodiscard]] std::string replace_invalid(std::string_view text);

/// Bytes at the end of `text` that begin a code point and could be completed by later bytes: 0..3.
[[nodiscard]] std::size_t incomplete_suffix(std::string_view text);

/// For terminals and logs: newline as \n; other control characters (C0, DEL, C1, bidirectional and
/// line separators) and invalid bytes as \xNN per byte.
[[nodiscard]] std::string escape_for_display(std::string_view text);

}  // namespace pellucid::utf8
