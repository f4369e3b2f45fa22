#pragma once
// Python's view of text: white space, case, str() and repr(). All input is valid UTF-8.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "tokenizer/jinja/failure.h"
#include "tokenizer/jinja/runtime.h"
#include "tokenizer/jinja/value.h"

namespace pellucid::tokenizer::jinja {

/// str.isspace of one character, which is also what \s matches.
[[nodiscard]] bool is_space(char32_t c);
[[nodiscard]] bool is_alpha(char32_t c);
[[nodiscard]] bool is_digit(char32_t c);
[[nodiscard]] bool is_alnum(char32_t c);

[[nodiscard]] std::string_view strip_left(std::string_view text);
[[nodiscard]] std::string_view strip_right(std::string_view text);
/// The same for a set of characters.
[[nodiscard]] std::string_view strip_left(std::string_view text, std::string_view characters);
[[nodiscard]] std::string_view strip_right(std::string_view text, std::string_view characters);

/// str.splitlines.
[[nodiscard]] std::vector<std::string_view> split_lines(std::string_view text);

void append_upper(TextBuilder& out, std::string_view text);
void append_lower(TextBuilder& out, std::string_view text);
/// str.capitalize: the first character in title case, the others in lower case.
void append_capitalized(TextBuilder& out, std::string_view text);
/// str.title: every run of letters capitalized.
void append_title(TextBuilder& out, std::string_view text);

/// Byte offset of the code point with that index; text.size() at the end.
[[nodiscard]] std::size_t offset_of(const String& string, std::size_t index);

/// Offset of the first `needle`, in linear time; npos when absent.
[[nodiscard]] std::size_t find(std::string_view text, std::string_view needle,
                               std::size_t from = 0);

/// repr(float): shortest digits that read back equal; inf, nan.
[[nodiscard]] std::string float_text(double value);

/// str(value). Errors: a value without a text form (generator, namespace, function, ...).
[[nodiscard]] Result<void> append_str(Runtime& runtime, TextBuilder& out, const Value& value);
[[nodiscard]] Result<void> append_repr(Runtime& runtime, TextBuilder& out, const Value& value);
/// The same as a string value; a string is returned as it is.
[[nodiscard]] Result<Value> to_string(Runtime& runtime, const Value& value);

}  // namespace pellucid::tokenizer::jinja
