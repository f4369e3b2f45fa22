#pragma once
// Comparison of computed values with expected ones. Positions of NaN, +Inf and -Inf must agree
// before any distance is measured: a comparator that only subtracts lets NaN pass every "<".
// Pure functions; nothing here allocates.

#include <array>
#include <cstdint>
#include <span>

namespace pellucid::numerics {

/// What a comparison accepts. An element passes when |found - expected| <= absolute + relative *
/// |expected|, or when its distance is at most `ulp`; the whole passes when in addition
/// relative_l2 (over the finite elements) is at most `relative_l2`.
struct Tolerance {
  double absolute = 0;
  double relative = 0;
  double relative_l2 = 1;
  std::int64_t ulp = 0;
};

enum class Mismatch {
  kNone,
  kSize,        ///< spans of different length, or a length that is no multiple of `columns`
  kNonFinite,   ///< NaN, +Inf or -Inf at one side only, or of another kind
  kTolerance,   ///< a finite element beyond the tolerance
  kRelativeL2,  ///< the norm of the difference beyond the tolerance
};

struct Comparison {
  Mismatch mismatch = Mismatch::kNone;
  std::int64_t row = 0;     ///< of the first mismatch
  std::int64_t column = 0;  ///< of the first mismatch
  double found = 0;         ///< element at the first mismatch
  double expected = 0;
  std::int64_t mismatches = 0;  ///< elements of the kind of `mismatch`
  double relative_l2 = 0;       ///< ||found - expected|| / ||expected||, finite elements only
  double max_absolute = 0;
  std::int64_t max_ulp = 0;

  [[nodiscard]] bool ok() const { return mismatch == Mismatch::kNone; }
};

/// Compares row-major matrices of `columns` columns (> 0, CHECK). A non-finite mismatch anywhere is
/// reported before a tolerance that fails earlier in the order.
[[nodiscard]] Comparison compare(std::span<const float> found, std::span<const float> expected,
                                 std::int64_t columns, const Tolerance& tolerance);

/// Same bits, except that every NaN equals every NaN.
[[nodiscard]] Comparison compare_bits(std::span<const float> found, std::span<const float> expected,
                                      std::int64_t columns);

/// Distance in representable f32 values; -0 and +0 are the same. Both must be finite (CHECK).
[[nodiscard]] std::int64_t ulp_distance(float a, float b);

/// One line of text: kind, row, column, both values and the measures. Zero-terminated.
[[nodiscard]] std::array<char, 320> describe(const Comparison& comparison);

}  // namespace pellucid::numerics
