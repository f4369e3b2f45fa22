#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernels/test_support.h"

namespace pellucid::kernels {
namespace {

using testing::ElementsAre;

struct Routed {
  std::vector<std::int32_t> ids;
  std::vector<float> weights;
};

struct RouterCase {
  std::vector<float> logits;
  std::int64_t experts;
  std::vector<float> bias = {};
  ScoringFunc scoring = ScoringFunc::kSigmoid;
  GroupScore group_score = GroupScore::kNone;
  std::int64_t n_group = 1;
  std::int64_t topk_group = 1;
  std::int64_t top_k = 2;
  bool norm_topk_prob = false;
  float routed_scaling_factor = 1.0F;
};

Routed route(const OpTable& ops, const RouterCase& c, int threads = 1) {
  ThreadPool pool(threads);
  const auto tokens = static_cast<std::int64_t>(c.logits.size()) / c.experts;
  Routed out;
  out.ids.resize(static_cast<std::size_t>(tokens * c.top_k), -1);
  out.weights.resize(static_cast<std::size_t>(tokens * c.top_k), -1);
  ops.route({.logits = c.logits.data(),
             .tokens = tokens,
             .experts = c.experts,
             .bias = c.bias.empty() ? nullptr : c.bias.data(),
             .scoring = c.scoring,
             .group_score = c.group_score,
             .n_group = c.n_group,
             .topk_group = c.topk_group,
             .top_k = c.top_k,
             .norm_topk_prob = c.norm_topk_prob,
             .routed_scaling_factor = c.routed_scaling_factor,
             .expert_ids = out.ids.data(),
             .weights = out.weights.data()},
            pool);
  return out;
}

float sigmoid(double x) {
  return static_cast<float>(1 / (1 + std::exp(-x)));
}

class Router : public EveryTable {};
PELLUCID_FOR_EVERY_TABLE(Router);

TEST_P(Router, SelectsTheBestFirst) {
  const Routed out = route(ops(), {.logits = {0.1F, 2.0F, -1.0F, 3.0F}, .experts = 4, .top_k = 3});
  EXPECT_THAT(out.ids, ElementsAre(3, 1, 0));
  EXPECT_THAT(out.weights, ElementsAre(sigmoid(3.0F), sigmoid(2.0F), sigmoid(0.1F)));
}

TEST_P(Router, TheBiasChangesTheSelectionAndNotTheWeights) {
  const RouterCase c{
      .logits = {0.0F, 2.0F, 1.0F}, .experts = 3, .bias = {5.0F, 0.0F, 0.0F}, .top_k = 2};
  const Routed out = route(ops(), c);
  EXPECT_THAT(out.ids, ElementsAre(0, 1));
  EXPECT_THAT(out.weights, ElementsAre(0.5F, sigmoid(2.0F)));
}

TEST_P(Router, TiesGoToTheLowestExpert) {
  EXPECT_THAT(route(ops(), {.logits = {1, 2, 2, 2, 1}, .experts = 5, .top_k = 4}).ids,
              ElementsAre(1, 2, 3, 0));
  // Saturated sigmoids are exact ties.
  EXPECT_THAT(route(ops(), {.logits = {100, 200, 300}, .experts = 3, .top_k = 2}).ids,
              ElementsAre(0, 1));
}

TEST_P(Router, NormalisesThenScales) {
  RouterCase c{.logits = {0.0F, 0.0F, -50.0F, -50.0F},
               .experts = 4,
               .top_k = 2,
               .norm_topk_prob = true,
               .routed_scaling_factor = 2.5F};
  EXPECT_THAT(route(ops(), c).weights, ElementsAre(1.25F, 1.25F));
  c.norm_topk_prob = false;
  EXPECT_THAT(route(ops(), c).weights, ElementsAre(1.25F, 1.25F));  // 0.5 * 2.5
  c.logits = {-200, -200, -200, -200};  // all scores 0: 0 / 1e-20, not 0 / 0
  c.norm_topk_prob = true;
  for (const float w : route(ops(), c).weights) EXPECT_LT(w, 1e-20F);
}

TEST_P(Router, SigmoidNormalisesEvenOneExpert) {
  const RouterCase c{.logits = {0.0F, -3.0F},
                     .experts = 2,
                     .top_k = 1,
                     .norm_topk_prob = true,
                     .routed_scaling_factor = 2.5F};
  EXPECT_THAT(route(ops(), c).weights, ElementsAre(2.5F));
}

// Softmax (model.md 3.6, V2): norm_topk_prob with k > 1 normalises and does not scale; otherwise
// the scaling applies.
TEST_P(Router, SoftmaxScalesOnlyWhenItDoesNotNormalise) {
  RouterCase c{.logits = {std::log(1.0F), std::log(2.0F), std::log(5.0F)},
               .experts = 3,
               .scoring = ScoringFunc::kSoftmax,
               .top_k = 2,
               .routed_scaling_factor = 16.0F};
  Routed out = route(ops(), c);
  EXPECT_THAT(out.ids, ElementsAre(2, 1));
  EXPECT_NEAR(out.weights[0], 16 * 5.0 / 8, 1e-5);
  EXPECT_NEAR(out.weights[1], 16 * 2.0 / 8, 1e-5);
  c.norm_topk_prob = true;
  out = route(ops(), c);
  EXPECT_NEAR(out.weights[0], 5.0 / 7, 1e-6);
  EXPECT_NEAR(out.weights[1], 2.0 / 7, 1e-6);
  c.top_k = 1;
  EXPECT_NEAR(route(ops(), c).weights[0], 16 * 5.0 / 8, 1e-5);
}

// Groups {0,1}, {2,3}, {4,5}. By the sum of two: 1.7, 1.9, 1.55; by the maximum the third wins.
TEST_P(Router, GroupsAreLimitedBySumOrMaximum) {
  const auto logit = [](double p) { return static_cast<float>(std::log(p / (1 - p))); };
  RouterCase c{
      .logits = {logit(0.85), logit(0.85), logit(0.95), logit(0.95), logit(0.99), logit(0.56)},
      .experts = 6,
      .group_score = GroupScore::kTop2Sum,
      .n_group = 3,
      .topk_group = 1,
      .top_k = 2};
  EXPECT_THAT(route(ops(), c).ids, ElementsAre(2, 3));
  c.topk_group = 2;
  EXPECT_THAT(route(ops(), c).ids, ElementsAre(2, 3));
  c.top_k = 3;
  EXPECT_THAT(route(ops(), c).ids, ElementsAre(2, 3, 0));
  c.top_k = 2;
  c.topk_group = 1;
  c.group_score = GroupScore::kMax;
  EXPECT_THAT(route(ops(), c).ids, ElementsAre(4, 5));
  c.topk_group = 3;
  EXPECT_THAT(route(ops(), c).ids, ElementsAre(4, 2));
  c.group_score = GroupScore::kNone;
  EXPECT_THAT(route(ops(), c).ids, ElementsAre(4, 2));
}

TEST_P(Router, EqualGroupsKeepTheLowest) {
  const RouterCase c{.logits = {1, 1, 1, 1, 1, 1, 1, 1},
                     .experts = 8,
                     .group_score = GroupScore::kTop2Sum,
                     .n_group = 4,
                     .topk_group = 2,
                     .top_k = 4};
  EXPECT_THAT(route(ops(), c).ids, ElementsAre(0, 1, 2, 3));
}

// With a mask of 0 instead of -inf the masked experts would win over negative scores.
TEST_P(Router, NegativeScoresOfASurvivingGroupBeatMaskedExperts) {
  const RouterCase c{.logits = {0, 0, 0, 0},
                     .experts = 4,
                     .bias = {-9, -9, -2, -3},
                     .group_score = GroupScore::kTop2Sum,
                     .n_group = 2,
                     .topk_group = 1,
                     .top_k = 2};
  EXPECT_THAT(route(ops(), c).ids, ElementsAre(2, 3));
}

TEST_P(Router, ANanLogitIsSelectedAndItsWeightIsNan) {
  for (const ScoringFunc scoring : {ScoringFunc::kSigmoid, ScoringFunc::kSoftmax}) {
    for (const GroupScore group : {GroupScore::kNone, GroupScore::kTop2Sum, GroupScore::kMax}) {
      for (const bool norm : {false, true}) {
        RouterCase c{.logits = {5, 4, 3, -8, 2, 1},
                     .experts = 6,
                     .scoring = scoring,
                     .group_score = group,
                     .n_group = 3,
                     .topk_group = 1,
                     .top_k = 2,
                     .norm_topk_prob = norm};
        c.logits[3] = kNan;
        const Routed out = route(ops(), c);
        EXPECT_TRUE(numerics::is_nan(out.weights[0]));
        EXPECT_TRUE(scoring == ScoringFunc::kSoftmax || out.ids[0] == 3);
      }
    }
  }
}

TEST_P(Router, InfiniteLogits) {
  const Routed sigmoid_out = route(ops(), {.logits = {-kInf, 0, kInf}, .experts = 3, .top_k = 3});
  EXPECT_THAT(sigmoid_out.ids, ElementsAre(2, 1, 0));
  EXPECT_THAT(sigmoid_out.weights, ElementsAre(1.0F, 0.5F, 0.0F));
  const Routed softmax_out = route(
      ops(), {.logits = {0, kInf, 1}, .experts = 3, .scoring = ScoringFunc::kSoftmax, .top_k = 1});
  EXPECT_TRUE(numerics::is_nan(softmax_out.weights[0])) << "inf - inf";
}

TEST_P(Router, RandomTokensMatchTheReferenceForAnyThreadCount) {
  Random random(12);
  const RouterCase c{.logits = random.normals(40 * 64),
                     .experts = 64,
                     .bias = random.normals(64),
                     .group_score = GroupScore::kTop2Sum,
                     .n_group = 8,
                     .topk_group = 3,
                     .top_k = 6,
                     .norm_topk_prob = true,
                     .routed_scaling_factor = 2.5F};
  const Routed expected = route(reference_ops(), c);
  for (const int threads : {1, 2, 3}) {
    const Routed out = route(ops(), c, threads);
    EXPECT_EQ(out.ids, expected.ids);
    EXPECT_EQ(out.weights, expected.weights);
  }
}

// An oracle that shares nothing with the implementation: full sorts, groups and all.
TEST_P(Router, AgreesWithAFullSort) {
  Random random(13);
  for (int repeat = 0; repeat < 200; ++repeat) {
    RouterCase c{.logits = random.normals(12),
                 .experts = 12,
                 .bias = random.normals(12),
                 .group_score = GroupScore::kTop2Sum,
                 .n_group = 4,
                 .topk_group = 2,
                 .top_k = 3};
    for (float& logit : c.logits) logit = std::round(logit * 2) / 2;  // many ties
    for (float& b : c.bias) b = std::round(b);
    std::vector<float> choice(12);
    for (std::size_t e = 0; e < 12; ++e) choice[e] = sigmoid(c.logits[e]) + c.bias[e];
    std::vector<std::pair<float, int>> groups;
    for (std::size_t g = 0; g < 4; ++g) {
      std::vector<float> own(choice.begin() + static_cast<std::ptrdiff_t>(3 * g),
                             choice.begin() + static_cast<std::ptrdiff_t>(3 * g + 3));
      std::sort(own.rbegin(), own.rend());
      groups.emplace_back(-(own[0] + own[1]), static_cast<int>(g));
    }
    std::sort(groups.begin(), groups.end());
    std::vector<std::pair<float, int>> order;
    for (int kept = 0; kept < 2; ++kept) {
      for (int i = 0; i < 3; ++i) {
        const int e = groups[static_cast<std::size_t>(kept)].second * 3 + i;
        order.emplace_back(-choice[static_cast<std::size_t>(e)], e);
      }
    }
    std::sort(order.begin(), order.end());
    EXPECT_THAT(route(ops(), c).ids,
                ElementsAre(order[0].second, order[1].second, order[2].second));
  }
}

}  // namespace
}  // namespace pellucid::kernels
