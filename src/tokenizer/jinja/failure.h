#pragma once
// Errors inside the interpreter. An expression returns Result<Value> millions of times per second,
// so the error is one pointer wide; it converts to and from base's Error.

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "base/error.h"

namespace pellucid::tokenizer::jinja {

class Failure {
 public:
  Failure(Error error) : error_(std::make_unique<Error>(std::move(error))) {}
  operator Error() && { return std::move(*error_); }
  [[nodiscard]] Error& error() { return *error_; }

 private:
  std::unique_ptr<Error> error_;
};

template <class T>
using Result = std::expected<T, Failure>;

/// A failure of rule "template_error": `object` was `found` where `expected` is needed.
[[nodiscard]] std::unexpected<Error> wrong(std::string_view object, std::string_view found,
                                           std::string_view expected);
/// A failure of rule "template_depth".
[[nodiscard]] std::unexpected<Error> too_deep(std::string_view object, std::uint64_t limit);

}  // namespace pellucid::tokenizer::jinja
