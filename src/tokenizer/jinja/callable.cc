#include "tokenizer/jinja/callable.h"

#include <algorithm>
#include <string>

namespace pellucid::tokenizer::jinja {

Result<BoundArguments> bind(std::string_view callee, const Arguments& arguments,
                            std::initializer_list<std::string_view> parameters,
                            std::size_t required) {
  BoundArguments bound{};
  if (arguments.positional.size() > parameters.size()) {
    return wrong(callee, std::to_string(arguments.positional.size()) + " arguments",
                 "at most " + std::to_string(parameters.size()));
  }
  for (std::size_t i = 0; i < arguments.positional.size(); ++i) {
    bound[i] = &arguments.positional[i];
  }
  for (const auto& [name, value] : arguments.keywords) {
    const auto* at = std::find(parameters.begin(), parameters.end(), name);
    if (at == parameters.end()) {
      return wrong(callee, "argument '" + std::string(name) + "'", "a known argument");
    }
    const Value*& slot = bound[static_cast<std::size_t>(at - parameters.begin())];
    if (slot != nullptr) {
      return wrong(callee, "argument '" + std::string(name) + "' twice", "one value");
    }
    slot = &value;
  }
  for (std::size_t i = 0; i < required; ++i) {
    if (bound[i] != nullptr) continue;
    return wrong(callee, "no argument '" + std::string(parameters.begin()[i]) + "'", "a value");
  }
  return bound;
}

}  // namespace pellucid::tokenizer::jinja
