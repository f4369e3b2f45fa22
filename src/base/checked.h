#pragma once
// Sizes taken from untrusted files. Arithmetic on them goes through these, so that an overflow is
// an answer (nullopt) and never a small number.

#include <cstdint>
#include <optional>
#include <span>

namespace pellucid {

[[nodiscard]] constexpr std::optional<std::uint64_t> checked_add(std::uint64_t a, std::uint64_t b) {
  std::uint64_t out = 0;
  if (__builtin_add_overflow(a, b, &out)) return std::nullopt;
  return out;
}

[[nodiscard]] constexpr std::optional<std::uint64_t> checked_mul(std::uint64_t a, std::uint64_t b) {
  std::uint64_t out = 0;
  if (__builtin_mul_overflow(a, b, &out)) return std::nullopt;
  return out;
}

/// Product of a shape; 1 for a scalar (empty shape).
[[nodiscard]] constexpr std::optional<std::uint64_t> checked_product(
    std::span<const std::uint64_t> shape) {
  std::optional<std::uint64_t> out = 1;
  for (const std::uint64_t dim : shape) {
    out = checked_mul(*out, dim);
    if (!out) return std::nullopt;
  }
  return out;
}

}  // namespace pellucid
