#include "kernels/decode_element.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "numerics/numbers.h"

namespace pellucid::kernels {
namespace {

using tensor::Element;
using tensor::Scale;
using tensor::WeightView;

// Checkpoint data has no alignment.
template <class T>
T load(const std::byte* base, std::int64_t index) {
  T value;
  std::memcpy(&value, base + index * static_cast<std::int64_t>(sizeof(T)), sizeof(T));
  return value;
}

std::uint8_t nibble(const std::byte* row, std::int64_t col) {
  const auto byte = load<std::uint8_t>(row, col / 2);
  return static_cast<std::uint8_t>(col % 2 == 0 ? byte & 0xF : byte >> 4);
}

float decode_code(Element element, const std::byte* row, std::int64_t col) {
  switch (element) {
    case Element::kF32:
      return load<float>(row, col);
    case Element::kF16:
      return numerics::f16_to_f32(load<std::uint16_t>(row, col));
    case Element::kBf16:
      return numerics::bf16_to_f32(load<std::uint16_t>(row, col));
    case Element::kE4M3:
      return numerics::e4m3_to_f32(load<std::uint8_t>(row, col));
    case Element::kE2M1:
      return numerics::e2m1_to_f32(nibble(row, col));
    case Element::kInt4:
      return static_cast<float>(nibble(row, col) - 8);
  }
  PELLUCID_CHECK(false && "unknown element");
  __builtin_unreachable();
}

float combine(const WeightView& view, double code, double scale) {
  const double scaled = code * scale;
  const double global = view.global_scale;
  return static_cast<float>(view.global_divides ? scaled / global : scaled * global);
}

}  // namespace

float decode_scale(const WeightView& view, std::int64_t row, std::int64_t col) {
  if (view.scale == Scale::kNone) return 1.0F;
  const std::int64_t index = (row / view.block_rows) * view.scale_cols() + col / view.block_cols;
  switch (view.scale) {
    case Scale::kNone:
      return 1.0F;
    case Scale::kF32:
      return load<float>(view.scales, index);
    case Scale::kBf16:
      return numerics::bf16_to_f32(load<std::uint16_t>(view.scales, index));
    case Scale::kE4M3:
      return numerics::e4m3_to_f32(load<std::uint8_t>(view.scales, index));
    case Scale::kUe8m0:
      return numerics::ue8m0_to_f32(load<std::uint8_t>(view.scales, index));
  }
  PELLUCID_CHECK(false && "unknown scale");
  __builtin_unreachable();
}

float decode_element(const WeightView& view, std::int64_t row, std::int64_t col) {
  const std::byte* codes = view.codes + row * view.row_bytes();
  return combine(view, decode_code(view.element, codes, col), decode_scale(view, row, col));
}

void decode_columns(const WeightView& view, std::int64_t row, std::int64_t first_col,
                    std::int64_t count, float* out) {
  const std::byte* codes = view.codes + row * view.row_bytes();
  const std::int64_t end = first_col + count;
  for (std::int64_t col = first_col; col < end;) {
    const double scale = decode_scale(view, row, col);
    const std::int64_t block_end = (col / view.block_cols + 1) * view.block_cols;
    const std::int64_t stop = view.scale == Scale::kNone ? end : std::min(end, block_end);
    for (; col < stop; ++col) *out++ = combine(view, decode_code(view.element, codes, col), scale);
  }
}

float decode_row_element(Element element, const std::byte* row, std::int64_t index) {
  PELLUCID_CHECK(element == Element::kF32 || element == Element::kBf16);
  return decode_code(element, row, index);
}

}  // namespace pellucid::kernels
