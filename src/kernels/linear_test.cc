#include <gtest/gtest.h>

#include "kernels/test_support.h"

namespace pellucid::kernels {
namespace {

struct LinearCase {
  LinearCase(const WeightFormat& format, std::int64_t rows, std::int64_t cols, std::int64_t count,
             std::uint32_t seed)
      : random(seed),
        weight(format, rows, cols, random),
        x(random.normals(count * (cols + 3))),
        token_count(count) {}

  [[nodiscard]] std::int64_t tokens() const { return token_count; }
  [[nodiscard]] std::int64_t columns() const { return weight.view().rows; }
  [[nodiscard]] std::int64_t x_stride() const { return weight.view().cols + 3; }

  std::vector<float> run(const OpTable& ops, ThreadPool& pool, std::int64_t first,
                         std::int64_t count) const {
    const std::int64_t y_stride = columns() + 5;
    std::vector<float> padded(static_cast<std::size_t>(count * y_stride), 77.0F);
    ops.linear({.weight = weight.view(),
                .x = x.data() + first * x_stride(),
                .x_stride = x_stride(),
                .y = padded.data(),
                .y_stride = y_stride,
                .tokens = count},
               pool);
    std::vector<float> y;
    for (std::int64_t t = 0; t < count; ++t) {
      const auto row = padded.begin() + t * y_stride;
      y.insert(y.end(), row, row + columns());
      for (std::int64_t i = columns(); i < y_stride; ++i) EXPECT_EQ(row[i], 77.0F) << "overrun";
    }
    return y;
  }

  [[nodiscard]] std::vector<double> bounds() const {
    std::vector<double> out;
    for (std::int64_t t = 0; t < token_count; ++t) {
      for (std::int64_t n = 0; n < columns(); ++n) {
        double magnitude = 0;
        for (std::int64_t k = 0; k < weight.view().cols; ++k) {
          magnitude += std::fabs(weight.at(n, k) * x[static_cast<std::size_t>(t * x_stride() + k)]);
        }
        out.push_back(dot_roundings(weight.view().cols) * kUnit * magnitude);
      }
    }
    return out;
  }

  Random random;
  TestWeight weight;
  std::vector<float> x;
  std::int64_t token_count;
};

class Linear : public EveryTable {};
PELLUCID_FOR_EVERY_TABLE(Linear);

TEST_P(Linear, MatchesTheReferenceInEveryFormat) {
  const std::int64_t widths[] = {1, 7, 8, 31, 32, 33, 65, 130, 511, 512, 1031};
  for (const WeightFormat& format : kWeightFormats) {
    std::uint32_t seed = 1;
    for (const std::int64_t cols : widths) {
      SCOPED_TRACE(std::string(format.name) + " cols " + std::to_string(cols));
      expect_matches_reference(LinearCase(format, 5 + cols % 14, cols, 1 + cols % 5, seed++),
                               ops());
    }
  }
}

TEST_P(Linear, ARowHasTheSameBitsInEveryBatchAndForEveryThreadCount) {
  for (const WeightFormat& format : kWeightFormats) {
    SCOPED_TRACE(format.name);
    expect_invariant(LinearCase(format, 37, 1031, 9, 5), ops());
  }
  expect_invariant(LinearCase(kWeightFormats[2], 70, 257, 53, 6), ops());  // several groups
}

TEST_P(Linear, NonFiniteOperandsAppearWhereTheReferenceHasThem) {
  for (const float value : {kNan, kInf, -kInf}) {
    for (const std::int64_t k : {0, 31, 64, 69}) {
      LinearCase op(kWeightFormats[0], 6, 70, 4, 9);
      op.x[static_cast<std::size_t>(2 * op.x_stride() + k)] = value;
      expect_same_non_finite(op, ops(), "x");
      LinearCase weight_case(kWeightFormats[0], 6, 70, 4, 9);
      std::memcpy(weight_case.weight.row(3) + k * 4, &value, 4);
      expect_same_non_finite(weight_case, ops(), "weight");
      LinearCase bf16(kWeightFormats[2], 6, 70, 4, 9);
      const std::uint16_t code = numerics::f32_to_bf16(value);
      std::memcpy(bf16.weight.row(3) + k * 2, &code, 2);
      expect_same_non_finite(bf16, ops(), "bf16 weight");
    }
  }
}

// 0 * NaN: a zero activation does not hide a NaN code or scale, and infinity times zero is NaN.
TEST_P(Linear, NanCodesAndScalesReachTheOutput) {
  for (const WeightFormat& format : kWeightFormats) {
    const bool e4m3_scale = format.scale == tensor::Scale::kE4M3;
    if (format.element != tensor::Element::kE4M3 && !e4m3_scale &&
        format.scale != tensor::Scale::kUe8m0) {
      continue;
    }
    for (const std::int64_t cols : {64, 67}) {
      LinearCase op(format, 3, cols, 2, 11);
      std::fill(op.x.begin(), op.x.end(), 0.0F);
      if (format.element == tensor::Element::kE4M3) op.weight.row(1)[cols - 1] = std::byte{0xFF};
      if (format.element == tensor::Element::kE2M1) {
        const std::int64_t last = op.weight.view().scale_cols() * 2 - 1;  // of row 1
        *op.weight.scale(last) = e4m3_scale ? std::byte{0x7F} : std::byte{0xFF};
      }
      const std::vector<float> y = run_all(op, ops());
      for (std::int64_t t = 0; t < 2; ++t) {
        const float* row = y.data() + t * 3;
        EXPECT_EQ(row[0], 0.0F) << format.name;
        EXPECT_TRUE(numerics::is_nan(row[1])) << format.name << " cols " << cols;
        EXPECT_EQ(row[2], 0.0F) << format.name;
      }
    }
  }
}

TEST_P(Linear, NoTokensIsNoWork) {
  EXPECT_TRUE(run_all(LinearCase(kWeightFormats[2], 4, 8, 0, 1), ops()).empty());
}

struct EmbedCase {
  EmbedCase(const WeightFormat& format, std::int64_t cols, std::uint32_t seed)
      : random(seed), table(format, 11, cols, random) {}
  std::vector<float> run(const OpTable& ops, ThreadPool& pool) const {
    std::vector<float> out(ids.size() * static_cast<std::size_t>(table.view().cols));
    ops.embed({.table = table.view(), .ids = ids, .out = out.data()}, pool);
    return out;
  }
  Random random;
  TestWeight table;
  std::vector<std::int32_t> ids = {10, 0, 3, 3, 7};
};

class Embed : public EveryTable {};
PELLUCID_FOR_EVERY_TABLE(Embed);

// One scale factor or none: the same bits. Two factors: their product is rounded before it meets
// the code, half an ulp more.
TEST_P(Embed, DecodesEveryFormat) {
  ThreadPool pool(2);
  for (const WeightFormat& format : kWeightFormats) {
    for (const std::int64_t cols : {1, 7, 40, 67, 515}) {
      const EmbedCase op(format, cols, 3);
      const std::vector<float> found = op.run(ops(), pool);
      const bool two_factors = format.scale != tensor::Scale::kNone && format.global_scale != 1.0F;
      std::vector<float> expected;
      for (const std::int32_t id : op.ids) {
        for (std::int64_t c = 0; c < cols; ++c) {
          expected.push_back(static_cast<float>(op.table.at(id, c)));
        }
      }
      const numerics::Tolerance tolerance{.ulp = two_factors ? 1 : 0};
      EXPECT_TRUE(verdict(numerics::compare(found, expected, cols, tolerance)))
          << format.name << " cols " << cols;
    }
  }
}

TEST(DecodeElement, FollowsTheFormula) {
  const auto byte = [](int v) { return static_cast<std::byte>(v); };
  // e2m1 codes 7 (6.0) and 9 (-0.5) in byte 0x97, low nibble first; scale e4m3 0x40 = 2.0.
  const std::byte codes[] = {byte(0x97)};
  const std::byte scales[] = {byte(0x40)};
  tensor::WeightView view{.element = tensor::Element::kE2M1,
                          .scale = tensor::Scale::kE4M3,
                          .rows = 1,
                          .cols = 2,
                          .block_rows = 1,
                          .block_cols = 16,
                          .codes = codes,
                          .scales = scales,
                          .global_scale = 4.0F,
                          .global_divides = false};
  EXPECT_EQ(decode_element(view, 0, 0), 48.0F);
  EXPECT_EQ(decode_element(view, 0, 1), -4.0F);
  view.global_divides = true;
  EXPECT_EQ(decode_element(view, 0, 0), 3.0F);
  view.element = tensor::Element::kInt4;  // nibbles 7 and 9 are -1 and 1
  EXPECT_EQ(decode_element(view, 0, 0), -0.5F);
  EXPECT_EQ(decode_element(view, 0, 1), 0.5F);
}

TEST(DecodeElement, BlocksCountInGlobalRowsAndColumns) {
  Random random(4);
  const WeightFormat format{"", tensor::Element::kE4M3, tensor::Scale::kF32, 2, 3};
  TestWeight weight(format, 5, 7, random);
  for (std::int64_t i = 0; i < 9; ++i) {  // 3 x 3 scales
    const auto value = static_cast<float>(i + 1);
    std::memcpy(weight.scale(i), &value, 4);
  }
  for (std::int64_t r = 0; r < 5; ++r) {
    for (std::int64_t c = 0; c < 7; ++c) {
      weight.row(r)[c] = std::byte{0x38};  // 1.0
      EXPECT_EQ(weight.at(r, c), static_cast<double>(r / 2 * 3 + c / 3 + 1)) << r << " " << c;
    }
  }
}

TEST(DecodeColumns, EqualsDecodeElementFromAnyColumn) {
  Random random(5);
  for (const WeightFormat& format : kWeightFormats) {
    const std::int64_t cols = 70;
    const TestWeight weight(format, 3, cols, random);
    for (std::int64_t first = 0; first < cols; ++first) {
      std::vector<float> found(static_cast<std::size_t>(cols - first));
      decode_columns(weight.view(), 2, first, cols - first, found.data());
      for (std::int64_t c = first; c < cols; ++c) {
        const float expected = decode_element(weight.view(), 2, c);
        EXPECT_EQ(found[static_cast<std::size_t>(c - first)], expected) << format.name << " " << c;
      }
    }
  }
}

}  // namespace
}  // namespace pellucid::kernels
