// Bytes of strangers as UTF-8: the decoder, the repair and the split of a stream agree with one
// another.

#include "base/utf8.h"

#include <string>

#include "fuzz.h"

namespace utf8 = pellucid::utf8;

namespace {

/// Code points one by one: advances over everything, and writes back what is valid.
void check_decode(std::string_view text) {
  bool all_valid = true;
  std::string repaired;
  for (std::size_t at = 0; at < text.size();) {
    const utf8::Decoded d = utf8::decode(text, at);
    PELLUCID_CHECK(d.length >= 1 && d.length <= 4 && at + d.length <= text.size());
    std::string written;
    utf8::append(written, d.code_point);
    if (d.valid) {
      PELLUCID_CHECK(written == text.substr(at, d.length));
      PELLUCID_CHECK(d.code_point <= 0x10FFFF && (d.code_point & ~0x7FFU) != 0xD800);
    } else {
      PELLUCID_CHECK(d.code_point == U'\uFFFD');
    }
    all_valid = all_valid && d.valid;
    repaired += written;
    at += d.length;
  }
  PELLUCID_CHECK(utf8::is_valid(text) == all_valid);
  PELLUCID_CHECK(utf8::replace_invalid(text) == repaired);
}

/// A stream cut anywhere gives the same text as the whole, when incomplete ends are held back.
void check_stream(std::string_view text, std::size_t piece) {
  std::string pending;
  std::string out;
  for (std::size_t at = 0; at < text.size(); at += piece) {
    pending += text.substr(at, piece);
    const std::size_t held = utf8::incomplete_suffix(pending);
    PELLUCID_CHECK(held <= 3 && held <= pending.size());
    out += utf8::replace_invalid(std::string_view(pending).substr(0, pending.size() - held));
    pending.erase(0, pending.size() - held);
  }
  out += utf8::replace_invalid(pending);
  PELLUCID_CHECK(out == utf8::replace_invalid(text));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = as_text(data, size);
  check_decode(text);
  for (const std::size_t piece : {1, 2, 3, 5}) check_stream(text, piece);
  const std::string shown = utf8::escape_for_display(text);
  PELLUCID_CHECK(utf8::is_valid(shown));
  for (const char c : shown) PELLUCID_CHECK(static_cast<unsigned char>(c) >= 0x20 && c != 0x7F);
  return 0;
}
