#include "tokenizer/jinja/failure.h"

namespace pellucid::tokenizer::jinja {

std::unexpected<Error> wrong(std::string_view object, std::string_view found,
                             std::string_view expected) {
  return fail({.kind = ErrorKind::kInvalid,
               .rule = "template_error",
               .object = std::string(object),
               .found = std::string(found),
               .expected = std::string(expected)});
}

std::unexpected<Error> too_deep(std::string_view object, std::uint64_t limit) {
  return fail({.kind = ErrorKind::kLimit,
               .rule = "template_depth",
               .object = std::string(object),
               .found = "deeper nesting",
               .expected = "at most " + std::to_string(limit) + " levels"});
}

}  // namespace pellucid::tokenizer::jinja
