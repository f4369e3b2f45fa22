#pragma once
// Element types as they stand in safetensors files (model.md section 5.7), and their sizes.

#include <cstdint>
#include <optional>
#include <string_view>

namespace pellucid::tensor {

enum class DType {
  kF64,
  kF32,
  kF16,
  kBf16,
  kF8E4M3,
  kF8E5M2,
  kF8E8M0,
  kF4,
  kI64,
  kI32,
  kI16,
  kI8,
  kU64,
  kU32,
  kU16,
  kU8,
  kBool
};

/// Bits of one element; kF4 has 4.
[[nodiscard]] int bits(DType dtype);
/// The safetensors spelling: "BF16", "F8_E4M3".
[[nodiscard]] std::string_view name(DType dtype);
[[nodiscard]] std::optional<DType> dtype_from_name(std::string_view name);

}  // namespace pellucid::tensor
