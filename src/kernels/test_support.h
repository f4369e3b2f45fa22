#pragma once
// Shared by the op tests: random operands in every weight format, caches, tables to run, and the
// three comparisons that every op goes through (against the reference, across threads, across batch
// sizes).

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "kernels/decode_element.h"
#include "kernels/ops.h"
#include "numerics/error_measures.h"
#include "numerics/numbers.h"

namespace pellucid::kernels {

inline constexpr float kInf = std::numeric_limits<float>::infinity();
inline const float kNan = std::numeric_limits<float>::quiet_NaN();
inline constexpr double kUnit = 0x1p-24;  ///< half an ulp of 1: the error of one rounding

/// Partial sums run over columns / 32 elements, then five additions of the tree; a product that is
/// not fused adds one rounding, a decoded weight two, the output of the reference one.
inline double dot_roundings(std::int64_t columns) {
  return static_cast<double>((columns + 31) / 32 + 5 + 1 + 2 + 1);
}

class Random {
 public:
  explicit Random(std::uint32_t seed) : engine_(seed) {}
  float normal() { return normal_(engine_); }
  std::uint32_t bits() { return static_cast<std::uint32_t>(engine_()); }
  std::int64_t below(std::int64_t n) { return static_cast<std::int64_t>(engine_() % n); }
  std::vector<float> normals(std::int64_t count) {
    std::vector<float> out(static_cast<std::size_t>(count));
    for (float& value : out) value = normal();
    return out;
  }

 private:
  std::mt19937 engine_;
  std::normal_distribution<float> normal_;
};

struct WeightFormat {
  const char* name;
  tensor::Element element;
  tensor::Scale scale;
  std::int64_t block_rows;
  std::int64_t block_cols;
  float global_scale = 1.0F;
  bool global_divides = false;
};

/// The formats of tensor/weight.h, and block sizes that fit neither a byte nor a vector.
inline constexpr WeightFormat kWeightFormats[] = {
    {"f32", tensor::Element::kF32, tensor::Scale::kNone, 1, 1},
    {"f16", tensor::Element::kF16, tensor::Scale::kNone, 1, 1},
    {"bf16", tensor::Element::kBf16, tensor::Scale::kNone, 1, 1},
    {"fp8_block", tensor::Element::kE4M3, tensor::Scale::kF32, 128, 128},
    {"fp8_small_block", tensor::Element::kE4M3, tensor::Scale::kF32, 4, 24},
    {"fp8_tensor", tensor::Element::kE4M3, tensor::Scale::kNone, 1, 1, 0.0123F},
    {"nvfp4_modelopt", tensor::Element::kE2M1, tensor::Scale::kE4M3, 1, 16, 0.37F},
    {"nvfp4_ct", tensor::Element::kE2M1, tensor::Scale::kE4M3, 1, 16, 2.7F, true},
    {"int4", tensor::Element::kInt4, tensor::Scale::kBf16, 1, 32},
    {"int4_block_7", tensor::Element::kInt4, tensor::Scale::kBf16, 1, 7},
    {"mxfp4", tensor::Element::kE2M1, tensor::Scale::kUe8m0, 1, 32},
};

/// A weight with its storage. Both arrays begin at an odd address: checkpoints are not aligned.
class TestWeight {
 public:
  TestWeight(const WeightFormat& format, std::int64_t rows, std::int64_t cols, Random& random) {
    view_.element = format.element;
    view_.scale = format.scale;
    view_.rows = rows;
    view_.cols = cols;
    view_.block_rows = format.block_rows;
    view_.block_cols = format.block_cols;
    view_.global_scale = format.global_scale;
    view_.global_divides = format.global_divides;
    fill_codes(random);
    fill_scales(random);
  }
  TestWeight(const TestWeight&) = delete;
  TestWeight(TestWeight&&) = default;

  [[nodiscard]] const tensor::WeightView& view() const { return view_; }
  /// Code bytes of a row, to overwrite.
  std::byte* row(std::int64_t r) { return codes_.data() + 1 + r * view_.row_bytes(); }
  std::byte* scale(std::int64_t i) { return scales_.data() + 1 + i * view_.scale_bytes(); }
  [[nodiscard]] double at(std::int64_t r, std::int64_t c) const {
    return decode_element(view_, r, c);
  }

 private:
  void put_code(std::int64_t r, std::int64_t c, Random& random) {
    const float value = random.normal() * 0.3F;
    switch (view_.element) {
      case tensor::Element::kF32:
        std::memcpy(row(r) + c * 4, &value, 4);
        return;
      case tensor::Element::kF16: {
        // A random normal f16: exponent 2^-8 .. 1.
        const auto code = static_cast<std::uint16_t>((random.bits() & 0x83FFU) |
                                                     ((7U + random.bits() % 8) << 10));
        std::memcpy(row(r) + c * 2, &code, 2);
        return;
      }
      case tensor::Element::kBf16: {
        const std::uint16_t code = numerics::f32_to_bf16(value);
        std::memcpy(row(r) + c * 2, &code, 2);
        return;
      }
      case tensor::Element::kE4M3: {
        auto code = static_cast<std::uint8_t>(random.bits());
        if ((code & 0x7F) == 0x7F) code ^= 1;
        row(r)[c] = static_cast<std::byte>(code);
        return;
      }
      case tensor::Element::kE2M1:
      case tensor::Element::kInt4:
        row(r)[c / 2] = static_cast<std::byte>(random.bits());
        return;
    }
  }
  void fill_codes(Random& random) {
    codes_.resize(static_cast<std::size_t>(view_.rows * view_.row_bytes() + 1));
    view_.codes = codes_.data() + 1;
    for (std::int64_t r = 0; r < view_.rows; ++r) {
      for (std::int64_t c = 0; c < view_.cols; ++c) put_code(r, c, random);
    }
  }
  void fill_scales(Random& random) {
    if (view_.scale == tensor::Scale::kNone) return;
    const std::int64_t rows = (view_.rows + view_.block_rows - 1) / view_.block_rows;
    const std::int64_t count = rows * view_.scale_cols();
    scales_.resize(static_cast<std::size_t>(count * view_.scale_bytes() + 1));
    view_.scales = scales_.data() + 1;
    for (std::int64_t i = 0; i < count; ++i) {
      const float value = 0.01F + std::fabs(random.normal()) * 0.1F;
      const std::uint16_t bf16 = numerics::f32_to_bf16(value);
      switch (view_.scale) {
        case tensor::Scale::kNone:
          break;
        case tensor::Scale::kF32:
          std::memcpy(scale(i), &value, 4);
          break;
        case tensor::Scale::kBf16:
          std::memcpy(scale(i), &bf16, 2);
          break;
        case tensor::Scale::kE4M3:
          *scale(i) = static_cast<std::byte>(random.bits() % 0x40);  // subnormals included
          break;
        case tensor::Scale::kUe8m0:
          *scale(i) = static_cast<std::byte>(118 + random.bits() % 10);
          break;
      }
    }
  }

  std::vector<std::byte> codes_;
  std::vector<std::byte> scales_;
  tensor::WeightView view_;
};

/// A paged cache of random rows. Rows no test writes hold NaN, so that a read of a foreign row
/// shows.
class TestCache {
 public:
  TestCache(tensor::Element element, std::int64_t rows, std::int64_t width,
            std::int64_t page_tokens, Random& random)
      : page_tokens_(page_tokens), width_(width), element_(element) {
    const std::int64_t page_bytes = page_tokens * row_bytes();
    const std::int64_t count = (rows + page_tokens - 1) / page_tokens;
    for (std::int64_t p = 0; p < count; ++p) {
      pages_.emplace_back(static_cast<std::size_t>(page_bytes), std::byte{0xFF});
    }
    for (auto& page : pages_) {
      pointers_.push_back(page.data());
      mutable_pointers_.push_back(page.data());
    }
    for (std::int64_t r = 0; r < rows; ++r) {
      for (std::int64_t i = 0; i < width; ++i) set(r, i, random.normal());
    }
  }

  [[nodiscard]] tensor::PagedRows rows() const {
    return {pointers_, page_tokens_, row_bytes(), width_, element_};
  }
  [[nodiscard]] tensor::MutablePagedRows mutable_rows() const {
    return {mutable_pointers_, page_tokens_, row_bytes(), width_, element_};
  }
  [[nodiscard]] double at(std::int64_t r, std::int64_t i) const {
    return decode_row_element(element_, rows().row(r), i);
  }
  void set(std::int64_t r, std::int64_t i, float value) {
    std::byte* row = mutable_rows().row(r);
    const std::uint16_t code = numerics::f32_to_bf16(value);
    if (element_ == tensor::Element::kBf16) std::memcpy(row + i * 2, &code, 2);
    if (element_ == tensor::Element::kF32) std::memcpy(row + i * 4, &value, 4);
  }

 private:
  [[nodiscard]] std::int64_t row_bytes() const {
    return width_ * (element_ == tensor::Element::kBf16 ? 2 : 4);
  }
  std::int64_t page_tokens_;
  std::int64_t width_;
  tensor::Element element_;
  std::vector<std::vector<std::byte>> pages_;
  std::vector<const std::byte*> pointers_;
  std::vector<std::byte*> mutable_pointers_;
};

/// Tests run once per table that this build and CPU have.
class EveryTable : public testing::TestWithParam<const OpTable*> {
 protected:
  [[nodiscard]] const OpTable& ops() const {
    // The table under test is the one of that name, not a substitute.
    EXPECT_EQ(find_ops(GetParam()->name), GetParam());
    return *GetParam();
  }
};

#define PELLUCID_FOR_EVERY_TABLE(suite)                                       \
  INSTANTIATE_TEST_SUITE_P(Tables, suite, testing::ValuesIn(available_ops()), \
                           [](const auto& table) { return std::string(table.param->name); })

inline testing::AssertionResult verdict(const numerics::Comparison& comparison) {
  if (comparison.ok()) return testing::AssertionSuccess();
  return testing::AssertionFailure() << numerics::describe(comparison).data();
}

/// Non-finite positions first, then |found - expected| <= bounds[i], element by element.
inline testing::AssertionResult within(const std::vector<float>& found,
                                       const std::vector<float>& expected,
                                       const std::vector<double>& bounds, std::int64_t columns) {
  constexpr double kAny = std::numeric_limits<double>::infinity();
  const numerics::Tolerance any{.absolute = kAny, .relative_l2 = kAny};
  const numerics::Comparison comparison = numerics::compare(found, expected, columns, any);
  if (!comparison.ok()) return verdict(comparison);
  if (bounds.size() != expected.size()) return testing::AssertionFailure() << "bounds missing";
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (!numerics::is_finite(expected[i])) continue;
    const double difference = std::fabs(static_cast<double>(found[i]) - expected[i]);
    if (difference <= bounds[i]) continue;
    return testing::AssertionFailure()
           << "row " << static_cast<std::int64_t>(i) / columns << " column "
           << static_cast<std::int64_t>(i) % columns << " found " << found[i] << " expected "
           << expected[i] << ": difference " << difference << " above the bound " << bounds[i];
  }
  return testing::AssertionSuccess();
}

/// A case of an op has: tokens(), columns(), run(ops, pool, first, count) -> rows of the output for
/// those tokens, and bounds() -> the error bound of each output element.
template <class Case>
std::vector<float> run_all(const Case& op, const OpTable& ops, int threads = 1) {
  ThreadPool pool(threads);
  return op.run(ops, pool, 0, op.tokens());
}

template <class Case>
void expect_matches_reference(const Case& op, const OpTable& ops) {
  EXPECT_TRUE(within(run_all(op, ops), run_all(op, reference_ops()), op.bounds(), op.columns()));
}

/// Only the kinds and places of non-finite values (the bounds do not hold beside an infinity).
template <class Case>
void expect_same_non_finite(const Case& op, const OpTable& ops, const std::string& what) {
  const std::vector<float> expected = run_all(op, reference_ops());
  const std::vector<double> any(expected.size(), std::numeric_limits<double>::infinity());
  EXPECT_TRUE(within(run_all(op, ops), expected, any, op.columns())) << what;
}

template <class Case>
void expect_invariant(const Case& op, const OpTable& ops) {
  const std::vector<float> whole = run_all(op, ops, 1);
  for (const int threads : {2, 3}) {
    EXPECT_TRUE(verdict(numerics::compare_bits(run_all(op, ops, threads), whole, op.columns())))
        << threads << " threads";
  }
  ThreadPool pool(2);
  const auto row_size = whole.size() / static_cast<std::size_t>(op.tokens());
  for (std::int64_t t = 0; t < op.tokens(); ++t) {
    const std::vector<float> alone = op.run(ops, pool, t, 1);
    const auto begin = whole.begin() + static_cast<std::ptrdiff_t>(t * row_size);
    const std::vector<float> row(begin, begin + static_cast<std::ptrdiff_t>(row_size));
    EXPECT_TRUE(verdict(numerics::compare_bits(alone, row, op.columns()))) << "token " << t;
  }
}

}  // namespace pellucid::kernels
