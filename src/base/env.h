#pragma once
// The environment as data: read once, at the top of the program, and handed down. Nothing else in
// the program asks for a variable, so a test passes its own and a run can be repeated.

#include <string>
#include <vector>

namespace pellucid {

struct EnvVariable {
  std::string name;
  std::string value;
};

/// The variables of this process, in the order in which the system keeps them.
[[nodiscard]] std::vector<EnvVariable> process_environment();

}  // namespace pellucid
