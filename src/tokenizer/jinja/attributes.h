#pragma once
// Attribute, item and slice access: x.name, x[index], x[start:stop:step].

#include "tokenizer/jinja/ast.h"
#include "tokenizer/jinja/runtime.h"

namespace pellucid::tokenizer::jinja {

/// x.name: a method or attribute of the object, else its item; undefined when neither exists.
/// Errors: x itself is undefined.
[[nodiscard]] Result<Value> attribute(Runtime& runtime, const Value& object, const Name& name);
/// x[index]: an item of the object, else its attribute.
[[nodiscard]] Result<Value> item(Runtime& runtime, const Value& object, const Value& index);
/// Absent limits are null or none. Errors: step 0, limits that are not integers.
[[nodiscard]] Result<Value> slice(Runtime& runtime, const Value& object, const Value* start,
                                  const Value* stop, const Value* step);
/// The path of the attribute filters: "function.name", "0", or an integer.
[[nodiscard]] Result<Value> attribute_path(Runtime& runtime, const Value& object,
                                           const Value& path);

}  // namespace pellucid::tokenizer::jinja
