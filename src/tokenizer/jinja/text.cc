#include "tokenizer/jinja/text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstring>

#include "base/utf8.h"
#include "tokenizer/jinja/unicode_tables.h"

namespace pellucid::tokenizer::jinja {
namespace {

bool contains(std::span<const CodeRange> ranges, char32_t c) {
  const auto at = std::ranges::lower_bound(ranges, c, {}, &CodeRange::last);
  return at != ranges.end() && at->first <= c;
}

/// Start of the last code point before `end`.
std::size_t previous(std::string_view text, std::size_t end) {
  std::size_t at = end - 1;
  while (at > 0 && (static_cast<unsigned char>(text[at]) & 0xC0U) == 0x80U) --at;
  return at;
}

template <class Drop>
std::string_view trim_left(std::string_view text, Drop drop) {
  while (!text.empty()) {
    const utf8::Decoded d = utf8::decode(text, 0);
    if (!drop(d.code_point)) break;
    text.remove_prefix(d.length);
  }
  return text;
}

template <class Drop>
std::string_view trim_right(std::string_view text, Drop drop) {
  while (!text.empty()) {
    const std::size_t last = previous(text, text.size());
    if (!drop(utf8::decode(text, last).code_point)) break;
    text = text.substr(0, last);
  }
  return text;
}

bool in_set(std::string_view characters, char32_t c) {
  for (std::size_t i = 0; i < characters.size();) {
    const utf8::Decoded d = utf8::decode(characters, i);
    if (d.code_point == c) return true;
    i += d.length;
  }
  return false;
}

void append_code_point(TextBuilder& out, char32_t c) {
  std::string bytes;
  utf8::append(bytes, c);
  out.append(bytes);
}

bool append_expansion(TextBuilder& out, std::span<const Expansion> table, char32_t c) {
  const auto at = std::ranges::lower_bound(table, c, {}, &Expansion::from);
  if (at == table.end() || at->from != c) return false;
  for (const char32_t to : at->to) {
    if (to != 0) append_code_point(out, to);
  }
  return true;
}

char32_t map_case(std::span<const CaseRule> rules, char32_t c) {
  const auto at = std::ranges::lower_bound(rules, c, {}, &CaseRule::last);
  if (at == rules.end() || at->first > c || (c - at->first) % at->stride != 0) return c;
  return static_cast<char32_t>(static_cast<std::int64_t>(c) + at->delta);
}

void append_upper(TextBuilder& out, char32_t c) {
  if (c < 0x80) return out.append(static_cast<char>(c >= 'a' && c <= 'z' ? c - 32 : c));
  if (append_expansion(out, upper_expansions(), c)) return;
  append_code_point(out, map_case(upper_rules(), c));
}

void append_lower(TextBuilder& out, char32_t c) {
  if (c < 0x80) return out.append(static_cast<char>(c >= 'A' && c <= 'Z' ? c + 32 : c));
  if (append_expansion(out, lower_expansions(), c)) return;
  append_code_point(out, map_case(lower_rules(), c));
}

void append_title(TextBuilder& out, char32_t c) {
  if (c >= 0x80 && append_expansion(out, title_exceptions(), c)) return;
  append_upper(out, c);
}

/// Maps runs of ASCII through `ascii` in blocks, and every other character through `other`.
template <class Ascii, class Other>
void map_text(TextBuilder& out, std::string_view text, Ascii ascii, Other other) {
  std::array<char, 1024> block;
  for (std::size_t i = 0; i < text.size();) {
    std::size_t size = 0;
    while (size < block.size() && i < text.size() && static_cast<unsigned char>(text[i]) < 0x80) {
      block[size++] = ascii(text[i++]);
    }
    out.append(std::string_view(block.data(), size));
    if (i >= text.size() || static_cast<unsigned char>(text[i]) < 0x80) continue;
    const utf8::Decoded d = utf8::decode(text, i);
    other(d.code_point);
    i += d.length;
  }
}

char ascii_upper(char c) {
  return static_cast<char>(c >= 'a' && c <= 'z' ? c - 32 : c);
}

char ascii_lower(char c) {
  return static_cast<char>(c >= 'A' && c <= 'Z' ? c + 32 : c);
}

bool is_cased(char32_t c) {
  if (c < 0x80) return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  return map_case(upper_rules(), c) != c || map_case(lower_rules(), c) != c ||
         std::ranges::binary_search(upper_expansions(), c, {}, &Expansion::from);
}

template <class Visit>
void for_each_code_point(std::string_view text, Visit visit) {
  for (std::size_t i = 0; i < text.size();) {
    const utf8::Decoded d = utf8::decode(text, i);
    visit(d.code_point);
    i += d.length;
  }
}

void append_hex(TextBuilder& out, std::string_view prefix, char32_t c, int digits) {
  constexpr std::string_view kHex = "0123456789abcdef";
  out.append(prefix);
  for (int shift = 4 * (digits - 1); shift >= 0; shift -= 4) out.append(kHex[(c >> shift) & 0xFU]);
}

void append_repr_char(TextBuilder& out, char32_t c, char quote) {
  if (c == U'\n') return out.append("\\n");
  if (c == U'\r') return out.append("\\r");
  if (c == U'\t') return out.append("\\t");
  if (c == U'\\' || c == static_cast<char32_t>(quote)) out.append('\\');
  const bool printable = c < 0x80 ? c >= 0x20 && c < 0x7F : !contains(not_printable(), c);
  if (printable) return append_code_point(out, c);
  if (c <= 0xFF) return append_hex(out, "\\x", c, 2);
  if (c <= 0xFFFF) return append_hex(out, "\\u", c, 4);
  append_hex(out, "\\U", c, 8);
}

void append_string_repr(TextBuilder& out, std::string_view text) {
  const bool single = text.find('\'') != std::string_view::npos;
  const bool twofold = text.find('"') != std::string_view::npos;
  const char quote = single && !twofold ? '"' : '\'';
  out.append(quote);
  for_each_code_point(text, [&](char32_t c) { append_repr_char(out, c, quote); });
  out.append(quote);
}

std::string_view opening(Flavor flavor) {
  switch (flavor) {
    case Flavor::kTuple:
      return "(";
    case Flavor::kDictItems:
      return "dict_items([";
    case Flavor::kDictKeys:
      return "dict_keys([";
    case Flavor::kDictValues:
      return "dict_values([";
    case Flavor::kList:
    case Flavor::kGenerator:
      return "[";
  }
  return "[";
}

std::string_view closing(const Sequence& sequence) {
  switch (sequence.flavor) {
    case Flavor::kTuple:
      return sequence.items.size() == 1 ? ",)" : ")";
    case Flavor::kDictItems:
    case Flavor::kDictKeys:
    case Flavor::kDictValues:
      return "])";
    case Flavor::kList:
    case Flavor::kGenerator:
      return "]";
  }
  return "]";
}

Result<void> append_sequence(Runtime& runtime, TextBuilder& out, const Sequence& sequence) {
  PELLUCID_TRY_VOID(runtime.steps(sequence.items.size()));
  out.append(opening(sequence.flavor));
  for (std::size_t i = 0; i < sequence.items.size(); ++i) {
    if (i > 0) out.append(", ");
    PELLUCID_TRY_VOID(append_repr(runtime, out, sequence.items[i]));
  }
  out.append(closing(sequence));
  return {};
}

Result<void> append_dict(Runtime& runtime, TextBuilder& out, const Dict& dict) {
  PELLUCID_TRY_VOID(runtime.steps(dict.entries.size()));
  out.append('{');
  for (std::size_t i = 0; i < dict.entries.size(); ++i) {
    if (i > 0) out.append(", ");
    PELLUCID_TRY_VOID(append_repr(runtime, out, dict.entries[i].first));
    out.append(": ");
    PELLUCID_TRY_VOID(append_repr(runtime, out, dict.entries[i].second));
  }
  out.append('}');
  return {};
}

void append_range(TextBuilder& out, const Range& range) {
  out.append("range(" + std::to_string(range.start) + ", " + std::to_string(range.stop));
  if (range.step != 1) out.append(", " + std::to_string(range.step));
  out.append(')');
}

}  // namespace

bool is_space(char32_t c) {
  if (c < 0x80) return (c >= 0x09 && c <= 0x0D) || (c >= 0x1C && c <= 0x20);
  return c == 0x85 || c == 0xA0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200A) || c == 0x2028 ||
         c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000;
}

bool is_alpha(char32_t c) {
  if (c < 0x80) return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  return contains(alpha(), c);
}

bool is_digit(char32_t c) {
  if (c < 0x80) return c >= '0' && c <= '9';
  return contains(digit(), c);
}

bool is_alnum(char32_t c) {
  if (c < 0x80) return is_alpha(c) || is_digit(c);
  return contains(alnum(), c);
}

std::string_view strip_left(std::string_view text) {
  return trim_left(text, is_space);
}

std::string_view strip_right(std::string_view text) {
  return trim_right(text, is_space);
}

std::string_view strip_left(std::string_view text, std::string_view characters) {
  return trim_left(text, [characters](char32_t c) { return in_set(characters, c); });
}

std::string_view strip_right(std::string_view text, std::string_view characters) {
  return trim_right(text, [characters](char32_t c) { return in_set(characters, c); });
}

std::vector<std::string_view> split_lines(std::string_view text) {
  std::vector<std::string_view> lines;
  std::size_t start = 0;
  for (std::size_t i = 0; i < text.size();) {
    const utf8::Decoded d = utf8::decode(text, i);
    const char32_t c = d.code_point;
    const bool ends = (c >= 0x0A && c <= 0x0D) || (c >= 0x1C && c <= 0x1E) || c == 0x85 ||
                      c == 0x2028 || c == 0x2029;
    std::size_t next = i + d.length;
    if (ends) {
      if (c == U'\r' && next < text.size() && text[next] == '\n') ++next;
      lines.push_back(text.substr(start, i - start));
      start = next;
    }
    i = next;
  }
  if (start < text.size()) lines.push_back(text.substr(start));
  return lines;
}

void append_upper(TextBuilder& out, std::string_view text) {
  map_text(out, text, ascii_upper, [&](char32_t c) { append_upper(out, c); });
}

void append_lower(TextBuilder& out, std::string_view text) {
  map_text(out, text, ascii_lower, [&](char32_t c) { append_lower(out, c); });
}

void append_capitalized(TextBuilder& out, std::string_view text) {
  bool first = true;
  for_each_code_point(text, [&](char32_t c) {
    first ? append_title(out, c) : append_lower(out, c);
    first = false;
  });
}

void append_title(TextBuilder& out, std::string_view text) {
  bool inside = false;
  for_each_code_point(text, [&](char32_t c) {
    inside ? append_lower(out, c) : append_title(out, c);
    inside = is_cased(c);
  });
}

std::size_t offset_of(const String& string, std::size_t index) {
  if (string.ascii()) return std::min(index, string.text.size());
  std::size_t at = 0;
  for (; index > 0 && at < string.text.size(); --index) at += utf8::decode(string.text, at).length;
  return at;
}

std::size_t find(std::string_view text, std::string_view needle, std::size_t from) {
  if (from > text.size()) return std::string_view::npos;
  // glibc's memmem is linear (two-way); std::string_view::find is not.
  const void* at = ::memmem(text.data() + from, text.size() - from, needle.data(), needle.size());
  if (at == nullptr) return std::string_view::npos;
  return static_cast<std::size_t>(static_cast<const char*>(at) - text.data());
}

std::string float_text(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  std::array<char, 64> buffer{};
  const double magnitude = std::fabs(value);
  const bool fixed = magnitude == 0 || (magnitude >= 1e-4 && magnitude < 1e16);
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value,
                                 fixed ? std::chars_format::fixed : std::chars_format::scientific);
  std::string text(buffer.data(), end.ptr);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

Result<void> append_str(Runtime& runtime, TextBuilder& out, const Value& value) {
  if (value.is_undefined()) return {};
  if (!value.is_string()) return append_repr(runtime, out, value);
  out.append(value.text());
  return {};
}

Result<void> append_repr(Runtime& runtime, TextBuilder& out, const Value& value) {
  switch (value.kind()) {
    case Kind::kUndefined:
      out.append("Undefined");
      return {};
    case Kind::kNone:
      out.append("None");
      return {};
    case Kind::kBool:
      out.append(value.boolean() ? "True" : "False");
      return {};
    case Kind::kInt:
      out.append(std::to_string(value.integer()));
      return {};
    case Kind::kUint:
      out.append(std::to_string(value.uinteger()));
      return {};
    case Kind::kFloat:
      out.append(float_text(value.number()));
      return {};
    case Kind::kString:
      PELLUCID_TRY_VOID(runtime.scan(value.text().size()));
      append_string_repr(out, value.text());
      return {};
    case Kind::kSequence:
      if (value.sequence().flavor == Flavor::kGenerator) break;
      return append_sequence(runtime, out, value.sequence());
    case Kind::kDict:
      return append_dict(runtime, out, value.dict());
    case Kind::kRange:
      append_range(out, value.range());
      return {};
    case Kind::kNamespace:
    case Kind::kLoop:
    case Kind::kMethod:
    case Kind::kMacro:
    case Kind::kFunction:
      break;
  }
  return wrong("text of a value", value.type_name(), "a string, number, list or dict");
}

Result<Value> to_string(Runtime& runtime, const Value& value) {
  if (value.is_string()) return value;
  TextBuilder out(runtime);
  PELLUCID_TRY_VOID(append_str(runtime, out, value));
  return out.finish();
}

}  // namespace pellucid::tokenizer::jinja
