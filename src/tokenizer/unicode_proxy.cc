#include "tokenizer/unicode_proxy.h"

#include <algorithm>
#include <cstddef>

#include "base/check.h"
#include "base/utf8.h"
#include "tokenizer/unicode_proxy_table.h"

namespace pellucid::tokenizer {
namespace {

/// The row that holds `c`, or null.
const UnicodeProxy* proxy_of(char32_t c) {
  const auto* row = std::ranges::lower_bound(kUnicodeProxies, c, {}, &UnicodeProxy::last);
  if (row == kUnicodeProxies.end() || c < row->first) return nullptr;
  return row;
}

}  // namespace

std::optional<std::string> unicode_proxy(std::string_view text) {
  // All rows are at or above U+0800: three bytes, the first from 0xE0.
  static_assert(kUnicodeProxies.front().first >= 0x800);
  std::optional<std::string> out;
  for (std::size_t i = 0; i < text.size();) {
    if (static_cast<unsigned char>(text[i]) < 0xE0) {
      ++i;
      continue;
    }
    const utf8::Decoded c = utf8::decode(text, i);
    if (const UnicodeProxy* row = proxy_of(c.code_point)) {
      if (!out) out = std::string(text);
      std::string bytes;
      utf8::append(bytes, row->proxy);
      PELLUCID_CHECK(bytes.size() == c.length);
      out->replace(i, bytes.size(), bytes);
    }
    i += c.length;
  }
  return out;
}

}  // namespace pellucid::tokenizer
