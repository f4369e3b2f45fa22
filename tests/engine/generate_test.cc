// Limits, errors and endings of the engine and its generate loop.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>

#include "engine/generate.h"
#include "golden.h"
#include "recorder.h"

namespace pellucid::golden {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

engine::EngineOptions small_options() {
  engine::EngineOptions options;
  options.context_max = 64;
  options.threads = 1;
  options.id_limit = 1262;
  return options;
}

/// "What is the capital of France?" without thinking.
const std::vector<std::int32_t> kCapital = {1244, 1246, 1249, 296,  265,  260, 452,
                                            322,  1231, 30,   1250, 1252, 1253};
const std::vector<std::int32_t> kAnswer = {404, 452, 322, 1231, 265, 1183, 13, 1249};

class Generate : public testing::Test {
 protected:
  void SetUp() override {
    engine_ = load(source_path("models/tiny"), small_options());
    ASSERT_TRUE(engine_);
    auto sequence = engine_->new_sequence();
    ASSERT_TRUE(sequence);
    sequence_.emplace(*std::move(sequence));
  }

  std::optional<engine::Engine> engine_;
  std::optional<engine::Sequence> sequence_;
};

TEST_F(Generate, StopIdEndsTheAnswerAndIsItsLastToken) {
  auto request = greedy_request(*engine_, kCapital);
  request.max_tokens.reset();
  const auto result = engine::generate(*engine_, *sequence_, request);
  ASSERT_TRUE(result) << result.error().to_string();
  EXPECT_EQ(result->tokens, kAnswer);
  EXPECT_EQ(result->finish_reason, engine::FinishReason::kStop);
  EXPECT_EQ(result->timings.prompt_tokens, 13);
  EXPECT_EQ(result->timings.decode_steps, 7);
  EXPECT_EQ(sequence_->length(), 13 + 7);  // the stop id was never run
}

TEST_F(Generate, MaxTokensEndsItAsLength) {
  auto request = greedy_request(*engine_, kCapital);
  request.max_tokens = 3;
  const auto result = engine::generate(*engine_, *sequence_, request);
  ASSERT_TRUE(result);
  EXPECT_THAT(result->tokens, ElementsAre(404, 452, 322));
  EXPECT_EQ(result->finish_reason, engine::FinishReason::kLength);
}

TEST_F(Generate, ContextIsTheLimitWhenNoneIsGiven) {
  auto request = greedy_request(*engine_, kCapital);
  request.stop_ids = {};
  request.max_tokens.reset();
  const auto result = engine::generate(*engine_, *sequence_, request);
  ASSERT_TRUE(result);
  EXPECT_EQ(result->tokens.size(), 64U - 13U);
  EXPECT_EQ(result->finish_reason, engine::FinishReason::kLength);
}

TEST_F(Generate, CallbackAndFlagCancel) {
  int calls = 0;
  auto request = greedy_request(*engine_, kCapital);
  request.max_tokens = 20;
  const auto by_callback =
      engine::generate(*engine_, *sequence_, request, [&](const sampler::Sample&) {
        return ++calls == 2 ? engine::OnToken::kStop : engine::OnToken::kContinue;
      });
  ASSERT_TRUE(by_callback);
  EXPECT_EQ(by_callback->finish_reason, engine::FinishReason::kCancelled);
  EXPECT_EQ(by_callback->tokens.size(), 2U);

  engine_->truncate(*sequence_, 0);
  const std::atomic<bool> cancel = true;
  request.cancel = &cancel;
  const auto by_flag = engine::generate(*engine_, *sequence_, request);
  ASSERT_TRUE(by_flag);
  EXPECT_EQ(by_flag->finish_reason, engine::FinishReason::kCancelled);
  EXPECT_TRUE(by_flag->tokens.empty());
  EXPECT_EQ(sequence_->length(), 0);
}

TEST_F(Generate, OverflowOfTheContextIsAnErrorBeforeAnyWork) {
  auto request = greedy_request(*engine_, kCapital);
  request.max_tokens = 64 - 13 + 1;
  const auto result = engine::generate(*engine_, *sequence_, request);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().rule, "context_length_exceeded");
  EXPECT_THAT(result.error().to_string(), HasSubstr("13 in the prompt, 52 to generate"));
  EXPECT_EQ(sequence_->length(), 0);

  const std::vector<std::int32_t> too_long(65, 5);
  const auto prefill = engine_->prefill(*sequence_, too_long);
  ASSERT_FALSE(prefill);
  EXPECT_EQ(prefill.error().kind, ErrorKind::kLimit);
  EXPECT_EQ(prefill.error().source, "context_max");
  EXPECT_EQ(sequence_->length(), 0);
}

TEST_F(Generate, BadRequestsNameTheField) {
  const std::vector<std::int32_t> bad_ids[] = {{5, -1}, {5, 1262}, {5, INT32_MAX}};
  for (const auto& ids : bad_ids) {
    const auto result = engine_->prefill(*sequence_, ids);
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().rule, "token_id");
    EXPECT_EQ(result.error().object, "token id at index 1");
  }
  auto request = greedy_request(*engine_, {});
  request.max_tokens = 3;
  const auto empty = engine::generate(*engine_, *sequence_, request);
  ASSERT_FALSE(empty);
  EXPECT_EQ(empty.error().rule, "prompt_empty");

  request = greedy_request(*engine_, kCapital);
  request.max_tokens = 0;
  EXPECT_EQ(engine::generate(*engine_, *sequence_, request).error().rule, "max_tokens");
  request.max_tokens = 3;
  request.sampling.top_p = 0;
  EXPECT_EQ(engine::generate(*engine_, *sequence_, request).error().object, "top_p");
  EXPECT_EQ(sequence_->length(), 0);
}

TEST_F(Generate, PaddingRowsAreNeverSampled) {
  auto request = greedy_request(*engine_, kCapital);
  request.stop_ids = {};
  request.max_tokens = 40;
  request.sampling.temperature = 100;
  const auto result = engine::generate(*engine_, *sequence_, request);
  ASSERT_TRUE(result);
  for (const std::int32_t token : result->tokens) EXPECT_LT(token, 1262);
}

TEST_F(Generate, SequencesAreLimitedAndReusable) {
  EXPECT_EQ(engine_->new_sequence().error().source, "sequences_max");
  sequence_.reset();
  EXPECT_TRUE(engine_->new_sequence());
}

TEST(EngineOptions, EachIsCheckedByName) {
  const struct {
    const char* option;
    void (*change)(engine::EngineOptions&);
  } cases[] = {
      {"threads", [](engine::EngineOptions& o) { o.threads = -1; }},
      {"context_max", [](engine::EngineOptions& o) { o.context_max = 0; }},
      {"context_max", [](engine::EngineOptions& o) { o.context_max = 8193; }},
      {"sequences_max", [](engine::EngineOptions& o) { o.sequences_max = 0; }},
      {"kv_tokens_max", [](engine::EngineOptions& o) { o.kv_tokens_max = 0; }},
      {"chunk_tokens", [](engine::EngineOptions& o) { o.chunk_tokens = 0; }},
      {"ids of the tokenizer", [](engine::EngineOptions& o) { o.id_limit = 1345; }},
      {"operator table", [](engine::EngineOptions& o) { o.ops = "fastest"; }},
  };
  for (const auto& c : cases) {
    engine::EngineOptions options = small_options();
    c.change(options);
    const auto engine = engine::Engine::load(source_path("models/tiny"), options);
    ASSERT_FALSE(engine) << c.option;
    EXPECT_EQ(engine.error().object, c.option);
  }
}

TEST(EngineOptions, OpenOnesAreFilledIn) {
  std::vector<std::int64_t> layers;
  engine::EngineOptions options;
  const auto engine = engine::Engine::load(
      source_path("models/tiny"), options, [&](const engine::LoadProgress& progress) {
        if (progress.stage == engine::LoadProgress::Stage::kLayers) layers.push_back(progress.done);
      });
  ASSERT_TRUE(engine) << engine.error().to_string();
  EXPECT_EQ(engine->context_max(), 8192);
  EXPECT_EQ(engine->id_limit(), 1344);
  EXPECT_GE(engine->threads(), 1);
  EXPECT_THAT(layers, ElementsAre(1, 2, 3, 4, 5, 6, 7, 8));
}

}  // namespace
}  // namespace pellucid::golden
