// Methods of strings that give a string, number or truth value.
#include <algorithm>

#include "base/utf8.h"
#include "tokenizer/jinja/methods.h"
#include "tokenizer/jinja/operators.h"
#include "tokenizer/jinja/text.h"

namespace pellucid::tokenizer::jinja {
namespace {

std::int64_t code_points_before(std::string_view text, std::size_t offset) {
  return std::count_if(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(offset),
                       [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; });
}

template <class Append>
Result<Value> convert(Runtime& runtime, std::string_view callee, const Value& self,
                      const Arguments& arguments, Append append) {
  PELLUCID_TRY_VOID(bind(callee, arguments, {}));
  // Case conversion reads character by character: four times the cost of a plain scan.
  PELLUCID_TRY_VOID(runtime.scan(self.text().size() * 4));
  TextBuilder out(runtime);
  append(out, self.text());
  return out.finish();
}

/// True when the text is not empty and every character is of the class.
template <class Test>
Result<Value> every(Runtime& runtime, std::string_view callee, const Value& self,
                    const Arguments& arguments, Test test) {
  PELLUCID_TRY_VOID(bind(callee, arguments, {}));
  const std::string_view text = self.text();
  PELLUCID_TRY_VOID(runtime.scan(text.size() * 4));
  for (std::size_t i = 0; i < text.size();) {
    const utf8::Decoded d = utf8::decode(text, i);
    if (!test(d.code_point)) return Value::boolean(false);
    i += d.length;
  }
  return Value::boolean(!text.empty());
}

/// The whole string again when nothing was cut.
Result<Value> part_of(Runtime& runtime, const Value& self, std::string_view part) {
  if (part.size() == self.text().size()) return self;
  return runtime.string(part);
}

Result<Value> strip_sides(Runtime& runtime, const Value& self, const Value* characters, bool left,
                          bool right) {
  std::string_view text = self.text();
  if (characters == nullptr || characters->is(Kind::kNone)) {
    PELLUCID_TRY_VOID(runtime.scan(text.size()));
    if (left) text = strip_left(text);
    if (right) text = strip_right(text);
    return part_of(runtime, self, text);
  }
  PELLUCID_TRY(const std::string_view set, text_argument("strip", *characters));
  PELLUCID_TRY_VOID(runtime.scan(text.size() * (set.size() + 1)));
  if (left) text = strip_left(text, set);
  if (right) text = strip_right(text, set);
  return part_of(runtime, self, text);
}

/// startswith and endswith: the argument is a string or a tuple of them.
template <class Matches>
Result<Value> matches_any(Runtime& runtime, std::string_view callee, const Arguments& arguments,
                          Matches matches) {
  PELLUCID_TRY(const auto bound, bind(callee, arguments, {"prefix"}, 1));
  const Value& affix = *bound[0];
  if (!affix.is(Kind::kSequence) || affix.sequence().flavor != Flavor::kTuple) {
    PELLUCID_TRY(const std::string_view text, text_argument(callee, affix));
    PELLUCID_TRY_VOID(runtime.scan(text.size()));
    return Value::boolean(matches(text));
  }
  for (const Value& item : affix.sequence().items) {
    PELLUCID_TRY(const std::string_view text, text_argument(callee, item));
    PELLUCID_TRY_VOID(runtime.scan(text.size()));
    if (matches(text)) return Value::boolean(true);
  }
  return Value::boolean(false);
}

Result<std::int64_t> find_index(Runtime& runtime, std::string_view callee, const Value& self,
                                const Arguments& arguments) {
  PELLUCID_TRY(const auto bound, bind(callee, arguments, {"sub"}, 1));
  PELLUCID_TRY(const std::string_view needle, text_argument(callee, *bound[0]));
  PELLUCID_TRY_VOID(runtime.scan(self.text().size() + needle.size()));
  const std::size_t at = find(self.text(), needle);
  return at == std::string_view::npos ? -1 : code_points_before(self.text(), at);
}

}  // namespace

Result<std::string_view> text_argument(std::string_view callee, const Value& value) {
  if (!value.is_string()) return wrong(callee, value.type_name(), "a str");
  return value.text();
}

Result<std::size_t> find_last(Runtime& runtime, std::string_view text, std::string_view needle) {
  // rfind compares at every place: at worst text times needle bytes.
  PELLUCID_TRY_VOID(runtime.scan(text.size() + text.size() / 8 * needle.size()));
  return text.rfind(needle);
}

Result<Value> strip(Runtime& runtime, const Value& subject, const Value* characters) {
  return strip_sides(runtime, subject, characters, true, true);
}

Result<Value> replace(Runtime& runtime, const Value& subject, std::string_view old,
                      std::string_view with, std::int64_t count) {
  const std::string_view text = subject.text();
  PELLUCID_TRY_VOID(runtime.scan(text.size() + old.size()));
  TextBuilder out(runtime);
  std::size_t at = 0;
  for (; count != 0; --count) {
    const std::size_t found = find(text, old, at);
    if (found == std::string_view::npos) break;
    PELLUCID_TRY_VOID(runtime.steps(1));
    out.append(text.substr(at, found - at));
    out.append(with);
    at = found + old.size();
    if (!old.empty()) continue;
    if (at >= text.size()) break;
    const std::size_t length = utf8::decode(text, at).length;
    out.append(text.substr(at, length));
    at += length;
  }
  out.append(text.substr(at));
  return out.finish();
}

Result<Value> string_capitalize(Runtime& runtime, const Value& self, const Arguments& arguments) {
  return convert(runtime, "capitalize", self, arguments, append_capitalized);
}

Result<Value> string_lower(Runtime& runtime, const Value& self, const Arguments& arguments) {
  return convert(runtime, "lower", self, arguments,
                 [](TextBuilder& out, std::string_view text) { append_lower(out, text); });
}

Result<Value> string_title(Runtime& runtime, const Value& self, const Arguments& arguments) {
  return convert(runtime, "title", self, arguments,
                 [](TextBuilder& out, std::string_view text) { append_title(out, text); });
}

Result<Value> string_upper(Runtime& runtime, const Value& self, const Arguments& arguments) {
  return convert(runtime, "upper", self, arguments,
                 [](TextBuilder& out, std::string_view text) { append_upper(out, text); });
}

Result<Value> string_isalnum(Runtime& runtime, const Value& self, const Arguments& arguments) {
  return every(runtime, "isalnum", self, arguments, is_alnum);
}

Result<Value> string_isalpha(Runtime& runtime, const Value& self, const Arguments& arguments) {
  return every(runtime, "isalpha", self, arguments, is_alpha);
}

Result<Value> string_isdigit(Runtime& runtime, const Value& self, const Arguments& arguments) {
  return every(runtime, "isdigit", self, arguments, is_digit);
}

Result<Value> string_isspace(Runtime& runtime, const Value& self, const Arguments& arguments) {
  return every(runtime, "isspace", self, arguments, is_space);
}

Result<Value> string_count(Runtime& runtime, const Value& self, const Arguments& arguments) {
  PELLUCID_TRY(const auto bound, bind("count", arguments, {"sub"}, 1));
  PELLUCID_TRY(const std::string_view needle, text_argument("count", *bound[0]));
  const std::string_view text = self.text();
  PELLUCID_TRY_VOID(runtime.scan(text.size() + needle.size()));
  if (needle.empty()) return Value::integer(static_cast<std::int64_t>(self.string().length) + 1);
  std::int64_t count = 0;
  for (std::size_t at = find(text, needle); at != std::string_view::npos;
       at = find(text, needle, at + needle.size())) {
    PELLUCID_TRY_VOID(runtime.steps(1));
    ++count;
  }
  return Value::integer(count);
}

Result<Value> string_startswith(Runtime& runtime, const Value& self, const Arguments& arguments) {
  return matches_any(runtime, "startswith", arguments,
                     [&](std::string_view prefix) { return self.text().starts_with(prefix); });
}

Result<Value> string_endswith(Runtime& runtime, const Value& self, const Arguments& arguments) {
  return matches_any(runtime, "endswith", arguments,
                     [&](std::string_view suffix) { return self.text().ends_with(suffix); });
}

Result<Value> string_find(Runtime& runtime, const Value& self, const Arguments& arguments) {
  PELLUCID_TRY(const std::int64_t index, find_index(runtime, "find", self, arguments));
  return Value::integer(index);
}

Result<Value> string_index(Runtime& runtime, const Value& self, const Arguments& arguments) {
  PELLUCID_TRY(const std::int64_t index, find_index(runtime, "index", self, arguments));
  if (index < 0) return wrong("index", "no such substring", "a part of the string");
  return Value::integer(index);
}

Result<Value> string_rfind(Runtime& runtime, const Value& self, const Arguments& arguments) {
  PELLUCID_TRY(const auto bound, bind("rfind", arguments, {"sub"}, 1));
  PELLUCID_TRY(const std::string_view needle, text_argument("rfind", *bound[0]));
  PELLUCID_TRY(const std::size_t at, find_last(runtime, self.text(), needle));
  if (at == std::string_view::npos) return Value::integer(-1);
  return Value::integer(code_points_before(self.text(), at));
}

Result<Value> string_strip(Runtime& runtime, const Value& self, const Arguments& arguments) {
  PELLUCID_TRY(const auto bound, bind("strip", arguments, {"chars"}));
  return strip_sides(runtime, self, bound[0], true, true);
}

Result<Value> string_lstrip(Runtime& runtime, const Value& self, const Arguments& arguments) {
  PELLUCID_TRY(const auto bound, bind("lstrip", arguments, {"chars"}));
  return strip_sides(runtime, self, bound[0], true, false);
}

Result<Value> string_rstrip(Runtime& runtime, const Value& self, const Arguments& arguments) {
  PELLUCID_TRY(const auto bound, bind("rstrip", arguments, {"chars"}));
  return strip_sides(runtime, self, bound[0], false, true);
}

Result<Value> string_removeprefix(Runtime& runtime, const Value& self, const Arguments& arguments) {
  PELLUCID_TRY(const auto bound, bind("removeprefix", arguments, {"prefix"}, 1));
  PELLUCID_TRY(const std::string_view prefix, text_argument("removeprefix", *bound[0]));
  PELLUCID_TRY_VOID(runtime.scan(prefix.size()));
  if (!self.text().starts_with(prefix)) return self;
  return part_of(runtime, self, self.text().substr(prefix.size()));
}

Result<Value> string_removesuffix(Runtime& runtime, const Value& self, const Arguments& arguments) {
  PELLUCID_TRY(const auto bound, bind("removesuffix", arguments, {"suffix"}, 1));
  PELLUCID_TRY(const std::string_view suffix, text_argument("removesuffix", *bound[0]));
  PELLUCID_TRY_VOID(runtime.scan(suffix.size()));
  if (!self.text().ends_with(suffix)) return self;
  return part_of(runtime, self, self.text().substr(0, self.text().size() - suffix.size()));
}

Result<Value> string_replace(Runtime& runtime, const Value& self, const Arguments& arguments) {
  PELLUCID_TRY(const auto bound, bind("replace", arguments, {"old", "new", "count"}, 2));
  PELLUCID_TRY(const std::string_view old, text_argument("replace", *bound[0]));
  PELLUCID_TRY(const std::string_view with, text_argument("replace", *bound[1]));
  if (bound[2] != nullptr && !bound[2]->is_integral()) {
    return wrong("replace", bound[2]->type_name(), "an int as count");
  }
  return replace(runtime, self, old, with, bound[2] == nullptr ? -1 : bound[2]->integer());
}

}  // namespace pellucid::tokenizer::jinja
