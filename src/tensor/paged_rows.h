#pragma once
// Rows of a paged cache: row t of a sequence lies in page t / page_tokens at slot t % page_tokens.
// Views own nothing. Row layout: `width` elements of `element`, contiguous.

#include <cstddef>
#include <cstdint>
#include <span>

#include "tensor/weight.h"

namespace pellucid::tensor {

struct PagedRows {
  std::span<const std::byte* const> pages;  ///< page table of one sequence
  std::int64_t page_tokens = 0;
  std::int64_t row_bytes = 0;
  std::int64_t width = 0;            ///< elements of a row
  Element element = Element::kBf16;  ///< kF32 or kBf16

  [[nodiscard]] const std::byte* row(std::int64_t t) const {
    return pages[static_cast<std::size_t>(t / page_tokens)] + (t % page_tokens) * row_bytes;
  }
};

struct MutablePagedRows {
  std::span<std::byte* const> pages;
  std::int64_t page_tokens = 0;
  std::int64_t row_bytes = 0;
  std::int64_t width = 0;
  Element element = Element::kBf16;

  [[nodiscard]] std::byte* row(std::int64_t t) const {
    return pages[static_cast<std::size_t>(t / page_tokens)] + (t % page_tokens) * row_bytes;
  }
};

}  // namespace pellucid::tensor
