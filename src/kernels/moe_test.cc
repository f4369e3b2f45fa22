#include <gtest/gtest.h>

#include "kernels/test_support.h"

namespace pellucid::kernels {
namespace {

constexpr std::int64_t kExperts = 7;
constexpr std::int64_t kTopK = 3;

struct MoeCase {
  MoeCase(const WeightFormat& format, std::int64_t hidden_, std::int64_t inter_, std::int64_t count,
          std::uint32_t seed)
      : random(seed),
        hidden(hidden_),
        inter(inter_),
        token_count(count),
        x(random.normals(count * hidden_)),
        weights(random.normals(count * kTopK)) {
    for (std::int64_t e = 0; e < kExperts; ++e) {
      storage.emplace_back(format, inter_, hidden_, random);
      storage.emplace_back(format, inter_, hidden_, random);
      storage.emplace_back(format, hidden_, inter_, random);
    }
    for (std::size_t e = 0; e < storage.size(); e += 3) {
      gate.push_back(storage[e].view());
      up.push_back(storage[e + 1].view());
      down.push_back(storage[e + 2].view());
    }
    for (std::int64_t t = 0; t < count; ++t) {  // distinct experts per token; expert 5 never
      const std::int64_t first = random.below(5);
      for (std::int64_t s = 0; s < kTopK; ++s) {
        ids.push_back(static_cast<std::int32_t>((first + s * 2) % 5));
      }
    }
  }
  [[nodiscard]] std::int64_t tokens() const { return token_count; }
  [[nodiscard]] std::int64_t columns() const { return hidden; }
  std::vector<float> run(const OpTable& ops, ThreadPool& pool, std::int64_t first,
                         std::int64_t count) const {
    std::vector<float> out(static_cast<std::size_t>(count * hidden), 55.0F);
    // Exactly the stated sizes, filled with NaN: stale scratch must not be read.
    std::vector<float> scratch(
        static_cast<std::size_t>(moe_scratch_floats(count, kTopK, hidden, inter)), kNan);
    std::vector<std::int32_t> int_scratch(
        static_cast<std::size_t>(moe_scratch_ints(count, kTopK, kExperts)), -1);
    ops.moe({.x = x.data() + first * hidden,
             .tokens = count,
             .gate = gate,
             .up = up,
             .down = down,
             .expert_ids = ids.data() + first * kTopK,
             .weights = weights.data() + first * kTopK,
             .top_k = kTopK,
             .out = out.data(),
             .scratch = scratch.data(),
             .int_scratch = int_scratch.data()},
            pool);
    return out;
  }

  [[nodiscard]] std::vector<double> bounds() const {
    std::vector<double> out;
    for (std::int64_t t = 0; t < token_count; ++t) {
      std::vector<double> total(static_cast<std::size_t>(hidden));
      for (std::int64_t s = t * kTopK; s < (t + 1) * kTopK; ++s) add_bounds(t, s, total);
      out.insert(out.end(), total.begin(), total.end());
    }
    return out;
  }

  // Error of gate and up (dot products), through silu (slope at most 1.1) and the product (16
  // roundings, as in the swiglu test), through down, then the weighted sum over the slots.
  void add_bounds(std::int64_t t, std::int64_t slot, std::vector<double>& total) const {
    const auto e = static_cast<std::size_t>(ids[static_cast<std::size_t>(slot)]) * 3;
    std::vector<double> product;
    std::vector<double> error;
    for (std::int64_t i = 0; i < inter; ++i) {
      double g = 0, u = 0, g_magnitude = 0, u_magnitude = 0;
      for (std::int64_t k = 0; k < hidden; ++k) {
        const double value = x[static_cast<std::size_t>(t * hidden + k)];
        g += value * storage[e].at(i, k);
        u += value * storage[e + 1].at(i, k);
        g_magnitude += std::fabs(value * storage[e].at(i, k));
        u_magnitude += std::fabs(value * storage[e + 1].at(i, k));
      }
      const double unit = (dot_roundings(hidden) + 1) * kUnit;
      const double silu = g / (1 + std::exp(-g));
      product.push_back(silu * u);
      error.push_back(1.1 * unit * g_magnitude * (std::fabs(u) + unit * u_magnitude) +
                      std::fabs(silu) * unit * u_magnitude + 16 * kUnit * std::fabs(silu * u));
    }
    const double weight = std::fabs(weights[static_cast<std::size_t>(slot)]);
    for (std::int64_t n = 0; n < hidden; ++n) {
      double bound = 0;
      for (std::int64_t i = 0; i < inter; ++i) {
        const double w = std::fabs(storage[e + 2].at(n, i));
        const double magnitude = std::fabs(product[static_cast<std::size_t>(i)]);
        bound += w * error[static_cast<std::size_t>(i)] * 1.01;
        bound += w * magnitude * (dot_roundings(inter) + kTopK + 2) * kUnit;
      }
      total[static_cast<std::size_t>(n)] += weight * bound;
    }
  }

  Random random;
  std::int64_t hidden;
  std::int64_t inter;
  std::int64_t token_count;
  std::vector<float> x;
  std::vector<float> weights;
  std::vector<std::int32_t> ids;
  std::vector<TestWeight> storage;  // gate, up, down of each expert
  std::vector<tensor::WeightView> gate;
  std::vector<tensor::WeightView> up;
  std::vector<tensor::WeightView> down;
};

class Moe : public EveryTable {};
PELLUCID_FOR_EVERY_TABLE(Moe);

TEST_P(Moe, MatchesTheReferenceInEveryFormat) {
  for (const WeightFormat& format : kWeightFormats) {
    SCOPED_TRACE(format.name);
    expect_matches_reference(MoeCase(format, 67, 33, 4, 1), ops());
    expect_matches_reference(MoeCase(format, 24, 50, 1, 2), ops());  // inter above hidden
  }
}

TEST_P(Moe, HasTheSameBitsInEveryBatchAndForEveryThreadCount) {
  for (const WeightFormat& format : kWeightFormats) {
    SCOPED_TRACE(format.name);
    expect_invariant(MoeCase(format, 67, 33, 9, 3), ops());
  }
  expect_invariant(MoeCase(kWeightFormats[6], 67, 33, 60, 4), ops());  // groups above 24 tokens
}

TEST_P(Moe, NonFiniteOperandsAppearWhereTheReferenceHasThem) {
  for (const float value : {kNan, kInf, -kInf}) {
    MoeCase op(kWeightFormats[0], 19, 13, 5, 5);
    const float x = std::exchange(op.x[2 * 19 + 18], value);
    expect_same_non_finite(op, ops(), "x");
    op.x[2 * 19 + 18] = x;
    const float weight = std::exchange(op.weights[4], value);
    expect_same_non_finite(op, ops(), "weights");
    op.weights[4] = weight;
    for (std::size_t matrix = 0; matrix < 3; ++matrix) {
      MoeCase bad(kWeightFormats[0], 19, 13, 5, 5);
      const auto e = static_cast<std::size_t>(bad.ids[0]) * 3;
      std::memcpy(bad.storage[e + matrix].row(7) + 4 * 12, &value, 4);
      expect_same_non_finite(bad, ops(), "expert weight");
    }
  }
}

TEST_P(Moe, ExpertsThatNobodyChoseAreNotRead) {
  MoeCase op(kWeightFormats[0], 19, 13, 5, 6);
  const std::vector<float> before = run_all(op, ops());
  for (const std::size_t e : {std::size_t{5}, std::size_t{6}}) {
    for (tensor::WeightView* view : {&op.gate[e], &op.up[e], &op.down[e]}) view->codes = nullptr;
  }
  EXPECT_EQ(run_all(op, ops()), before);
}

// Slot order, not expert order: with weights 1e8, 1, -1e8 the f32 sum is 0 when the 1 comes second
// (it vanishes beside 1e8) and not when it comes last; in double nothing vanishes.
TEST_P(Moe, SlotsAreSummedInAscendingOrder) {
  MoeCase op(kWeightFormats[0], 1, 1, 1, 7);
  const float one = 1.0F;
  const float hundred = 100.0F;
  for (std::size_t i = 0; i < op.storage.size(); ++i) {
    std::memcpy(op.storage[i].row(0), i % 3 == 0 ? &hundred : &one, 4);
  }
  op.x = {1.0F};  // every expert gives silu(100) * 1 = 100
  const bool doubles = ops().name == "reference";
  for (const std::vector<std::int32_t>& ids :
       {std::vector<std::int32_t>{0, 1, 2}, {2, 1, 0}, {1, 0, 2}, {2, 0, 1}}) {
    op.ids = ids;
    op.weights = {1e8F, 1.0F, -1e8F};
    EXPECT_EQ(run_all(op, ops())[0], doubles ? 100.0F : 0.0F);
    op.weights = {1e8F, -1e8F, 1.0F};
    EXPECT_EQ(run_all(op, ops())[0], 100.0F);
  }
}

}  // namespace
}  // namespace pellucid::kernels
