#pragma once
// What a terminal needs: whether there is one, styles only then, text that cannot drive it, Ctrl-C.

#include <atomic>
#include <string>
#include <string_view>

namespace pellucid::cli {

[[nodiscard]] bool stdout_is_terminal();
[[nodiscard]] bool stderr_is_terminal();
[[nodiscard]] bool stdin_is_terminal();
/// Columns of the terminal on stdout, at least 60; 100 when there is none.
[[nodiscard]] std::size_t terminal_width();

/// Text of a model or file for display: newline and tab stay, other control characters and invalid
/// bytes become visible escapes.
[[nodiscard]] std::string terminal_safe(std::string_view text);

/// Writes to stdout and flushes. What could not be written is remembered: see output_lost().
void write_out(std::string_view text);
/// Whether some output never reached stdout (a full disk, a closed pipe).
[[nodiscard]] bool output_lost();
/// Writes to stderr. Where even that fails there is nobody left to tell.
void write_err(std::string_view text);

/// While alive, Ctrl-C sets the flag instead of ending the program. One at a time.
class InterruptGuard {
 public:
  InterruptGuard();
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;

  [[nodiscard]] const std::atomic<bool>& flag() const;
  /// Whether Ctrl-C came since the last call.
  [[nodiscard]] bool take();
};

}  // namespace pellucid::cli
