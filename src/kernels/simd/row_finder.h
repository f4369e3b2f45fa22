#pragma once
// Rows of a paged cache without a division per row: pages usually hold a power of two.

#include <bit>

#include "tensor/paged_rows.h"

namespace pellucid::kernels::simd {

class RowFinder {
 public:
  explicit RowFinder(const tensor::PagedRows& rows)
      : rows_(rows),
        shift_(std::has_single_bit(static_cast<std::uint64_t>(rows.page_tokens))
                   ? std::countr_zero(static_cast<std::uint64_t>(rows.page_tokens))
                   : -1) {}

  [[nodiscard]] const std::byte* row(std::int64_t t) const {
    if (shift_ < 0) return rows_.row(t);
    const auto page = static_cast<std::size_t>(t >> shift_);
    return rows_.pages[page] + (t & (rows_.page_tokens - 1)) * rows_.row_bytes;
  }

 private:
  tensor::PagedRows rows_;
  int shift_;
};

}  // namespace pellucid::kernels::simd
