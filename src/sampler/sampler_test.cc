#include "sampler/sampler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <random>

namespace pellucid::sampler {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

Sampler make(const SamplingParams& params, std::int64_t vocab) {
  auto sampler = Sampler::create(params, vocab);
  EXPECT_TRUE(sampler.has_value());
  return *std::move(sampler);
}

std::int32_t first_token(const SamplingParams& params, const std::vector<float>& logits) {
  Sampler sampler = make(params, static_cast<std::int64_t>(logits.size()));
  auto sample = sampler.sample(logits);
  EXPECT_TRUE(sample.has_value());
  return sample ? sample->token : -1;
}

TEST(SamplerNonFinite, NamesTheStepTheFirstIndexAndTheKind) {
  const struct {
    std::vector<float> logits;
    const char* found;
  } cases[] = {
      {{0, 1, kNan, kInf}, "NaN at token id 2"},
      {{0, -kNan, kInf, 2}, "NaN at token id 1"},
      {{0, 1, 2, kInf}, "+Inf at token id 3"},
      {{-kInf, -kInf, -kInf, -kInf}, "-Inf at every token id"},
      {{-kInf, kNan, -kInf, 1}, "NaN at token id 1"},
  };
  for (const double temperature : {0.0, 1.0}) {
    for (const auto& c : cases) {
      Sampler sampler = make({.temperature = temperature, .logit_bias = {{2, -100}, {1, -100}}}, 4);
      ASSERT_TRUE(sampler.sample(std::vector<float>{0, 1, 2, 3}).has_value());
      const auto sample = sampler.sample(c.logits);
      ASSERT_FALSE(sample.has_value()) << c.found;
      EXPECT_EQ(sample.error().kind, ErrorKind::kNumeric);
      EXPECT_EQ(sample.error().found, c.found);
      EXPECT_THAT(sample.error().to_string(), HasSubstr("logits of step 1"));
      EXPECT_EQ(sampler.steps(), 1U);
    }
  }
}

TEST(SamplerNonFinite, MinusInfinityIsAMaskAndPaddingRowsAreNotRead) {
  Sampler sampler = make({.temperature = 0}, 3);
  const auto sample = sampler.sample(std::vector<float>{-kInf, 1, 0, kNan, 9});
  ASSERT_TRUE(sample.has_value());
  EXPECT_EQ(sample->token, 1);
}

TEST(SamplerGreedy, TakesTheLowestIdOnTies) {
  EXPECT_EQ(first_token({.temperature = 0}, {1, 3, 3, 2}), 1);
  EXPECT_EQ(first_token({.temperature = 0}, {-0.0F, 0.0F}), 0);
  EXPECT_EQ(first_token({.temperature = 1e-45}, {1, 3, 3, 2}), 1);  // subnormal: greedy
  EXPECT_EQ(first_token({.temperature = 0, .top_k = 3, .top_p = 0.1}, {5, 5, 5}), 0);
}

TEST(SamplerGreedy, TinyNormalTemperatureStillSamplesWithoutOverflow) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    EXPECT_EQ(first_token({.temperature = 1e-30, .seed = seed}, {-3e38F, 3e38F, 1}), 1);
  }
}

TEST(SamplerValidation, EveryFieldHasItsBounds) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const struct {
    const char* field;
    SamplingParams params;
  } bad[] = {
      {"temperature", {.temperature = -1}},
      {"temperature", {.temperature = 1e30}},
      {"temperature", {.temperature = nan}},
      {"top_k", {.top_k = -1}},
      {"top_p", {.top_p = 0}},
      {"top_p", {.top_p = -0.1}},
      {"top_p", {.top_p = 1.1}},
      {"top_p", {.top_p = nan}},
      {"min_p", {.min_p = -0.1}},
      {"min_p", {.min_p = 2}},
      {"repetition_penalty", {.repetition_penalty = 0}},
      {"repetition_penalty", {.repetition_penalty = 1e30}},
      {"presence_penalty", {.presence_penalty = 2.1}},
      {"frequency_penalty", {.frequency_penalty = -1e30}},
      {"logit_bias", {.logit_bias = {{-1, 0}}}},
      {"logit_bias", {.logit_bias = {{10, 0}}}},
      {"logit_bias", {.logit_bias = {{3, 100.5F}}}},
      {"logit_bias", {.logit_bias = {{3, kNan}}}},
      {"top_logprobs", {.top_logprobs = -1}},
      {"top_logprobs", {.top_logprobs = 21}},
  };
  for (const auto& c : bad) {
    const auto result = validate(c.params, 10);
    ASSERT_FALSE(result.has_value()) << c.field;
    EXPECT_EQ(result.error().object, c.field);
    EXPECT_EQ(result.error().rule, "sampling_range");
    EXPECT_FALSE(result.error().expected.empty());
    EXPECT_FALSE(Sampler::create(c.params, 10).has_value());
  }
  const SamplingParams good[] = {
      {},
      {.temperature = 0},
      {.temperature = 100, .top_k = INT64_MAX, .top_p = 1e-9, .min_p = 1},
      {.repetition_penalty = 0.01, .presence_penalty = -2, .frequency_penalty = 2},
      {.logit_bias = {{0, -100}, {9, 100}}, .top_logprobs = 20},
  };
  for (const SamplingParams& params : good) EXPECT_TRUE(validate(params, 10).has_value());
}

TEST(SamplerBias, AllBannedIsAnErrorAndNeverUniform) {
  Sampler sampler = make({.logit_bias = {{0, -100}, {1, -100}}}, 3);
  const auto ok = sampler.sample(std::vector<float>{9, 9, -50});
  ASSERT_TRUE(ok.has_value());
  EXPECT_EQ(ok->token, 2);
  const auto none = sampler.sample(std::vector<float>{9, 9, -kInf});
  ASSERT_FALSE(none.has_value());
  EXPECT_EQ(none.error().rule, "no_candidate_token");
}

TEST(SamplerBias, IsAddedToTheLogit) {
  EXPECT_EQ(first_token({.temperature = 0, .logit_bias = {{2, 1.5F}}}, {0, 1, 0}), 2);
  EXPECT_EQ(first_token({.temperature = 0, .logit_bias = {{2, 1}}}, {0, 1, 0}), 1);
}

TEST(SamplerPenalties, RepetitionDividesPositiveAndMultipliesNegativeLogits) {
  Sampler sampler = make({.temperature = 0, .repetition_penalty = 2}, 3);
  sampler.add_prompt(std::vector<std::int32_t>{0});
  EXPECT_EQ(sampler.sample(std::vector<float>{3, 2, 1})->token, 1);           // 1.5 2 1
  EXPECT_EQ(sampler.sample(std::vector<float>{-1, -1.2F, -1.5F})->token, 2);  // -2 -2.4 -1.5
}

TEST(SamplerPenalties, PresenceAndFrequencyCountOutputOnly) {
  Sampler presence = make({.temperature = 0, .presence_penalty = 1.5}, 2);
  presence.add_prompt(std::vector<std::int32_t>{0});
  const std::vector<float> logits = {2, 0.4F};
  EXPECT_EQ(presence.sample(logits)->token, 0);
  EXPECT_EQ(presence.sample(logits)->token, 0);  // 0.5 > 0.4, however often it was drawn
  EXPECT_EQ(presence.sample(logits)->token, 0);

  Sampler frequency = make({.temperature = 0, .frequency_penalty = 1}, 2);
  EXPECT_EQ(frequency.sample(logits)->token, 0);
  EXPECT_EQ(frequency.sample(logits)->token, 0);  // 1 > 0.4
  EXPECT_EQ(frequency.sample(logits)->token, 1);  // 0 < 0.4
}

TEST(SamplerLogprobs, ComeFromTheUnmodifiedLogitsOverTheRealVocabulary) {
  const std::vector<float> logits = {1, 2, 0, -kInf, 2, 50};  // id 5 is padding
  Sampler sampler = make({.temperature = 0, .logit_bias = {{0, 10}}, .top_logprobs = 3}, 5);
  const auto sample = sampler.sample(logits);
  ASSERT_TRUE(sample.has_value());
  const double norm = std::log(std::exp(1.0) + 2 * std::exp(2.0) + 1);
  EXPECT_EQ(sample->token, 0);
  EXPECT_FLOAT_EQ(sample->logprob, static_cast<float>(1 - norm));
  std::vector<std::int32_t> ids;
  for (const TokenLogprob& entry : sample->top_logprobs) ids.push_back(entry.token);
  EXPECT_THAT(ids, ElementsAre(1, 4, 0));
  EXPECT_FLOAT_EQ(sample->top_logprobs[0].logprob, static_cast<float>(2 - norm));
  EXPECT_EQ(sample->top_logprobs[2].logprob, sample->logprob);  // the same float
}

TEST(SamplerLogprobs, MoreThanTheVocabularyGivesTheVocabulary) {
  Sampler sampler = make({.temperature = 0, .top_logprobs = 20}, 2);
  const auto sample = sampler.sample(std::vector<float>{0, -kInf});
  ASSERT_TRUE(sample.has_value());
  ASSERT_EQ(sample->top_logprobs.size(), 2U);
  EXPECT_EQ(sample->top_logprobs[0].logprob, 0);
  EXPECT_EQ(sample->top_logprobs[1].logprob, -kInf);
}

/// The distribution that the documented order of filters defines, written as plainly as possible.
std::map<std::int32_t, double> enumerate(const std::vector<float>& logits,
                                         const SamplingParams& params) {
  std::vector<std::pair<double, std::int32_t>> kept;
  for (std::size_t i = 0; i < logits.size(); ++i) {
    kept.emplace_back(std::exp(logits[i] / params.temperature), static_cast<std::int32_t>(i));
  }
  std::sort(kept.begin(), kept.end(), [](const auto& a, const auto& b) {
    return a.first != b.first ? a.first > b.first : a.second < b.second;
  });
  const auto normalise = [&kept] {
    double total = 0;
    for (const auto& [p, id] : kept) total += p;
    for (auto& [p, id] : kept) p /= total;
  };
  if (params.top_k > 0) kept.resize(std::min(kept.size(), static_cast<std::size_t>(params.top_k)));
  normalise();
  double before = 0;
  std::size_t count = 0;
  while (count < kept.size() && before < params.top_p) before += kept[count++].first;
  kept.resize(count);
  normalise();
  const double floor = params.min_p * kept.front().first;
  std::erase_if(kept, [floor](const auto& entry) { return entry.first < floor; });
  normalise();
  std::map<std::int32_t, double> out;
  for (const auto& [p, id] : kept) out[id] = p;
  return out;
}

TEST(SamplerDistribution, EqualsTheEnumeratedOne) {
  const std::vector<float> logits = {0.3F, 2.1F, -1, 1.7F, 0.3F, 2.1F, -4, 0.9F};
  const SamplingParams cases[] = {
      {},
      {.temperature = 0.5},
      {.temperature = 3},
      {.top_k = 1},
      {.top_k = 3},
      {.top_k = 100},
      {.top_p = 0.5},
      {.top_p = 0.9},
      {.top_p = 1e-9},
      {.min_p = 0.25},
      {.min_p = 1},
      {.temperature = 2, .top_k = 6, .top_p = 0.8, .min_p = 0.3},
      {.temperature = 0.7, .top_k = 5, .top_p = 0.97, .min_p = 0.05, .seed = 99},
  };
  constexpr int kDraws = 20000;
  for (const SamplingParams& params : cases) {
    SCOPED_TRACE(testing::Message() << "t " << params.temperature << " k " << params.top_k << " p "
                                    << params.top_p << " min_p " << params.min_p);
    const auto expected = enumerate(logits, params);
    Sampler sampler = make(params, 8);
    std::map<std::int32_t, int> counts;
    for (int i = 0; i < kDraws; ++i) ++counts[sampler.sample(logits)->token];
    for (const auto& [id, count] : counts) EXPECT_TRUE(expected.contains(id)) << id;
    for (const auto& [id, p] : expected) {
      const double sigma = std::sqrt(p * (1 - p) * kDraws);
      EXPECT_NEAR(counts[id], p * kDraws, 5 * sigma + 0.5) << id;
    }
  }
}

TEST(SamplerSeed, FixesTheTokensOnEveryMachine) {
  std::vector<float> logits(1000);
  for (std::size_t i = 0; i < logits.size(); ++i) {
    logits[i] = static_cast<float>((i * 7919) % 1000) * 0x1p-8F;
  }
  const auto draw = [&](SamplingParams params) {
    Sampler sampler = make(params, 1000);
    std::vector<std::int32_t> tokens;
    for (int i = 0; i < 6; ++i) tokens.push_back(sampler.sample(logits)->token);
    return tokens;
  };
  EXPECT_EQ(draw({.seed = 1}), draw({.seed = 1}));
  EXPECT_NE(draw({.seed = 1}), draw({.seed = 2}));
  EXPECT_THAT(draw({.top_p = 0.9, .seed = 1234}), ElementsAre(918, 667, 599, 914, 425, 50));
}

TEST(SamplerProperty, FiltersOnlyShrinkTheSupport) {
  std::mt19937 random(3);
  for (int round = 0; round < 200; ++round) {
    std::vector<float> logits(64);
    for (float& logit : logits) logit = static_cast<float>(random() % 2000) * 0.005F - 5;
    const SamplingParams params = {.temperature = 0.1 + 0.01 * (random() % 200),
                                   .top_k = static_cast<std::int64_t>(random() % 70),
                                   .top_p = 0.01 + 0.0099 * (random() % 100),
                                   .min_p = 0.01 * (random() % 100),
                                   .seed = random()};
    const auto expected = enumerate(logits, params);
    Sampler sampler = make(params, 64);
    for (int i = 0; i < 20; ++i) {
      ASSERT_TRUE(expected.contains(sampler.sample(logits)->token)) << round;
    }
  }
}

}  // namespace
}  // namespace pellucid::sampler
