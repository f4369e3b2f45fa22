#include "tokenizer/jinja/json_text.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "base/utf8.h"
#include "tokenizer/jinja/operators.h"
#include "tokenizer/jinja/text.h"

namespace pellucid::tokenizer::jinja {
namespace {

struct JsonStyle {
  bool ensure_ascii = false;
  bool sort_keys = false;
  std::optional<std::string> indent;  ///< nullopt: one line
  std::string item_separator = ", ";
  std::string key_separator = ": ";
};

std::string json_float(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value < 0 ? "-Infinity" : "Infinity";
  return float_text(value);
}

class JsonWriter {
 public:
  JsonWriter(Runtime& runtime, const JsonStyle& style)
      : runtime_(runtime), style_(style), out_(runtime) {}

  Result<Value> run(const Value& value) {
    PELLUCID_TRY_VOID(write(value, 0));
    return out_.finish();
  }

 private:
  // Recursion depth equals the depth of the value, which Runtime bounds.
  Result<void> write(const Value& value, std::uint64_t level) {
    PELLUCID_TRY_VOID(runtime_.steps(1));
    if (value.is_string()) return write_string(value.text());
    if (value.is(Kind::kDict)) return write_dict(value.dict(), level);
    if (value.is(Kind::kSequence) && value.sequence().indexable()) {
      return write_list(value.sequence().items, level);
    }
    PELLUCID_TRY(const std::string text, scalar(value));
    out_.append(text);
    return {};
  }

  static Result<std::string> scalar(const Value& value) {
    switch (value.kind()) {
      case Kind::kNone:
        return "null";
      case Kind::kBool:
        return value.boolean() ? "true" : "false";
      case Kind::kInt:
        return std::to_string(value.integer());
      case Kind::kUint:
        return std::to_string(value.uinteger());
      case Kind::kFloat:
        return json_float(value.number());
      default:
        return wrong("tojson", value.type_name(), "a string, number, bool, none, list or dict");
    }
  }

  Result<void> write_string(std::string_view text) {
    PELLUCID_TRY_VOID(runtime_.scan(text.size() * 2));
    out_.append('"');
    std::size_t plain = 0;  // start of the part that needs no escape
    for (std::size_t i = 0; i < text.size();) {
      const auto byte = static_cast<unsigned char>(text[i]);
      const bool escaped =
          byte < 0x20 || byte == '"' || byte == '\\' || (style_.ensure_ascii && byte >= 0x7F);
      if (!escaped) {
        ++i;
        continue;
      }
      out_.append(text.substr(plain, i - plain));
      const utf8::Decoded d = utf8::decode(text, i);
      write_escape(d.code_point);
      i += d.length;
      plain = i;
    }
    out_.append(text.substr(plain));
    out_.append('"');
    return {};
  }

  void write_escape(char32_t c) {
    constexpr std::string_view kCodes = "\"\\\n\r\t\f\b";
    constexpr std::string_view kLetters = "\"\\nrtfb";
    const auto at = c < 0x80 ? kCodes.find(static_cast<char>(c)) : std::string_view::npos;
    if (at != std::string_view::npos) {
      out_.append('\\');
      out_.append(kLetters[at]);
      return;
    }
    if (c < 0x10000) return write_unit(c);
    write_unit(0xD800U + ((c - 0x10000U) >> 10));
    write_unit(0xDC00U + ((c - 0x10000U) & 0x3FFU));
  }

  void write_unit(char32_t unit) {
    constexpr std::string_view kHex = "0123456789abcdef";
    out_.append("\\u");
    for (int shift = 12; shift >= 0; shift -= 4) out_.append(kHex[(unit >> shift) & 0xFU]);
  }

  void new_line(std::uint64_t level) {
    if (!style_.indent) return;
    out_.append('\n');
    if (!style_.indent->empty()) out_.repeat(*style_.indent, level);
  }

  Result<void> write_list(const std::vector<Value>& items, std::uint64_t level) {
    if (items.empty()) {
      out_.append("[]");
      return {};
    }
    out_.append('[');
    for (std::size_t i = 0; i < items.size(); ++i) {
      if (i > 0) out_.append(style_.item_separator);
      new_line(level + 1);
      PELLUCID_TRY_VOID(write(items[i], level + 1));
    }
    new_line(level);
    out_.append(']');
    return {};
  }

  Result<void> write_dict(const Dict& dict, std::uint64_t level) {
    if (dict.entries.empty()) {
      out_.append("{}");
      return {};
    }
    PELLUCID_TRY(const auto order, member_order(dict));
    out_.append('{');
    for (std::size_t i = 0; i < order.size(); ++i) {
      if (i > 0) out_.append(style_.item_separator);
      new_line(level + 1);
      PELLUCID_TRY_VOID(write_key(order[i]->first));
      out_.append(style_.key_separator);
      PELLUCID_TRY_VOID(write(order[i]->second, level + 1));
    }
    new_line(level);
    out_.append('}');
    return {};
  }

  Result<std::vector<const Entry*>> member_order(const Dict& dict) {
    PELLUCID_TRY_VOID(runtime_.steps(dict.entries.size()));
    std::vector<const Entry*> order;
    order.reserve(dict.entries.size());
    for (const Entry& entry : dict.entries) order.push_back(&entry);
    if (!style_.sort_keys) return order;
    for (const Entry* entry : order) {
      if (entry->first.kind() == order.front()->first.kind()) continue;
      return wrong("tojson", "keys of several types", "keys that can be sorted");
    }
    PELLUCID_TRY_VOID(runtime_.steps(order.size() * 16));
    const auto before = [](const Entry* a, const Entry* b) {
      if (a->first.is_string()) return a->first.text() < b->first.text();
      return a->first.number() < b->first.number();
    };
    std::ranges::stable_sort(order, before);
    return order;
  }

  Result<void> write_key(const Value& key) {
    if (key.is_string()) return write_string(key.text());
    PELLUCID_TRY(const std::string text, scalar(key));
    return write_string(text);
  }

  Runtime& runtime_;
  const JsonStyle& style_;
  TextBuilder out_;
};

Result<void> set_separators(JsonStyle& style, const Value& separators) {
  if (separators.is(Kind::kNone)) return {};
  const bool two = separators.is(Kind::kSequence) && separators.sequence().items.size() == 2;
  if (!two) return wrong("tojson", separators.type_name(), "two separators");
  const auto& items = separators.sequence().items;
  if (!items[0].is_string() || !items[1].is_string()) {
    return wrong("tojson", "separators that are not text", "two strings");
  }
  style.item_separator = std::string(items[0].text());
  style.key_separator = std::string(items[1].text());
  return {};
}

Result<void> set_indent(JsonStyle& style, const Value& indent) {
  if (indent.is(Kind::kNone)) return {};
  style.item_separator = ",";
  if (indent.is_string()) {
    style.indent = std::string(indent.text());
    return {};
  }
  if (!indent.is_integral()) return wrong("tojson", indent.type_name(), "an int or str as indent");
  constexpr std::int64_t kIndentMax = 1000;
  if (indent.integer() > kIndentMax) {
    return wrong("tojson", "indent " + std::to_string(indent.integer()), "at most 1000");
  }
  const std::int64_t width = std::max<std::int64_t>(indent.integer(), 0);
  style.indent = std::string(static_cast<std::size_t>(width), ' ');
  return {};
}

}  // namespace

Result<Value> filter_tojson(Runtime& runtime, const Value& subject, const Arguments& arguments) {
  PELLUCID_TRY(const auto bound,
               bind("tojson", arguments, {"ensure_ascii", "indent", "separators", "sort_keys"}));
  JsonStyle style;
  style.ensure_ascii = bound[0] != nullptr && bound[0]->truth();
  if (bound[1] != nullptr) PELLUCID_TRY_VOID(set_indent(style, *bound[1]));
  if (bound[2] != nullptr) PELLUCID_TRY_VOID(set_separators(style, *bound[2]));
  style.sort_keys = bound[3] != nullptr && bound[3]->truth();
  return JsonWriter(runtime, style).run(subject);
}

}  // namespace pellucid::tokenizer::jinja
