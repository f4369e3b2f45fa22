#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernels/test_support.h"

namespace pellucid::kernels {
namespace {

TEST(Tables, ReferenceIsFirstAndEachIsFoundByName) {
  const auto tables = available_ops();
  ASSERT_GE(tables.size(), 2U);
  EXPECT_EQ(tables[0], &reference_ops());
  EXPECT_EQ(tables[0]->name, "reference");
  EXPECT_EQ(tables[1]->name, "generic");
  for (const OpTable* table : tables) EXPECT_EQ(find_ops(table->name), table);
  EXPECT_EQ(find_ops("avx3"), nullptr);
  EXPECT_EQ(find_ops(""), nullptr);
}

TEST(Tables, Avx2IsThereWhenTheCpuHasIt) {
#if defined(__x86_64__)
  const bool cpu = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                   __builtin_cpu_supports("f16c");
  EXPECT_EQ(find_ops("avx2") != nullptr, cpu);
#else
  EXPECT_EQ(find_ops("avx2"), nullptr);
#endif
}

// Which code really ran shows in the rounding: (1 + 2^-12)^2 - (1 + 2^-11) is 2^-24 when the
// multiply-add is fused (avx2) or the sum is in double (reference), and 0 when the product is
// rounded first (generic). Columns 0 and 32 share a lane.
TEST(Tables, EachTableRoundsAsItsTargetDoes) {
  const std::pair<const char*, float> cases[] = {
      {"reference", 0x1p-24F}, {"generic", 0.0F}, {"avx2", 0x1p-24F}};
  ThreadPool pool(1);
  for (const auto& [name, expected] : cases) {
    const OpTable* ops = find_ops(name);
    if (ops == nullptr) continue;
    std::vector<float> w(64);
    std::vector<float> x(64);
    w[0] = -1.0F - 0x1p-11F;
    x[0] = 1.0F;
    w[32] = 1.0F + 0x1p-12F;
    x[32] = 1.0F + 0x1p-12F;
    tensor::WeightView weight;
    weight.element = tensor::Element::kF32;
    weight.rows = 1;
    weight.cols = 64;
    weight.codes = reinterpret_cast<const std::byte*>(w.data());
    float y = -1;
    ops->linear(
        {.weight = weight, .x = x.data(), .x_stride = 64, .y = &y, .y_stride = 1, .tokens = 1},
        pool);
    EXPECT_EQ(y, expected) << name;
  }
}

}  // namespace
}  // namespace pellucid::kernels
