#pragma once
// Progress of long work, for a person at a terminal: one line that redraws itself. When the stream
// is not a terminal nothing is written until the work ends, so that logs stay clean. Not
// thread-safe: one owner.

#include <chrono>
#include <cstdint>
#include <string>

namespace pellucid::observe {

class Progress {
 public:
  enum class Unit { kBytes, kCount };

  /// `label`: what is being done ("reading weights"). Draws on stderr when `enabled` and stderr is
  /// a terminal.
  Progress(std::string label, Unit unit, bool enabled = true);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// Redraws at most ten times a second.
  void update(std::uint64_t done, std::uint64_t total);
  /// Removes the line.
  void finish();

 private:
  std::string label_;
  Unit unit_;
  bool on_;
  bool drawn_ = false;
  std::chrono::steady_clock::time_point start_;
  std::chrono::steady_clock::time_point last_draw_;
};

/// "1.5 GiB", "812 B": binary units, three digits.
[[nodiscard]] std::string human_bytes(std::uint64_t bytes);
/// "753.3 B", "17.3 M": decimal units, for counts of parameters.
[[nodiscard]] std::string human_count(std::uint64_t count);

}  // namespace pellucid::observe
