#pragma once
// The tests of the language: the names after `is`.

#include <string>
#include <string_view>

#include "tokenizer/jinja/ast.h"

namespace pellucid::tokenizer::jinja {

/// Null when there is no such test.
[[nodiscard]] const Test* find_test(std::string_view name);
/// The names of all tests, for error messages.
[[nodiscard]] std::string test_names();

}  // namespace pellucid::tokenizer::jinja
