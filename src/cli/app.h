#pragma once
// The door from main(): parses argv, runs the verb, prints its error, returns the exit status.

namespace pellucid::cli {

[[nodiscard]] int run_cli(int argc, const char* const* argv);

}  // namespace pellucid::cli
