#pragma once
// strftime_now: the time of the request as text, in UTC and English.

#include "tokenizer/jinja/callable.h"
#include "tokenizer/jinja/runtime.h"

namespace pellucid::tokenizer::jinja {

/// Python's datetime.strftime for the directives that do not depend on a locale; others are errors.
[[nodiscard]] Result<Value> strftime_now(Runtime& runtime, const Arguments& arguments);

}  // namespace pellucid::tokenizer::jinja
