#include "base/env.h"

#include <unistd.h>

#include <string_view>

namespace pellucid {

std::vector<EnvVariable> process_environment() {
  std::vector<EnvVariable> variables;
  if (environ == nullptr) return variables;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const std::size_t equals = text.find('=');
    if (equals == std::string_view::npos) continue;
    variables.push_back(
        {std::string(text.substr(0, equals)), std::string(text.substr(equals + 1))});
  }
  return variables;
}

}  // namespace pellucid
