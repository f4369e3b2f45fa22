#include "tensor/weight.h"

#include "base/check.h"

namespace pellucid::tensor {
namespace {

int element_bits(Element element) {
  switch (element) {
    case Element::kF32:
      return 32;
    case Element::kF16:
    case Element::kBf16:
      return 16;
    case Element::kE4M3:
      return 8;
    case Element::kE2M1:
    case Element::kInt4:
      return 4;
  }
  PELLUCID_CHECK(false && "unknown element");
  __builtin_unreachable();
}

}  // namespace

std::int64_t WeightView::row_bytes() const {
  return (cols * element_bits(element) + 7) / 8;
}

std::int64_t WeightView::scale_bytes() const {
  switch (scale) {
    case Scale::kNone:
      return 0;
    case Scale::kF32:
      return 4;
    case Scale::kBf16:
      return 2;
    case Scale::kE4M3:
    case Scale::kUe8m0:
      return 1;
  }
  PELLUCID_CHECK(false && "unknown scale");
  __builtin_unreachable();
}

std::int64_t WeightView::total_bytes() const {
  const std::int64_t scale_rows = (rows + block_rows - 1) / block_rows;
  return rows * row_bytes() + scale_rows * scale_cols() * scale_bytes();
}

}  // namespace pellucid::tensor
