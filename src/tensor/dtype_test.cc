#include "tensor/dtype.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace pellucid::tensor {
namespace {

TEST(DType, EveryNameReadsBackAndHasItsBits) {
  const struct {
    DType dtype;
    std::string_view name;
    int bits;
  } rows[] = {
      {DType::kF64, "F64", 64},       {DType::kF32, "F32", 32},
      {DType::kF16, "F16", 16},       {DType::kBf16, "BF16", 16},
      {DType::kF8E4M3, "F8_E4M3", 8}, {DType::kF8E5M2, "F8_E5M2", 8},
      {DType::kF8E8M0, "F8_E8M0", 8}, {DType::kF4, "F4", 4},
      {DType::kI64, "I64", 64},       {DType::kI32, "I32", 32},
      {DType::kI16, "I16", 16},       {DType::kI8, "I8", 8},
      {DType::kU64, "U64", 64},       {DType::kU32, "U32", 32},
      {DType::kU16, "U16", 16},       {DType::kU8, "U8", 8},
      {DType::kBool, "BOOL", 8},
  };
  std::set<std::string> seen;
  for (const auto& row : rows) {
    EXPECT_EQ(name(row.dtype), row.name);
    EXPECT_EQ(bits(row.dtype), row.bits) << row.name;
    EXPECT_EQ(dtype_from_name(row.name), row.dtype) << row.name;
    seen.insert(std::string(row.name));
  }
  EXPECT_EQ(seen.size(), static_cast<std::size_t>(DType::kBool) + 1);
}

TEST(DType, UnknownSpellingsAreNotGuessed) {
  for (const std::string_view name : {"F3", "bf16", "BF16 ", "", "F8_E4M3FN", "BFLOAT16"}) {
    EXPECT_EQ(dtype_from_name(name), std::nullopt) << name;
  }
}

}  // namespace
}  // namespace pellucid::tensor
