#include "base/utf8.h"

#include <algorithm>

namespace pellucid::utf8 {
namespace {

/// Bounds of the second byte by lead byte (Unicode 15, table 3-7); they exclude overlong forms,
/// surrogates and code points above U+10FFFF.
struct Lead {
  int length;
  std::uint8_t second_min;
  std::uint8_t second_max;
};

Lead classify(std::uint8_t lead) {
  if (lead < 0x80) return {1, 0, 0};
  if (lead < 0xC2) return {0, 0, 0};
  if (lead < 0xE0) return {2, 0x80, 0xBF};
  if (lead == 0xE0) return {3, 0xA0, 0xBF};
  if (lead == 0xED) return {3, 0x80, 0x9F};
  if (lead < 0xF0) return {3, 0x80, 0xBF};
  if (lead == 0xF0) return {4, 0x90, 0xBF};
  if (lead < 0xF4) return {4, 0x80, 0xBF};
  if (lead == 0xF4) return {4, 0x80, 0x8F};
  return {0, 0, 0};
}

/// Bytes of the longest prefix at `offset` that begins a well-formed sequence, and whether it is
/// the whole sequence.
struct Prefix {
  std::size_t length;
  bool complete;
};

Prefix well_formed_prefix(std::string_view text, std::size_t offset) {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(text[offset + i]); };
  const Lead lead = classify(byte(0));
  if (lead.length == 0) return {0, false};
  const auto length = static_cast<std::size_t>(lead.length);
  for (std::size_t i = 1; i < length; ++i) {
    if (offset + i >= text.size()) return {i, false};
    const std::uint8_t low = i == 1 ? lead.second_min : 0x80;
    const std::uint8_t high = i == 1 ? lead.second_max : 0xBF;
    if (byte(i) < low || byte(i) > high) return {i, false};
  }
  return {length, true};
}

}  // namespace

Decoded decode(std::string_view text, std::size_t offset) {
  const Prefix prefix = well_formed_prefix(text, offset);
  if (!prefix.complete) {
    return {0xFFFD, static_cast<std::uint8_t>(std::max<std::size_t>(prefix.length, 1)), false};
  }
  const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(text[offset + i]); };
  if (prefix.length == 1) return {byte(0), 1, true};
  char32_t code_point = byte(0) & (0xFFU >> (prefix.length + 1));
  for (std::size_t i = 1; i < prefix.length; ++i)
    code_point = (code_point << 6) | (byte(i) & 0x3FU);
  return {code_point, static_cast<std::uint8_t>(prefix.length), true};
}

bool is_valid(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    const Decoded d = decode(text, i);
    if (!d.valid) return false;
    i += d.length;
  }
  return true;
}

void append(std::string& out, char32_t c) {
  const auto put = [&](char32_t byte) { out += static_cast<char>(byte); };
  if (c < 0x80) {
    put(c);
    return;
  }
  if (c < 0x800) {
    put(0xC0 | (c >> 6));
  } else if (c < 0x10000) {
    put(0xE0 | (c >> 12));
    put(0x80 | ((c >> 6) & 0x3F));
  } else {
    put(0xF0 | (c >> 18));
    put(0x80 | ((c >> 12) & 0x3F));
    put(0x80 | ((c >> 6) & 0x3F));
  }
  put(0x80 | (c & 0x3F));
}

std::string replace_invalid(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size();) {
    const Decoded d = decode(text, i);
    if (d.valid) {
      out.append(text.substr(i, d.length));
    } else {
      append(out, 0xFFFD);
    }
    i += d.length;
  }
  return out;
}

std::size_t incomplete_suffix(std::string_view text) {
  const std::size_t longest = std::min<std::size_t>(3, text.size());
  for (std::size_t back = longest; back > 0; --back) {
    const std::size_t offset = text.size() - back;
    const Prefix prefix = well_formed_prefix(text, offset);
    if (!prefix.complete && prefix.length == back) return back;
  }
  return 0;
}

namespace {

void append_byte_escape(std::string& out, std::uint8_t byte) {
  constexpr std::string_view kHex = "0123456789abcdef";
  out += "\\x";
  out += kHex[byte >> 4];
  out += kHex[byte & 0xFU];
}

/// C0, DEL, C1, line and paragraph separators, and the bidirectional controls that reorder a line.
bool is_display_control(char32_t c) {
  return c < 0x20 || (c >= 0x7F && c < 0xA0) || c == 0x2028 || c == 0x2029 ||
         (c >= 0x202A && c <= 0x202E) || (c >= 0x2066 && c <= 0x2069);
}

}  // namespace

std::string escape_for_display(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size();) {
    const Decoded d = decode(text, i);
    const std::string_view bytes = text.substr(i, d.length);
    if (d.code_point == '\n') {
      out += "\\n";
    } else if (!d.valid || is_display_control(d.code_point)) {
      for (const char byte : bytes) append_byte_escape(out, static_cast<std::uint8_t>(byte));
    } else {
      out += bytes;
    }
    i += d.length;
  }
  return out;
}

}  // namespace pellucid::utf8
