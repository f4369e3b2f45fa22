#include "tensor/weight.h"

#include <gtest/gtest.h>

namespace pellucid::tensor {
namespace {

TEST(WeightView, SizesOfEveryFormat) {
  // Shapes of GLM-5.2: kv_a_proj_with_mqa [576, 6144], an expert [2048, 6144].
  const struct {
    const char* what;
    WeightView view;
    std::int64_t row_bytes, scale_cols, scale_bytes, total_bytes;
  } rows[] = {
      {"bf16", {.element = Element::kBf16, .rows = 576, .cols = 6144}, 12288, 6144, 0, 7077888},
      {"f16", {.element = Element::kF16, .rows = 3, .cols = 5}, 10, 5, 0, 30},
      {"f32", {.element = Element::kF32, .rows = 3, .cols = 5}, 20, 5, 0, 60},
      {"fp8 128x128, partial last block row",
       {.element = Element::kE4M3,
        .scale = Scale::kF32,
        .rows = 576,
        .cols = 6144,
        .block_rows = 128,
        .block_cols = 128},
       6144,
       48,
       4,
       576 * 6144 + 5 * 48 * 4},
      {"fp8 per tensor",
       {.element = Element::kE4M3, .rows = 576, .cols = 6144},
       6144,
       6144,
       0,
       576 * 6144},
      {"nvfp4",
       {.element = Element::kE2M1,
        .scale = Scale::kE4M3,
        .rows = 2048,
        .cols = 6144,
        .block_cols = 16},
       3072,
       384,
       1,
       2048 * (3072 + 384)},
      {"int4 group 32",
       {.element = Element::kInt4,
        .scale = Scale::kBf16,
        .rows = 2048,
        .cols = 6144,
        .block_cols = 32},
       3072,
       192,
       2,
       2048 * (3072 + 192 * 2)},
      {"mxfp4",
       {.element = Element::kE2M1,
        .scale = Scale::kUe8m0,
        .rows = 2048,
        .cols = 6144,
        .block_cols = 32},
       3072,
       192,
       1,
       2048 * (3072 + 192)},
      {"odd columns of 4 bits end in half a byte",
       {.element = Element::kE2M1, .rows = 2, .cols = 5},
       3,
       5,
       0,
       6},
  };
  for (const auto& row : rows) {
    EXPECT_EQ(row.view.row_bytes(), row.row_bytes) << row.what;
    EXPECT_EQ(row.view.scale_cols(), row.scale_cols) << row.what;
    EXPECT_EQ(row.view.scale_bytes(), row.scale_bytes) << row.what;
    EXPECT_EQ(row.view.total_bytes(), row.total_bytes) << row.what;
    EXPECT_TRUE(row.view.empty()) << row.what;
  }
}

}  // namespace
}  // namespace pellucid::tensor
