#include "base/utf8.h"
#include "tokenizer/jinja/attributes.h"
#include "tokenizer/jinja/filters.h"
#include "tokenizer/jinja/methods.h"
#include "tokenizer/jinja/operators.h"
#include "tokenizer/jinja/text.h"

namespace pellucid::tokenizer::jinja {
namespace {

/// A filter that converts its subject to a string and then does what the method does.
Result<Value> as_method(Runtime& runtime, const Value& subject, const Arguments& arguments,
                        Callable method) {
  PELLUCID_TRY(const Value text, to_string(runtime, subject));
  return method(runtime, text, arguments);
}

bool separates_words(char32_t c) {
  return c == U'-' || c == U'(' || c == U'{' || c == U'[' || c == U'<' || is_space(c);
}

Result<std::string> indention(const Value* width) {
  constexpr std::int64_t kWidthMax = 1000;
  if (width == nullptr) return std::string(4, ' ');
  if (width->is_string()) return std::string(width->text());
  if (!width->is_integral()) return wrong("indent", width->type_name(), "an int or str as width");
  if (width->integer() > kWidthMax) {
    return wrong("indent", "width " + std::to_string(width->integer()), "at most 1000");
  }
  return std::string(static_cast<std::size_t>(std::max<std::int64_t>(width->integer(), 0)), ' ');
}

}  // namespace

Result<Value> filter_capitalize(Runtime& runtime, const Value& subject,
                                const Arguments& arguments) {
  return as_method(runtime, subject, arguments, string_capitalize);
}

Result<Value> filter_lower(Runtime& runtime, const Value& subject, const Arguments& arguments) {
  return as_method(runtime, subject, arguments, string_lower);
}

Result<Value> filter_upper(Runtime& runtime, const Value& subject, const Arguments& arguments) {
  return as_method(runtime, subject, arguments, string_upper);
}

Result<Value> filter_trim(Runtime& runtime, const Value& subject, const Arguments& arguments) {
  return as_method(runtime, subject, arguments, string_strip);
}

/// Unlike str.title, only white space, a hyphen and opening brackets start a word.
Result<Value> filter_title(Runtime& runtime, const Value& subject, const Arguments& arguments) {
  PELLUCID_TRY_VOID(bind("title", arguments, {}));
  PELLUCID_TRY(const Value string, to_string(runtime, subject));
  const std::string_view text = string.text();
  PELLUCID_TRY_VOID(runtime.scan(text.size() * 4));
  TextBuilder out(runtime);
  bool starts = true;
  for (std::size_t i = 0; i < text.size();) {
    const utf8::Decoded d = utf8::decode(text, i);
    const std::string_view character = text.substr(i, d.length);
    starts ? append_upper(out, character) : append_lower(out, character);
    starts = separates_words(d.code_point);
    i += d.length;
  }
  return out.finish();
}

Result<Value> filter_string(Runtime& runtime, const Value& subject, const Arguments& arguments) {
  PELLUCID_TRY_VOID(bind("string", arguments, {}));
  return to_string(runtime, subject);
}

/// Nothing is escaped, so there is nothing to mark as safe.
Result<Value> filter_safe(Runtime& runtime, const Value& subject, const Arguments& arguments) {
  return filter_string(runtime, subject, arguments);
}

Result<Value> filter_replace(Runtime& runtime, const Value& subject, const Arguments& arguments) {
  PELLUCID_TRY(const auto bound, bind("replace", arguments, {"old", "new", "count"}, 2));
  PELLUCID_TRY(const Value text, to_string(runtime, subject));
  PELLUCID_TRY(const Value old, to_string(runtime, *bound[0]));
  PELLUCID_TRY(const Value with, to_string(runtime, *bound[1]));
  std::int64_t count = -1;
  if (bound[2] != nullptr && !bound[2]->is(Kind::kNone)) {
    if (!bound[2]->is_integral()) return wrong("replace", bound[2]->type_name(), "an int as count");
    count = bound[2]->integer();
  }
  return replace(runtime, text, old.text(), with.text(), count);
}

Result<Value> filter_join(Runtime& runtime, const Value& subject, const Arguments& arguments) {
  PELLUCID_TRY(const auto bound, bind("join", arguments, {"d", "attribute"}));
  Value separator;
  if (bound[0] != nullptr) {
    PELLUCID_TRY(separator, to_string(runtime, *bound[0]));
  }
  const bool by_attribute = bound[1] != nullptr && !bound[1]->is(Kind::kNone);
  PELLUCID_TRY(const Items items, iterate(runtime, subject));
  PELLUCID_TRY_VOID(runtime.steps(items.count));
  TextBuilder out(runtime);
  for (std::size_t i = 0; i < items.count; ++i) {
    if (i > 0 && separator.is_string()) out.append(separator.text());
    Value item = items.at(i);
    if (by_attribute) {
      PELLUCID_TRY(item, attribute_path(runtime, item, *bound[1]));
    }
    PELLUCID_TRY_VOID(append_str(runtime, out, item));
  }
  return out.finish();
}

Result<Value> filter_indent(Runtime& runtime, const Value& subject, const Arguments& arguments) {
  PELLUCID_TRY(const auto bound, bind("indent", arguments, {"width", "first", "blank"}));
  PELLUCID_TRY(const std::string prefix, indention(bound[0]));
  PELLUCID_TRY(const std::string_view text, text_argument("indent", subject));
  const bool first = bound[1] != nullptr && bound[1]->truth();
  const bool blank = bound[2] != nullptr && bound[2]->truth();
  PELLUCID_TRY_VOID(runtime.scan(text.size() * 4));
  const auto lines = split_lines(text);
  TextBuilder out(runtime);
  if (first) out.append(prefix);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (i > 0) out.append('\n');
    if (i > 0 && (blank || !lines[i].empty())) out.append(prefix);
    out.append(lines[i]);
  }
  // Jinja splits the text with one more newline at its end: a last line that is empty counts.
  const bool open_end = !text.empty() && (lines.empty() || lines.back().end() != text.end());
  if (open_end) {
    out.append('\n');
    if (blank) out.append(prefix);
  }
  return out.finish();
}

}  // namespace pellucid::tokenizer::jinja
