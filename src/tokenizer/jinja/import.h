#pragma once
// What a render starts from: the variables of the caller, the global functions, the literals.

#include <vector>

#include "base/json.h"
#include "tokenizer/jinja/ast.h"
#include "tokenizer/jinja/runtime.h"

namespace pellucid::tokenizer::jinja {

/// A JSON value as a template value. Errors: invalid UTF-8, nesting beyond the limit.
[[nodiscard]] Result<Value> from_json(Runtime& runtime, const json::Value& value);

/// One value per name of the program: that of `variables` (an object), else of `tokens`, else the
/// global function of that name, else undefined.
[[nodiscard]] Result<std::vector<Value>> globals(Runtime& runtime, const Program& program,
                                                 const json::Value& variables,
                                                 const json::Object& tokens);

/// One value per literal of the program.
[[nodiscard]] Result<std::vector<Value>> literals(Runtime& runtime, const Program& program);

}  // namespace pellucid::tokenizer::jinja
