#include "checkpoint/scan.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "base/check.h"

namespace pellucid::checkpoint {
namespace {

template <class Word>
Word load(const std::byte* bytes, std::size_t index) {
  Word word;
  std::memcpy(&word, bytes + index * sizeof(Word), sizeof(Word));
  return word;
}

/// `bad` maps a word to 0 or 1 of its own width, so that the inner loop stays in whole vectors.
template <class Word, class Bad>
ScanResult scan_words(std::span<const std::byte> bytes, Bad bad) {
  constexpr std::size_t kBlock = 4096;
  const std::size_t count = bytes.size() / sizeof(Word);
  ScanResult out;
  for (std::size_t begin = 0; begin < count; begin += kBlock) {
    const std::size_t end = std::min(begin + kBlock, count);
    Word any = 0;
    for (std::size_t i = begin; i < end; ++i) any |= bad(load<Word>(bytes.data(), i));
    if (any == 0) continue;
    for (std::size_t i = begin; i < end; ++i) {
      if (bad(load<Word>(bytes.data(), i)) == 0) continue;
      if (out.count++ == 0) out.first = i;
    }
  }
  return out;
}

using U8 = std::uint8_t;
using U16 = std::uint16_t;
using U32 = std::uint32_t;

}  // namespace

ScanResult scan(std::span<const std::byte> bytes, ScanTest test) {
  switch (test) {
    case ScanTest::kBf16NonFinite:
      return scan_words<U16>(bytes, [](U16 w) { return U16((w & 0x7F80U) == 0x7F80U); });
    case ScanTest::kF16NonFinite:
      return scan_words<U16>(bytes, [](U16 w) { return U16((w & 0x7C00U) == 0x7C00U); });
    case ScanTest::kF32NonFinite:
      return scan_words<U32>(bytes, [](U32 w) { return U32((w & 0x7F800000U) == 0x7F800000U); });
    case ScanTest::kE4M3Nan:
      return scan_words<U8>(bytes, [](U8 w) { return U8((w & 0x7FU) == 0x7FU); });
    case ScanTest::kE4M3Zero:
      return scan_words<U8>(bytes, [](U8 w) { return U8((w & 0x7FU) == 0); });
    case ScanTest::kE4M3Negative:
      return scan_words<U8>(bytes, [](U8 w) { return U8((w > 0x80U) & (w < 0xFFU)); });
    case ScanTest::kUe8m0Nan:
      return scan_words<U8>(bytes, [](U8 w) { return U8(w == 0xFFU); });
    case ScanTest::kF32NotPositive:
      return scan_words<U32>(bytes, [](U32 w) {
        return U32(((w << 1) == 0) | ((w > 0x80000000U) & (w <= 0xFF800000U)));
      });
    case ScanTest::kF32NotPowerOfTwo:
      return scan_words<U32>(bytes, [](U32 w) {
        return U32(((w & 0x007FFFFFU) != 0) & ((w & 0x7F800000U) != 0x7F800000U));
      });
    case ScanTest::kBf16Zero:
      return scan_words<U16>(bytes, [](U16 w) { return U16((w & 0x7FFFU) == 0); });
  }
  PELLUCID_CHECK(false && "unknown test");
  __builtin_unreachable();
}

std::string coordinates(const TensorInfo& tensor, std::uint64_t index) {
  std::vector<std::uint64_t> place(tensor.shape.size());
  for (std::size_t i = place.size(); i-- > 0;) {
    place[i] = index % tensor.shape[i];
    index /= tensor.shape[i];
  }
  std::string out = "[";
  for (std::size_t i = 0; i < place.size(); ++i) {
    if (i > 0) out += ", ";
    out += std::to_string(place[i]);
  }
  return out + "]";
}

}  // namespace pellucid::checkpoint
