#include <gtest/gtest.h>

#include "kernels/test_support.h"

namespace pellucid::kernels {
namespace {

struct IndexerCase {
  IndexerCase(tensor::Element element, std::int64_t heads_, std::int64_t dim_,
              std::int64_t page_tokens, std::uint32_t seed)
      : random(seed),
        heads(heads_),
        dim(dim_),
        keys(element, kStride, dim_, page_tokens, random),
        q(random.normals(token_count * heads_ * dim_)),
        weights(random.normals(token_count * heads_)) {}
  [[nodiscard]] std::int64_t tokens() const { return token_count; }
  [[nodiscard]] std::int64_t columns() const { return kStride; }
  std::vector<float> run(const OpTable& ops, ThreadPool& pool, std::int64_t first,
                         std::int64_t count) const {
    std::vector<float> out(static_cast<std::size_t>(count * kStride), 55.0F);
    ops.indexer_scores({.q = q.data() + first * heads * dim,
                        .weights = weights.data() + first * heads,
                        .keys = keys.rows(),
                        .visible = {visible.data() + first, static_cast<std::size_t>(count)},
                        .index_n_heads = heads,
                        .index_head_dim = dim,
                        .tokens = count,
                        .scores = out.data(),
                        .scores_stride = kStride},
                       pool);
    return out;
  }
  // Each head's dot product, then one by one the weighted sum over heads.
  [[nodiscard]] std::vector<double> bounds() const {
    std::vector<double> out;
    for (std::int64_t t = 0; t < token_count; ++t) {
      for (std::int64_t j = 0; j < kStride; ++j) {
        double magnitude = 0;
        for (std::int64_t h = 0; h < heads; ++h) {
          double head = 0;
          for (std::int64_t d = 0; d < dim; ++d) {
            head +=
                std::fabs(q[static_cast<std::size_t>((t * heads + h) * dim + d)] * keys.at(j, d));
          }
          magnitude += std::fabs(weights[static_cast<std::size_t>(t * heads + h)]) * head;
        }
        out.push_back((dot_roundings(dim) + static_cast<double>(heads) + 1) * kUnit * magnitude);
      }
    }
    return out;
  }
  static constexpr std::int64_t kStride = 137;
  static constexpr std::int64_t token_count = 6;
  Random random;
  std::int64_t heads;
  std::int64_t dim;
  TestCache keys;
  std::vector<float> q;
  std::vector<float> weights;
  std::vector<std::int32_t> visible = {0, 1, 64, 65, 130, 137};
};

class Indexer : public EveryTable {};
PELLUCID_FOR_EVERY_TABLE(Indexer);

TEST_P(Indexer, MatchesTheReference) {
  std::uint32_t seed = 1;
  for (const tensor::Element element : {tensor::Element::kBf16, tensor::Element::kF32}) {
    for (const std::int64_t heads : {1, 4, 25, 50}) {
      for (const std::int64_t dim : {3, 32, 71}) {
        SCOPED_TRACE(std::to_string(heads) + " heads of " + std::to_string(dim));
        expect_matches_reference(IndexerCase(element, heads, dim, 1 + seed % 16, seed), ops());
        ++seed;
      }
    }
  }
}

TEST_P(Indexer, HasTheSameBitsInEveryBatchAndForEveryThreadCount) {
  expect_invariant(IndexerCase(tensor::Element::kBf16, 32, 40, 16, 2), ops());
}

TEST_P(Indexer, ByHandWithReluBeforeTheWeight) {
  ThreadPool pool(1);
  Random random(3);
  TestCache keys(tensor::Element::kF32, 2, 2, 2, random);
  keys.set(0, 0, 1);
  keys.set(0, 1, 0);
  keys.set(1, 0, 0);
  keys.set(1, 1, 2);
  const std::vector<float> q = {3, -1, -5, 4};  // two heads
  const std::vector<float> weights = {10, -1};
  const std::vector<std::int32_t> visible = {2};
  std::vector<float> scores(3, 9.0F);
  ops().indexer_scores({.q = q.data(),
                        .weights = weights.data(),
                        .keys = keys.rows(),
                        .visible = visible,
                        .index_n_heads = 2,
                        .index_head_dim = 2,
                        .tokens = 1,
                        .scores = scores.data(),
                        .scores_stride = 3},
                       pool);
  EXPECT_EQ(scores[0], 30.0F);  // 10 * relu(3) - relu(-5)
  EXPECT_EQ(scores[1], -8.0F);  // 10 * relu(-2) - relu(8)
  EXPECT_EQ(scores[2], -kInf);
}

TEST_P(Indexer, NonFiniteOperandsAppearWhereTheReferenceHasThem) {
  for (const float value : {kNan, kInf, -kInf}) {
    IndexerCase op(tensor::Element::kBf16, 5, 37, 16, 4);
    const float q = std::exchange(op.q[4 * 5 * 37 + 36], value);
    expect_same_non_finite(op, ops(), "q");
    op.q[4 * 5 * 37 + 36] = q;
    const float weight = std::exchange(op.weights[4 * 5 + 2], value);
    expect_same_non_finite(op, ops(), "weights");
    op.weights[4 * 5 + 2] = weight;
    op.keys.set(63, 36, value);
    expect_same_non_finite(op, ops(), "keys");
  }
}

TEST_P(Indexer, ANanDotProductIsNotHiddenByTheRelu) {
  IndexerCase op(tensor::Element::kBf16, 3, 8, 16, 5);
  op.keys.set(100, 7, kNan);
  const std::vector<float> scores = run_all(op, ops());
  for (std::int64_t t = 0; t < 6; ++t) {
    for (std::int64_t j = 0; j < 137; ++j) {
      const bool seen = j == 100 && op.visible[static_cast<std::size_t>(t)] > 100;
      EXPECT_EQ(numerics::is_nan(scores[static_cast<std::size_t>(t * 137 + j)]), seen);
    }
  }
}

}  // namespace
}  // namespace pellucid::kernels
