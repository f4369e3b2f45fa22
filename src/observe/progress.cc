#include "observe/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <span>
#include <string_view>
#include <utility>

namespace pellucid::observe {
namespace {

using Clock = std::chrono::steady_clock;

std::string with_unit(double value, double step, std::span<const std::string_view> units) {
  std::size_t i = 0;
  while (value >= step && i + 1 < units.size()) {
    value /= step;
    ++i;
  }
  if (i == 0) return fmt::format("{:.0f}{}{}", value, units[0].empty() ? "" : " ", units[0]);
  return fmt::format("{:.{}f} {}", value, value < 10 ? 2 : (value < 100 ? 1 : 0), units[i]);
}

std::string amount(std::uint64_t value, Progress::Unit unit) {
  return unit == Progress::Unit::kBytes ? human_bytes(value) : human_count(value);
}

}  // namespace

std::string human_bytes(std::uint64_t bytes) {
  constexpr std::array<std::string_view, 5> kUnits = {"B", "KiB", "MiB", "GiB", "TiB"};
  return with_unit(static_cast<double>(bytes), 1024, kUnits);
}

std::string human_count(std::uint64_t count) {
  constexpr std::array<std::string_view, 5> kUnits = {"", "K", "M", "B", "T"};
  return with_unit(static_cast<double>(count), 1000, kUnits);
}

Progress::Progress(std::string label, Unit unit, bool enabled)
    : label_(std::move(label)),
      unit_(unit),
      on_(enabled && isatty(STDERR_FILENO) == 1),
      start_(Clock::now()),
      last_draw_(start_) {}

Progress::~Progress() {
  finish();
}

void Progress::update(std::uint64_t done, std::uint64_t total) {
  if (!on_) return;
  const Clock::time_point now = Clock::now();
  if (now - last_draw_ < std::chrono::milliseconds(100)) return;
  last_draw_ = now;
  drawn_ = true;
  const double seconds = std::chrono::duration<double>(now - start_).count();
  const double fraction = total == 0 ? 0 : static_cast<double>(done) / static_cast<double>(total);
  const double left = fraction > 0 ? seconds / fraction - seconds : 0;
  fmt::print(stderr, "\r\x1b[K{}  {} of {}  {:.0f} %  {:.0f} s left", label_, amount(done, unit_),
             amount(total, unit_), 100 * fraction, left);
  std::fflush(stderr);
}

void Progress::finish() {
  if (drawn_) fmt::print(stderr, "\r\x1b[K");
  drawn_ = false;
}

}  // namespace pellucid::observe
