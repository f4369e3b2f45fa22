#include <gtest/gtest.h>

#include "kernels/test_support.h"

namespace pellucid::kernels {
namespace {

// One f32 ulp at most: every table sums in double and rounds once; only the order differs.
std::vector<double> one_ulp(const std::vector<float>& expected) {
  std::vector<double> out;
  for (const float value : expected) out.push_back(std::fabs(value) * 2 * kUnit + 1e-45);
  return out;
}

struct RmsCase {
  RmsCase(std::int64_t w, std::int64_t count, std::uint32_t seed)
      : random(seed),
        width(w),
        token_count(count),
        x(random.normals(count * (w + 2))),
        weight(random.normals(w)) {}
  [[nodiscard]] std::int64_t tokens() const { return token_count; }
  [[nodiscard]] std::int64_t columns() const { return width; }
  std::vector<float> run(const OpTable& ops, ThreadPool& pool, std::int64_t first,
                         std::int64_t count) const {
    std::vector<float> y(static_cast<std::size_t>(count * width));
    ops.rms_norm({.x = x.data() + first * (width + 2),
                  .x_stride = width + 2,
                  .y = y.data(),
                  .y_stride = width,
                  .weight = weight.data(),
                  .eps = eps,
                  .tokens = count,
                  .width = width},
                 pool);
    return y;
  }
  [[nodiscard]] std::vector<double> bounds() const {
    return one_ulp(run_all(*this, reference_ops()));
  }
  Random random;
  std::int64_t width;
  std::int64_t token_count;
  std::vector<float> x;
  std::vector<float> weight;
  float eps = 1e-5F;
};

struct LayerCase {
  LayerCase(std::int64_t w, std::int64_t count, std::uint32_t seed)
      : random(seed),
        width(w),
        token_count(count),
        x(random.normals(count * w)),
        weight(random.normals(w)),
        bias(random.normals(w)) {}
  [[nodiscard]] std::int64_t tokens() const { return token_count; }
  [[nodiscard]] std::int64_t columns() const { return width; }
  std::vector<float> run(const OpTable& ops, ThreadPool& pool, std::int64_t first,
                         std::int64_t count) const {
    std::vector<float> y(static_cast<std::size_t>(count * width));
    ops.layer_norm({.x = x.data() + first * width,
                    .x_stride = width,
                    .y = y.data(),
                    .y_stride = width,
                    .weight = weight.data(),
                    .bias = bias.data(),
                    .eps = 1e-6F,
                    .tokens = count,
                    .width = width},
                   pool);
    return y;
  }
  [[nodiscard]] std::vector<double> bounds() const {
    return one_ulp(run_all(*this, reference_ops()));
  }
  Random random;
  std::int64_t width;
  std::int64_t token_count;
  std::vector<float> x;
  std::vector<float> weight;
  std::vector<float> bias;
};

class Norms : public EveryTable {};
PELLUCID_FOR_EVERY_TABLE(Norms);

TEST_P(Norms, MatchTheReference) {
  for (const std::int64_t width : {1, 2, 7, 8, 9, 63, 128, 257}) {
    SCOPED_TRACE(width);
    expect_matches_reference(RmsCase(width, 3, 1), ops());
    expect_matches_reference(LayerCase(width, 3, 2), ops());
  }
}

TEST_P(Norms, HaveTheSameBitsInEveryBatch) {
  expect_invariant(RmsCase(131, 9, 3), ops());
  expect_invariant(LayerCase(131, 9, 4), ops());
}

TEST_P(Norms, PropagateNonFiniteValues) {
  for (const float value : {kNan, kInf, -kInf}) {
    for (const std::size_t i : {std::size_t{0}, std::size_t{20}, std::size_t{36}}) {
      RmsCase rms(37, 2, 5);
      rms.x[i] = value;
      expect_same_non_finite(rms, ops(), "rms x");
      rms.x[i] = 1;
      rms.weight[i] = value;
      expect_same_non_finite(rms, ops(), "rms weight");
      LayerCase layer(37, 2, 6);
      layer.x[i] = value;
      expect_same_non_finite(layer, ops(), "layer x");
      layer.x[i] = 1;
      layer.weight[i] = value;
      expect_same_non_finite(layer, ops(), "layer weight");
      layer.weight[i] = 1;
      layer.bias[i] = value;
      expect_same_non_finite(layer, ops(), "layer bias");
    }
  }
}

// The square of 1e30 is infinite in f32; the norm is not.
TEST_P(Norms, RmsNormOfHugeValuesIsFinite) {
  RmsCase op(16, 1, 7);
  std::fill(op.x.begin(), op.x.end(), 1e30F);
  std::fill(op.weight.begin(), op.weight.end(), 2.0F);
  for (const float y : run_all(op, ops())) EXPECT_FLOAT_EQ(y, 2.0F);
}

TEST_P(Norms, AZeroRowGivesZeros) {
  RmsCase op(16, 1, 8);
  std::fill(op.x.begin(), op.x.end(), 0.0F);
  for (const float y : run_all(op, ops())) EXPECT_EQ(y, 0.0F);
}

TEST_P(Norms, ByHand) {
  RmsCase rms(2, 1, 9);
  rms.eps = 0.5F;  // mean of 9 and 16 is 12.5, plus eps 13
  rms.x = {3, 4, 0, 0};
  rms.weight = {1, -2};
  const std::vector<float> y = run_all(rms, ops());
  EXPECT_FLOAT_EQ(y[0], static_cast<float>(3 / std::sqrt(13.0)));
  EXPECT_FLOAT_EQ(y[1], static_cast<float>(-8 / std::sqrt(13.0)));

  LayerCase layer(2, 1, 9);
  layer.x = {1, 5};  // mean 3, biased variance 4
  layer.weight = {2, 2};
  layer.bias = {10, 20};
  const std::vector<float> z = run_all(layer, ops());
  EXPECT_NEAR(z[0], 8, 1e-5);
  EXPECT_NEAR(z[1], 22, 1e-5);
}

TEST_P(Norms, RunInPlace) {
  const RmsCase rms(33, 2, 10);
  const LayerCase layer(33, 2, 11);
  ThreadPool pool(2);
  std::vector<float> x = rms.x;
  ops().rms_norm({.x = x.data(),
                  .x_stride = 35,
                  .y = x.data(),
                  .y_stride = 35,
                  .weight = rms.weight.data(),
                  .eps = rms.eps,
                  .tokens = 2,
                  .width = 33},
                 pool);
  const std::vector<float> expected = run_all(rms, ops());
  for (std::size_t t = 0; t < 2; ++t) {
    for (std::size_t i = 0; i < 33; ++i) EXPECT_EQ(x[t * 35 + i], expected[t * 33 + i]);
  }
  std::vector<float> z = layer.x;
  ops().layer_norm({.x = z.data(),
                    .x_stride = 33,
                    .y = z.data(),
                    .y_stride = 33,
                    .weight = layer.weight.data(),
                    .bias = layer.bias.data(),
                    .eps = 1e-6F,
                    .tokens = 2,
                    .width = 33},
                   pool);
  EXPECT_EQ(z, run_all(layer, ops()));
}

}  // namespace
}  // namespace pellucid::kernels
