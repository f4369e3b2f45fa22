#include <gtest/gtest.h>

#include <algorithm>

#include "kernels/test_support.h"

namespace pellucid::kernels {
namespace {

class Swiglu : public EveryTable {};
PELLUCID_FOR_EVERY_TABLE(Swiglu);

std::vector<float> swiglu(const OpTable& ops, const std::vector<float>& gate,
                          const std::vector<float>& up, int threads = 1) {
  ThreadPool pool(threads);
  std::vector<float> y(gate.size());
  ops.swiglu({.gate = gate.data(),
              .up = up.data(),
              .y = y.data(),
              .count = static_cast<std::int64_t>(gate.size())},
             pool);
  return y;
}

// exp: two roundings of the reduced argument (each below 2 ulp of a number below 1), seven of the
// series, two of the scaling; then sum, quotient and two products. Most cancel: 8 ulp are asked.
TEST_P(Swiglu, MatchesTheReferenceOverTheWholeRange) {
  Random random(1);
  std::vector<float> gate;
  for (int i = -12000; i <= 12000; ++i) gate.push_back(static_cast<float>(i) / 100);
  for (int i = 0; i < 5000; ++i) gate.push_back(random.normal());
  for (const float edge : {0.0F, -0.0F, 1e-30F, -1e-30F, 87.4F, -87.4F, 103.9F, -103.9F, 104.1F,
                           -104.1F, 1e30F, -1e30F}) {
    gate.push_back(edge);
  }
  const std::vector<float> up(gate.size(), 1.0F);
  const std::vector<float> expected = swiglu(reference_ops(), gate, up);
  std::vector<double> bounds;
  for (const float value : expected) {
    // Below the normal range the product with a subnormal exponential keeps few bits: at
    // gate = -104 half of the smallest exponential times 104.
    bounds.push_back(std::fabs(value) * 16 * kUnit + 104 * 1.5e-45);
  }
  EXPECT_TRUE(within(swiglu(ops(), gate, up), expected, bounds, 1));
}

TEST_P(Swiglu, NonFiniteValuesPropagate) {
  const float values[] = {kNan, kInf, -kInf, 0.0F, 1.0F, -1.0F, 200.0F, -90.0F};
  std::vector<float> gate;
  std::vector<float> up;
  for (const float g : values) {
    for (const float u : values) {
      gate.push_back(g);
      up.push_back(u);
    }
  }
  const std::vector<float> expected = swiglu(reference_ops(), gate, up);
  const std::vector<double> any(expected.size(), 1e300);
  EXPECT_TRUE(within(swiglu(ops(), gate, up), expected, any, 8));
}

TEST_P(Swiglu, RunsInPlaceAndForAnyThreadCount) {
  Random random(2);
  for (const std::int64_t count : {1, 63, 64, 65, 9000}) {
    const std::vector<float> gate = random.normals(count);
    const std::vector<float> up = random.normals(count);
    const std::vector<float> expected = swiglu(ops(), gate, up);
    for (const int threads : {2, 3}) EXPECT_EQ(swiglu(ops(), gate, up, threads), expected);
    ThreadPool pool(2);
    std::vector<float> y = gate;
    ops().swiglu({.gate = y.data(), .up = up.data(), .y = y.data(), .count = count}, pool);
    EXPECT_EQ(y, expected) << "y is gate";
    y = up;
    ops().swiglu({.gate = gate.data(), .up = y.data(), .y = y.data(), .count = count}, pool);
    EXPECT_EQ(y, expected) << "y is up";
  }
}

class Add : public EveryTable {};
PELLUCID_FOR_EVERY_TABLE(Add);

TEST_P(Add, AddsElementwise) {
  ThreadPool pool(3);
  Random random(3);
  for (const std::int64_t count : {0, 1, 7, 16384, 40001}) {
    std::vector<float> acc = random.normals(count);
    std::vector<float> x = random.normals(count);
    if (count > 5) x[5] = kNan;
    if (count > 6) x[6] = kInf;
    std::vector<float> expected(acc);
    for (std::size_t i = 0; i < acc.size(); ++i) expected[i] = acc[i] + x[i];
    ops().add({.acc = acc.data(), .x = x.data(), .count = count}, pool);
    EXPECT_TRUE(verdict(numerics::compare_bits(acc, expected, 1)));
  }
}

class Rope : public EveryTable {};
PELLUCID_FOR_EVERY_TABLE(Rope);

std::vector<float> rotate(const OpTable& ops, std::vector<float> x, RopePairing pairing,
                          std::vector<float> inv_freq, std::vector<std::int32_t> positions,
                          std::int64_t heads, float magnitude = 1.0F, int threads = 1) {
  ThreadPool pool(threads);
  const auto rope_dim = static_cast<std::int64_t>(inv_freq.size()) * 2;
  ops.rope({.x = x.data(),
            .token_stride = heads * rope_dim,
            .head_stride = rope_dim,
            .heads = heads,
            .rope_dim = rope_dim,
            .pairing = pairing,
            .inv_freq = inv_freq,
            .magnitude = magnitude,
            .positions = positions},
           pool);
  return x;
}

TEST_P(Rope, PairsByHand) {
  const float c1 = std::cos(3.0F);
  const float s1 = std::sin(3.0F);
  const float c2 = std::cos(1.5F);
  const float s2 = std::sin(1.5F);
  const std::vector<float> x = {1, 10, 100, 1000};
  const std::vector<float> pairs =
      rotate(ops(), x, RopePairing::kInterleaved, {1.0F, 0.5F}, {3}, 1);
  EXPECT_FLOAT_EQ(pairs[0], 1 * c1 - 10 * s1);
  EXPECT_FLOAT_EQ(pairs[1], 1 * s1 + 10 * c1);
  EXPECT_FLOAT_EQ(pairs[2], 100 * c2 - 1000 * s2);
  EXPECT_FLOAT_EQ(pairs[3], 100 * s2 + 1000 * c2);
  const std::vector<float> halves = rotate(ops(), x, RopePairing::kHalfSplit, {1.0F, 0.5F}, {3}, 1);
  EXPECT_FLOAT_EQ(halves[0], 1 * c1 - 100 * s1);
  EXPECT_FLOAT_EQ(halves[2], 1 * s1 + 100 * c1);
  EXPECT_FLOAT_EQ(halves[1], 10 * c2 - 1000 * s2);
  EXPECT_FLOAT_EQ(halves[3], 10 * s2 + 1000 * c2);
}

TEST_P(Rope, PositionZeroChangesNothingAndMagnitudeScales) {
  Random random(4);
  const std::vector<float> x = random.normals(2 * 3 * 8);
  const std::vector<float> freq = {1.0F, 0.1F, 0.01F, 0.001F};
  EXPECT_EQ(rotate(ops(), x, RopePairing::kInterleaved, freq, {0, 0}, 3), x);
  const std::vector<float> doubled =
      rotate(ops(), x, RopePairing::kHalfSplit, freq, {0, 0}, 3, 2.0F);
  for (std::size_t i = 0; i < x.size(); ++i) EXPECT_EQ(doubled[i], 2 * x[i]);
}

// The angle is the f32 product; its sine is the true one of that number even near 1e6 rad.
TEST_P(Rope, ReducesLargeAnglesExactly) {
  const std::int32_t position = 1048573;
  const float freq = 0.9173F;
  const float angle = static_cast<float>(position) * freq;
  const auto c = static_cast<float>(std::cos(static_cast<double>(angle)));
  const auto s = static_cast<float>(std::sin(static_cast<double>(angle)));
  const std::vector<float> out =
      rotate(ops(), {1, 0}, RopePairing::kInterleaved, {freq}, {position}, 1);
  EXPECT_EQ(out[0], c);
  EXPECT_EQ(out[1], s);
}

TEST_P(Rope, PairingsAgreeUnderThePermutation) {
  Random random(5);
  std::vector<float> freq;
  for (int i = 0; i < 70; ++i) freq.push_back(std::pow(0.9F, static_cast<float>(i)));
  const std::vector<float> x = random.normals(140);
  std::vector<float> split(140);
  for (std::size_t i = 0; i < 70; ++i) {
    split[i] = x[2 * i];
    split[70 + i] = x[2 * i + 1];
  }
  const auto a = rotate(ops(), x, RopePairing::kInterleaved, freq, {777}, 1);
  const auto b = rotate(ops(), split, RopePairing::kHalfSplit, freq, {777}, 1);
  for (std::size_t i = 0; i < 70; ++i) {
    EXPECT_EQ(a[2 * i], b[i]);
    EXPECT_EQ(a[2 * i + 1], b[70 + i]);
  }
}

TEST_P(Rope, TouchesOnlyItsSliceAndMatchesAcrossBatchesAndThreads) {
  Random random(6);
  const std::vector<float> freq = {1.0F, 0.3F, 0.05F};
  std::vector<std::int32_t> positions = {5, 900, 3, 77, 12345};
  // Heads of 10 elements of which elements 4..9 are rotated.
  const std::vector<float> x = random.normals(5 * 2 * 10);
  const auto run = [&](std::size_t first, std::size_t count, int threads) {
    ThreadPool pool(threads);
    std::vector<float> out(x.begin() + static_cast<std::ptrdiff_t>(first * 20),
                           x.begin() + static_cast<std::ptrdiff_t>((first + count) * 20));
    ops().rope({.x = out.data() + 4,
                .token_stride = 20,
                .head_stride = 10,
                .heads = 2,
                .rope_dim = 6,
                .pairing = RopePairing::kInterleaved,
                .inv_freq = freq,
                .magnitude = 1,
                .positions = {positions.data() + first, count}},
               pool);
    return out;
  };
  const std::vector<float> whole = run(0, 5, 1);
  EXPECT_EQ(run(0, 5, 3), whole);
  for (std::size_t t = 0; t < 5; ++t) {
    const std::vector<float> alone = run(t, 1, 1);
    EXPECT_TRUE(std::equal(alone.begin(), alone.end(),
                           whole.begin() + static_cast<std::ptrdiff_t>(t * 20)));
    for (std::size_t h = 0; h < 2; ++h) {
      for (std::size_t i = 0; i < 4; ++i) {
        EXPECT_EQ(whole[t * 20 + h * 10 + i], x[t * 20 + h * 10 + i]) << "outside the slice";
      }
    }
  }
}

TEST_P(Rope, NonFiniteValuesReachThePair) {
  for (const float value : {kNan, kInf}) {
    const auto out =
        rotate(ops(), {1, value, 3, 4}, RopePairing::kInterleaved, {1.0F, 0.5F}, {2}, 1);
    EXPECT_FALSE(numerics::is_finite(out[0]));
    EXPECT_FALSE(numerics::is_finite(out[1]));
    EXPECT_TRUE(numerics::is_finite(out[2]));
    EXPECT_TRUE(numerics::is_finite(out[3]));
  }
  const auto out = rotate(ops(), {1, 2}, RopePairing::kInterleaved, {kNan}, {2}, 1);
  EXPECT_TRUE(numerics::is_nan(out[0]) && numerics::is_nan(out[1]));
}

class Rows : public EveryTable {};
PELLUCID_FOR_EVERY_TABLE(Rows);

TEST_P(Rows, StoreAndLoadByPosition) {
  Random random(7);
  for (const tensor::Element element : {tensor::Element::kBf16, tensor::Element::kF32}) {
    for (const std::int64_t page_tokens : {1, 3, 4}) {
      ThreadPool pool(2);
      const TestCache cache(element, 11, 5, page_tokens, random);
      std::vector<float> before;
      for (std::int64_t r = 0; r < 11; ++r) {
        for (std::int64_t i = 0; i < 5; ++i) before.push_back(static_cast<float>(cache.at(r, i)));
      }
      std::vector<float> x = random.normals(3 * 8);
      x[1] = kNan;
      x[2] = -kInf;
      x[3] = 3.4e38F;  // above the largest finite bf16: infinity
      const std::vector<std::int32_t> positions = {9, 0, 4};
      ops().store_rows(
          {.x = x.data(), .x_stride = 8, .positions = positions, .rows = cache.mutable_rows()},
          pool);
      std::vector<float> expected = before;
      for (std::size_t t = 0; t < 3; ++t) {
        for (std::size_t i = 0; i < 5; ++i) {
          const float value = x[t * 8 + i];
          const bool bf16 = element == tensor::Element::kBf16;
          expected[static_cast<std::size_t>(positions[t]) * 5 + i] =
              bf16 ? numerics::bf16_to_f32(numerics::f32_to_bf16(value)) : value;
        }
      }
      std::vector<float> found(8 * 5);
      ops().load_rows({.rows = cache.rows(), .begin = 3, .count = 8, .out = found.data()}, pool);
      const std::vector<float> tail(expected.begin() + 15, expected.end());
      EXPECT_TRUE(verdict(numerics::compare_bits(found, tail, 5)));
      found.resize(11 * 5);
      ops().load_rows({.rows = cache.rows(), .begin = 0, .count = 11, .out = found.data()}, pool);
      EXPECT_TRUE(verdict(numerics::compare_bits(found, expected, 5)));
    }
  }
}

}  // namespace
}  // namespace pellucid::kernels
