#pragma once
// What a call of a filter, a test or a method looks like.

#include <array>
#include <initializer_list>
#include <string_view>
#include <utility>
#include <vector>

#include "tokenizer/jinja/failure.h"
#include "tokenizer/jinja/value.h"

namespace pellucid::tokenizer::jinja {

struct Arguments {
  std::vector<Value> positional;
  std::vector<std::pair<std::string_view, Value>> keywords;
};

/// The arguments in the order of the parameters; null where the call gave none.
using BoundArguments = std::array<const Value*, 6>;

/// Error when an argument is unknown, given twice, or one of the first `required` is absent.
[[nodiscard]] Result<BoundArguments> bind(std::string_view callee, const Arguments& arguments,
                                          std::initializer_list<std::string_view> parameters,
                                          std::size_t required = 0);

/// A filter or a method: `subject` is the piped value or the object before the dot.
using Callable = Result<Value> (*)(Runtime&, const Value& subject, const Arguments&);
/// A test, the name after `is`.
using Predicate = Result<bool> (*)(Runtime&, const Value& subject, const Arguments&);

struct BoundMethod : Object {
  Value self;
  Callable callable = nullptr;
};

}  // namespace pellucid::tokenizer::jinja
