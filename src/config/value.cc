#include "config/value.h"
#include "config/text.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>

namespace pellucid::config {
namespace {

struct Unit {
  std::string_view name;
  double bytes;
};

constexpr std::array<Unit, 10> kUnits = {{{"", 1},
                                          {"B", 1},
                                          {"KB", 1e3},
                                          {"MB", 1e6},
                                          {"GB", 1e9},
                                          {"TB", 1e12},
                                          {"KiB", 1024.0},
                                          {"MiB", 1048576.0},
                                          {"GiB", 1073741824.0},
                                          {"TiB", 1099511627776.0}}};

struct Formatter {
  std::string operator()(const Auto&) const { return "auto"; }
  std::string operator()(bool v) const { return v ? "true" : "false"; }
  std::string operator()(std::int64_t v) const { return fmt::format("{}", v); }
  std::string operator()(double v) const { return fmt::format("{}", v); }
  std::string operator()(const Bytes& v) const { return fmt::format("{}", v.count); }
  std::string operator()(const std::string& v) const { return v; }
  std::string operator()(const TextList& v) const { return v.empty() ? "none" : join(v, ","); }
};

}  // namespace

std::string format_value(const Value& value) {
  return std::visit(Formatter{}, value);
}

std::string display_value(const Value& value) {
  if (const auto* bytes = std::get_if<Bytes>(&value)) return format_size(bytes->count);
  return format_value(value);
}

std::optional<Bytes> parse_size(std::string_view text) {
  double number = 0;
  const char* const end = text.data() + text.size();
  const auto [next, error] = std::from_chars(text.data(), end, number, std::chars_format::fixed);
  if (error != std::errc() || !(number >= 0)) return std::nullopt;
  std::string_view unit(next, static_cast<std::size_t>(end - next));
  if (unit.starts_with(' ')) unit.remove_prefix(1);
  for (const Unit& candidate : kUnits) {
    if (candidate.name != unit) continue;
    const double bytes = number * candidate.bytes;
    if (!(bytes < 9.2e18)) return std::nullopt;
    return Bytes{static_cast<std::int64_t>(std::llround(bytes))};
  }
  return std::nullopt;
}

std::string format_size(std::int64_t bytes) {
  if (bytes < 1000) return fmt::format("{} B", bytes);
  constexpr std::array<std::string_view, 4> kNames = {"KB", "MB", "GB", "TB"};
  double value = static_cast<double>(bytes);
  std::size_t unit = 0;
  for (value /= 1000; value >= 999.5 && unit + 1 < kNames.size(); value /= 1000) ++unit;
  return value < 100 ? fmt::format("{:.3g} {}", value, kNames[unit])
                     : fmt::format("{:.0f} {}", value, kNames[unit]);
}

}  // namespace pellucid::config
