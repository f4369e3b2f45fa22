#include "numerics/error_measures.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "base/check.h"
#include "numerics/numbers.h"

namespace pellucid::numerics {
namespace {

enum class Class { kFinite, kNan, kPlusInfinity, kMinusInfinity };

Class classify(float value) {
  if (is_finite(value)) return Class::kFinite;
  if (is_nan(value)) return Class::kNan;
  return value > 0 ? Class::kPlusInfinity : Class::kMinusInfinity;
}

// f32 bits as an integer that grows with the value; both zeros are 0.
std::int64_t ordered(float value) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  const auto magnitude = static_cast<std::int64_t>(bits & 0x7FFFFFFFU);
  return (bits >> 31) != 0 ? -magnitude : magnitude;
}

// Remembers the first mismatch of a kind and counts the others.
void report(Comparison& result, Mismatch kind, std::size_t i, std::int64_t columns, float found,
            float expected) {
  ++result.mismatches;
  if (result.mismatch == kind) return;
  result.mismatch = kind;
  result.row = static_cast<std::int64_t>(i) / columns;
  result.column = static_cast<std::int64_t>(i) % columns;
  result.found = found;
  result.expected = expected;
}

bool sizes_agree(std::span<const float> found, std::span<const float> expected,
                 std::int64_t columns, Comparison& result) {
  PELLUCID_CHECK(columns > 0);
  const auto size = static_cast<std::int64_t>(found.size());
  if (found.size() == expected.size() && size % columns == 0) return true;
  result.mismatch = Mismatch::kSize;
  result.mismatches = 1;
  result.found = static_cast<double>(found.size());
  result.expected = static_cast<double>(expected.size());
  return false;
}

bool within(float found, float expected, const Tolerance& tolerance) {
  const double difference = std::fabs(static_cast<double>(found) - expected);
  const double allowed =
      tolerance.absolute + tolerance.relative * std::fabs(static_cast<double>(expected));
  return difference <= allowed || ulp_distance(found, expected) <= tolerance.ulp;
}

void measure(std::span<const float> found, std::span<const float> expected, Comparison& result) {
  double difference_squared = 0;
  double expected_squared = 0;
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (!is_finite(found[i]) || !is_finite(expected[i])) continue;
    const double difference = static_cast<double>(found[i]) - expected[i];
    difference_squared += difference * difference;
    expected_squared += static_cast<double>(expected[i]) * expected[i];
    result.max_absolute = std::max(result.max_absolute, std::fabs(difference));
    result.max_ulp = std::max(result.max_ulp, ulp_distance(found[i], expected[i]));
  }
  if (difference_squared == 0) return;
  // Against a zero vector any difference is infinitely large in relative terms.
  result.relative_l2 = std::sqrt(difference_squared / expected_squared);
}

const char* kind_name(Mismatch kind) {
  switch (kind) {
    case Mismatch::kNone:
      return "equal within tolerance";
    case Mismatch::kSize:
      return "sizes differ";
    case Mismatch::kNonFinite:
      return "non-finite positions differ";
    case Mismatch::kTolerance:
      return "beyond tolerance";
    case Mismatch::kRelativeL2:
      return "relative norm beyond tolerance";
  }
  PELLUCID_CHECK(false && "unknown mismatch");
  __builtin_unreachable();
}

}  // namespace

std::int64_t ulp_distance(float a, float b) {
  PELLUCID_CHECK(is_finite(a) && is_finite(b));
  const std::int64_t distance = ordered(a) - ordered(b);
  return distance < 0 ? -distance : distance;
}

Comparison compare(std::span<const float> found, std::span<const float> expected,
                   std::int64_t columns, const Tolerance& tolerance) {
  Comparison result;
  if (!sizes_agree(found, expected, columns, result)) return result;
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (classify(found[i]) == classify(expected[i])) continue;
    report(result, Mismatch::kNonFinite, i, columns, found[i], expected[i]);
  }
  measure(found, expected, result);
  if (!result.ok()) return result;
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (!is_finite(found[i]) || within(found[i], expected[i], tolerance)) continue;
    report(result, Mismatch::kTolerance, i, columns, found[i], expected[i]);
  }
  if (!result.ok()) return result;
  if (result.relative_l2 > tolerance.relative_l2) {
    result.mismatch = Mismatch::kRelativeL2;
    result.mismatches = 1;
  }
  return result;
}

Comparison compare_bits(std::span<const float> found, std::span<const float> expected,
                        std::int64_t columns) {
  Comparison result;
  if (!sizes_agree(found, expected, columns, result)) return result;
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (std::bit_cast<std::uint32_t>(found[i]) == std::bit_cast<std::uint32_t>(expected[i])) {
      continue;
    }
    if (is_nan(found[i]) && is_nan(expected[i])) continue;
    const bool finite = is_finite(found[i]) && is_finite(expected[i]);
    const Mismatch kind = finite ? Mismatch::kTolerance : Mismatch::kNonFinite;
    if (result.ok())
      report(result, kind, i, columns, found[i], expected[i]);
    else
      ++result.mismatches;
  }
  measure(found, expected, result);
  return result;
}

std::array<char, 320> describe(const Comparison& comparison) {
  std::array<char, 320> text{};
  std::snprintf(text.data(), text.size(),
                "%s: row %lld column %lld found %.9g expected %.9g; %lld such; relative L2 %.3g, "
                "max absolute %.3g, max ulp %lld",
                kind_name(comparison.mismatch), static_cast<long long>(comparison.row),
                static_cast<long long>(comparison.column), comparison.found, comparison.expected,
                static_cast<long long>(comparison.mismatches), comparison.relative_l2,
                comparison.max_absolute, static_cast<long long>(comparison.max_ulp));
  return text;
}

}  // namespace pellucid::numerics
