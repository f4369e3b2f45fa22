#pragma once
// The dimensions of a tensor, in place: a checkpoint has 240,000 tensors, and a heap allocation for
// each shape is slow to make and to free.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>

#include "base/check.h"

namespace pellucid::checkpoint {

inline constexpr std::size_t kTensorRankMax = 8;

/// Converts to std::span<const std::uint64_t>. At most kTensorRankMax dimensions, which is CHECKed.
class Shape {
 public:
  Shape() = default;  ///< of a scalar
  Shape(std::initializer_list<std::uint64_t> dims) : Shape(std::span(dims)) {}
  explicit Shape(std::span<const std::uint64_t> dims) {
    for (const std::uint64_t dim : dims) push_back(dim);
  }

  void push_back(std::uint64_t dim) {
    PELLUCID_CHECK(rank_ < kTensorRankMax);
    dims_[rank_++] = dim;
  }

  [[nodiscard]] const std::uint64_t* data() const { return dims_.data(); }
  [[nodiscard]] const std::uint64_t* begin() const { return data(); }
  [[nodiscard]] const std::uint64_t* end() const { return data() + rank_; }
  [[nodiscard]] std::size_t size() const { return rank_; }
  [[nodiscard]] bool empty() const { return rank_ == 0; }
  [[nodiscard]] std::uint64_t operator[](std::size_t axis) const { return dims_[axis]; }

  friend bool operator==(const Shape& a, std::span<const std::uint64_t> b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end());
  }
  friend bool operator==(const Shape& a, const Shape& b) { return a == std::span(b); }

 private:
  std::array<std::uint64_t, kTensorRankMax> dims_{};
  std::size_t rank_ = 0;
};

}  // namespace pellucid::checkpoint
