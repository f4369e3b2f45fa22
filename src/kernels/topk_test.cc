#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "kernels/test_support.h"

namespace pellucid::kernels {
namespace {

using testing::ElementsAre;

struct Selected {
  std::vector<std::int32_t> indices;
  std::vector<std::int32_t> counts;
  std::int64_t nan_count = 0;
};

Selected topk(const OpTable& ops, const std::vector<float>& scores, std::int64_t scores_stride,
              const std::vector<std::int32_t>& visible, std::int64_t k, std::int64_t stride,
              int threads = 1) {
  ThreadPool pool(threads);
  Selected out;
  out.indices.assign(visible.size() * static_cast<std::size_t>(stride), -7);
  out.counts.assign(visible.size(), -7);
  std::vector<std::int32_t> scratch(static_cast<std::size_t>(pool.threads() * scores_stride));
  ops.topk({.scores = scores.empty() ? nullptr : scores.data(),
            .scores_stride = scores_stride,
            .visible = visible,
            .k = k,
            .tokens = static_cast<std::int64_t>(visible.size()),
            .indices = out.indices.data(),
            .stride = stride,
            .counts = out.counts,
            .scratch = scratch.data(),
            .nan_count = &out.nan_count},
           pool);
  return out;
}

std::vector<std::int32_t> best_of(const OpTable& ops, const std::vector<float>& scores,
                                  std::int64_t k) {
  const auto n = static_cast<std::int64_t>(scores.size());
  return topk(ops, scores, n, {static_cast<std::int32_t>(n)}, k, k).indices;
}

class Topk : public EveryTable {};
PELLUCID_FOR_EVERY_TABLE(Topk);

TEST_P(Topk, BestScoresInAscendingOrderOfPosition) {
  EXPECT_THAT(best_of(ops(), {1, 9, 3, 7, 5}, 3), ElementsAre(1, 3, 4));
  EXPECT_THAT(best_of(ops(), {-1, -9, -3, -7}, 2), ElementsAre(0, 2));
}

TEST_P(Topk, TiesGoToTheLowestPosition) {
  EXPECT_THAT(best_of(ops(), {0, 2, 0, 0, 2, 0}, 4), ElementsAre(0, 1, 2, 4));
  EXPECT_THAT(best_of(ops(), {3, 3, 3, 3}, 2), ElementsAre(0, 1));
}

TEST_P(Topk, MinusZeroEqualsZero) {
  EXPECT_THAT(best_of(ops(), {-0.0F, 0.0F, -0.0F, 0.0F}, 2), ElementsAre(0, 1));
  EXPECT_THAT(best_of(ops(), {0.0F, -0.0F, -1.0F}, 1), ElementsAre(0));
  const float tiny = std::numeric_limits<float>::denorm_min();
  EXPECT_THAT(best_of(ops(), {-tiny, -0.0F, 0.0F, tiny}, 2), ElementsAre(1, 3));
}

TEST_P(Topk, NanCountsAsMinusInfinityAndIsCounted) {
  const std::vector<float> scores = {kNan, 1, -kNan, -kInf, 2, -5};
  const Selected two = topk(ops(), scores, 6, {6}, 2, 2);
  EXPECT_THAT(two.indices, ElementsAre(1, 4));
  EXPECT_EQ(two.nan_count, 2);
  EXPECT_THAT(best_of(ops(), scores, 3), ElementsAre(1, 4, 5));
  // Beyond the finite ones: NaN and -inf are equal, the lowest position first.
  EXPECT_THAT(best_of(ops(), scores, 4), ElementsAre(0, 1, 4, 5));
  EXPECT_THAT(best_of(ops(), scores, 5), ElementsAre(0, 1, 2, 4, 5));
}

TEST_P(Topk, InfinityIsBest) {
  EXPECT_THAT(best_of(ops(), {3e38F, kInf, 1, kInf}, 2), ElementsAre(1, 3));
}

TEST_P(Topk, EverythingIsSelectedWithoutReadingScores) {
  const Selected out = topk(ops(), {}, 0, {3, 0, 5}, 5, 6);
  EXPECT_THAT(out.counts, ElementsAre(3, 0, 5));
  EXPECT_THAT(out.indices, ElementsAre(0, 1, 2, -1, -1, -1,     //
                                       -1, -1, -1, -1, -1, -1,  //
                                       0, 1, 2, 3, 4, -1));
  EXPECT_EQ(out.nan_count, 0);
}

TEST_P(Topk, EntriesBeyondVisibleAreNotConsidered) {
  const Selected out = topk(ops(), {1, 2, 3, 4, 99, kNan}, 6, {4}, 2, 4);
  EXPECT_THAT(out.indices, ElementsAre(2, 3, -1, -1));
  EXPECT_EQ(out.nan_count, 0);
}

// Against a full sort by descending value, on rows with plateaus, NaN and infinities.
TEST_P(Topk, AgreesWithAFullSort) {
  Random random(21);
  for (int repeat = 0; repeat < 300; ++repeat) {
    const std::int64_t n = 1 + random.below(400);
    const std::int64_t k = 1 + random.below(n);
    std::vector<float> scores = random.normals(n);
    for (float& score : scores) {
      const auto kind = random.below(20);
      if (kind < 6) score = 0;
      if (kind == 6) score = -0.0F;
      if (kind == 7) score = kNan;
      if (kind == 8) score = -kInf;
      if (kind == 9) score = std::round(score);
    }
    std::vector<std::int32_t> order(static_cast<std::size_t>(n));
    std::iota(order.begin(), order.end(), 0);
    const auto value = [&](std::int32_t i) {
      const float score = scores[static_cast<std::size_t>(i)];
      return std::isnan(score) ? -kInf : score;
    };
    std::sort(order.begin(), order.end(), [&](std::int32_t a, std::int32_t b) {
      return value(a) != value(b) ? value(a) > value(b) : a < b;
    });
    order.resize(static_cast<std::size_t>(k));
    std::sort(order.begin(), order.end());
    ASSERT_EQ(best_of(ops(), scores, k), order) << "n " << n << " k " << k;
  }
}

TEST_P(Topk, LongRowsAndManyThreads) {
  Random random(22);
  const std::int64_t stride = 3000;
  std::vector<float> scores = random.normals(9 * stride);
  for (std::size_t i = 0; i < scores.size(); i += 7) scores[i] = 0;
  for (std::size_t i = 5; i < scores.size(); i += 1000) scores[i] = kNan;
  const std::vector<std::int32_t> visible = {3000, 1, 2048, 2049, 2999, 64, 0, 2500, 65};
  const Selected expected = topk(reference_ops(), scores, stride, visible, 2048, 2048);
  for (const int threads : {1, 2, 3}) {
    const Selected out = topk(ops(), scores, stride, visible, 2048, 2048, threads);
    EXPECT_EQ(out.indices, expected.indices);
    EXPECT_EQ(out.counts, expected.counts);
    EXPECT_EQ(out.nan_count, expected.nan_count);
  }
  EXPECT_GT(expected.nan_count, 0);
}

}  // namespace
}  // namespace pellucid::kernels
