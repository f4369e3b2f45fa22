#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "base/json.h"
#include "base/utf8.h"

namespace pellucid::json {
namespace {

void append_hex4(std::string& out, std::uint32_t unit) {
  constexpr std::string_view kHex = "0123456789abcdef";
  out += "\\u";
  for (int shift = 12; shift >= 0; shift -= 4) out += kHex[(unit >> shift) & 0xFU];
}

void append_escaped(std::string& out, char32_t c) {
  if (c >= 0x10000) {
    append_hex4(out, 0xD800U + ((static_cast<std::uint32_t>(c) - 0x10000U) >> 10));
    append_hex4(out, 0xDC00U + ((static_cast<std::uint32_t>(c) - 0x10000U) & 0x3FFU));
    return;
  }
  append_hex4(out, static_cast<std::uint32_t>(c));
}

void dump_string(std::string& out, std::string_view text, bool ensure_ascii) {
  out += '"';
  for (std::size_t i = 0; i < text.size();) {
    const utf8::Decoded d = utf8::decode(text, i);
    const char32_t c = d.code_point;
    switch (c) {
      case '"':
        out += "\\\"";
        break;
      case '\\':
        out += "\\\\";
        break;
      case '\n':
        out += "\\n";
        break;
      case '\r':
        out += "\\r";
        break;
      case '\t':
        out += "\\t";
        break;
      case '\b':
        out += "\\b";
        break;
      case '\f':
        out += "\\f";
        break;
      default:
        if (c < 0x20 || (ensure_ascii && c > 0x7E)) {
          append_escaped(out, c);
        } else {
          utf8::append(out, c);
        }
    }
    i += d.length;
  }
  out += '"';
}

/// Shortest digits that read back equal, in Python's repr layout: fixed for exponents -4..15.
void dump_double(std::string& out, double value) {
  if (!std::isfinite(value)) {
    out += "null";
    return;
  }
  std::array<char, 64> buffer{};
  const double magnitude = std::fabs(value);
  const bool fixed = magnitude == 0 || (magnitude >= 1e-4 && magnitude < 1e16);
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value,
                                 fixed ? std::chars_format::fixed : std::chars_format::scientific);
  const std::string_view digits(buffer.data(), static_cast<std::size_t>(end.ptr - buffer.data()));
  out += digits;
  if (digits.find_first_of(".e") == std::string_view::npos) out += ".0";
}

class Writer {
 public:
  Writer(const DumpStyle& style, std::string& out) : style_(style), out_(out) {}

  // Recursion depth equals the depth of the value, which parse() or the program bounded.
  void write(const Value& value, int level) {
    switch (value.type()) {
      case Type::kNull:
        out_ += "null";
        return;
      case Type::kBool:
        out_ += value.boolean() ? "true" : "false";
        return;
      case Type::kInt:
        out_ += std::to_string(value.integer());
        return;
      case Type::kUint:
        out_ += std::to_string(value.uinteger());
        return;
      case Type::kDouble:
        dump_double(out_, value.number());
        return;
      case Type::kString:
        dump_string(out_, value.string(), style_.ensure_ascii);
        return;
      case Type::kArray:
        write_array(value.array(), level);
        return;
      case Type::kObject:
        write_object(value.object(), level);
        return;
    }
  }

 private:
  void new_line(int level) {
    if (style_.indent < 0) return;
    out_ += '\n';
    out_.append(static_cast<std::size_t>(style_.indent * level), ' ');
  }

  void write_array(const Array& array, int level) {
    out_ += '[';
    for (std::size_t i = 0; i < array.size(); ++i) {
      if (i > 0) out_ += style_.item_separator;
      new_line(level + 1);
      write(array[i], level + 1);
    }
    if (!array.empty()) new_line(level);
    out_ += ']';
  }

  void write_object(const Object& object, int level) {
    std::vector<const Member*> members;
    members.reserve(object.size());
    for (const Member& member : object) members.push_back(&member);
    if (style_.sort_keys) {
      std::stable_sort(members.begin(), members.end(),
                       [](const Member* a, const Member* b) { return a->first < b->first; });
    }
    out_ += '{';
    for (std::size_t i = 0; i < members.size(); ++i) {
      if (i > 0) out_ += style_.item_separator;
      new_line(level + 1);
      dump_string(out_, members[i]->first, style_.ensure_ascii);
      out_ += style_.key_separator;
      write(members[i]->second, level + 1);
    }
    if (!members.empty()) new_line(level);
    out_ += '}';
  }

  const DumpStyle& style_;
  std::string& out_;
};

}  // namespace

std::string dump(const Value& value, const DumpStyle& style) {
  std::string out;
  Writer(style, out).write(value, 0);
  return out;
}

}  // namespace pellucid::json
