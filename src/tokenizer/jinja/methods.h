#pragma once
// The methods of strings, lists, dicts and loops that templates may call. Methods that change their
// object exist by name only: the sandbox that templates are written for forbids them.

#include <cstdint>
#include <string_view>

#include "tokenizer/jinja/callable.h"
#include "tokenizer/jinja/value.h"

namespace pellucid::tokenizer::jinja {

struct MethodEntry {
  std::string_view name;
  Kind kind = Kind::kString;
  Callable callable = nullptr;  ///< null: would change the object
};

/// Number of the method name; 0 when no kind has such a method.
[[nodiscard]] std::uint32_t find_method(std::string_view name);
/// The method of that number for this object, or null.
[[nodiscard]] const MethodEntry* method_of(const Value& object, std::uint32_t number);

// String methods that filters share. `subject` is a string.
[[nodiscard]] Result<Value> strip(Runtime& runtime, const Value& subject, const Value* characters);
[[nodiscard]] Result<Value> replace(Runtime& runtime, const Value& subject, std::string_view old,
                                    std::string_view with, std::int64_t count);

// methods_string.cc
[[nodiscard]] Result<Value> string_capitalize(Runtime&, const Value&, const Arguments&);
[[nodiscard]] Result<Value> string_count(Runtime&, const Value&, const Arguments&);
[[nodiscard]] Result<Value> string_endswith(Runtime&, const Value&, const Arguments&);
[[nodiscard]] Result<Value> string_find(Runtime&, const Value&, const Arguments&);
[[nodiscard]] Result<Value> string_index(Runtime&, const Value&, const Arguments&);
[[nodiscard]] Result<Value> string_isalnum(Runtime&, const Value&, const Arguments&);
[[nodiscard]] Result<Value> string_isalpha(Runtime&, const Value&, const Arguments&);
[[nodiscard]] Result<Value> string_isdigit(Runtime&, const Value&, const Arguments&);
[[nodiscard]] Result<Value> string_isspace(Runtime&, const Value&, const Arguments&);
[[nodiscard]] Result<Value> string_lower(Runtime&, const Value&, const Arguments&);
[[nodiscard]] Result<Value> string_lstrip(Runtime&, const Value&, const Arguments&);
[[nodiscard]] Result<Value> string_removeprefix(Runtime&, const Value&, const Arguments&);
[[nodiscard]] Result<Value> string_removesuffix(Runtime&, const Value&, const Arguments&);
[[nodiscard]] Result<Value> string_replace(Runtime&, const Value&, const Arguments&);
[[nodiscard]] Result<Value> string_rfind(Runtime&, const Value&, const Arguments&);
[[nodiscard]] Result<Value> string_rstrip(Runtime&, const Value&, const Arguments&);
[[nodiscard]] Result<Value> string_startswith(Runtime&, const Value&, const Arguments&);
[[nodiscard]] Result<Value> string_strip(Runtime&, const Value&, const Arguments&);
[[nodiscard]] Result<Value> string_title(Runtime&, const Value&, const Arguments&);
[[nodiscard]] Result<Value> string_upper(Runtime&, const Value&, const Arguments&);

// methods_split.cc
[[nodiscard]] Result<Value> string_join(Runtime&, const Value&, const Arguments&);
[[nodiscard]] Result<Value> string_partition(Runtime&, const Value&, const Arguments&);
[[nodiscard]] Result<Value> string_rpartition(Runtime&, const Value&, const Arguments&);
[[nodiscard]] Result<Value> string_rsplit(Runtime&, const Value&, const Arguments&);
[[nodiscard]] Result<Value> string_split(Runtime&, const Value&, const Arguments&);
[[nodiscard]] Result<Value> string_splitlines(Runtime&, const Value&, const Arguments&);

/// Offset of the last `needle` in `text`, paid for; npos when absent.
[[nodiscard]] Result<std::size_t> find_last(Runtime& runtime, std::string_view text,
                                            std::string_view needle);
/// The text of a string argument.
[[nodiscard]] Result<std::string_view> text_argument(std::string_view callee, const Value& value);

}  // namespace pellucid::tokenizer::jinja
