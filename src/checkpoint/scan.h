#pragma once
// Searches whole tensors for values that must not be there, at the speed of memory: bit tests that
// the compiler vectorises, by blocks, and a second look only at blocks with a hit.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "checkpoint/checkpoint.h"

namespace pellucid::checkpoint {

/// What is searched for. The element type follows from it.
enum class ScanTest {
  kBf16NonFinite,
  kF16NonFinite,
  kF32NonFinite,
  kE4M3Nan,           ///< codes 0x7F and 0xFF
  kE4M3Zero,          ///< codes 0x00 and 0x80
  kE4M3Negative,      ///< sign set, zero and NaN excluded
  kUe8m0Nan,          ///< code 0xFF
  kF32NotPositive,    ///< zero or negative, NaN excluded
  kF32NotPowerOfTwo,  ///< finite, with a mantissa
  kBf16Zero,
};

struct ScanResult {
  std::uint64_t count = 0;
  std::uint64_t first = 0;  ///< index of the first hit; meaningless when count is 0
};

/// Elements of `bytes` for which the test holds. The start may be unaligned.
[[nodiscard]] ScanResult scan(std::span<const std::byte> bytes, ScanTest test);

/// "[4001, 18]": the coordinates of an element of that tensor.
[[nodiscard]] std::string coordinates(const TensorInfo& tensor, std::uint64_t index);

}  // namespace pellucid::checkpoint
