// Identities that hold bit for bit: sparse and dense within index_topk, any chunking, decode and
// prefill, any number of threads, other sequences or none. Absorbed and expanded attention agree to
// rounding. Built once per operator table, as exact_test.cc.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "golden.h"
#include "numerics/error_measures.h"
#include "recorder.h"

namespace pellucid::golden {
namespace {

constexpr std::int64_t kVocab = 1344;

engine::EngineOptions small_options() {
  engine::EngineOptions options;
  options.context_max = 256;
  options.threads = 2;
  return options;
}

/// 100 ids: well beyond index_topk = 64.
std::vector<std::int32_t> long_prompt() {
  for (const Prompt& prompt : read_prompts(formats()[1])) {
    if (prompt.name == "recall-long-2") return {prompt.ids.begin(), prompt.ids.begin() + 100};
  }
  ADD_FAILURE() << "prompt recall-long-2 is gone";
  return {};
}

testing::AssertionResult same_bits(std::span<const float> found, std::span<const float> expected) {
  const auto comparison = numerics::compare_bits(found, expected, kVocab);
  if (comparison.ok()) return testing::AssertionSuccess();
  return testing::AssertionFailure() << numerics::describe(comparison).data();
}

std::vector<float> all_logits(const engine::EngineOptions& options,
                              std::span<const std::int32_t> ids) {
  auto engine = load(source_path("models/tiny"), options);
  if (!engine) return {};
  return record(*engine, ids).logits;
}

/// Both cache types; the operator table is the program's.
class Identity : public testing::TestWithParam<kv::KvDtype> {
 protected:
  [[nodiscard]] static engine::EngineOptions options() {
    engine::EngineOptions out = small_options();
    out.ops = ENGINE_TEST_OPS;
    out.kv_dtype = GetParam();
    return out;
  }
};

TEST_P(Identity, SparseIsDenseWithinIndexTopk) {
  const auto prompt = long_prompt();
  const auto within = std::span(prompt).first(64);
  engine::EngineOptions dense = options();
  dense.attention_scope = model::AttentionScope::kDense;
  EXPECT_TRUE(same_bits(all_logits(options(), within), all_logits(dense, within)));
}

TEST_P(Identity, SparseDiffersFromDenseBeyondIndexTopk) {
  const auto prompt = long_prompt();
  engine::EngineOptions dense = options();
  dense.attention_scope = model::AttentionScope::kDense;
  const auto sparse_logits = all_logits(options(), prompt);
  const auto dense_logits = all_logits(dense, prompt);
  const std::size_t within = 64 * static_cast<std::size_t>(kVocab);
  ASSERT_EQ(sparse_logits.size(), dense_logits.size());
  EXPECT_TRUE(
      same_bits(std::span(sparse_logits).first(within), std::span(dense_logits).first(within)));
  EXPECT_FALSE(
      same_bits(std::span(sparse_logits).last(kVocab), std::span(dense_logits).last(kVocab)));
}

TEST_P(Identity, ChunksDoNotChangeTheBits) {
  const auto prompt = long_prompt();
  const auto whole = all_logits(options(), prompt);
  for (const std::int64_t chunk : {1, 7, 64}) {
    engine::EngineOptions chunked = options();
    chunked.chunk_tokens = chunk;
    EXPECT_TRUE(same_bits(all_logits(chunked, prompt), whole)) << chunk;
  }
}

TEST_P(Identity, ThreadsDoNotChangeTheBits) {
  const auto prompt = long_prompt();
  engine::EngineOptions one = options();
  one.threads = 1;
  engine::EngineOptions three = options();
  three.threads = 3;
  EXPECT_TRUE(same_bits(all_logits(one, prompt), all_logits(three, prompt)));
}

TEST_P(Identity, DecodeIsPrefillWhateverElseIsCached) {
  const auto prompt = long_prompt();
  engine::EngineOptions two = options();
  two.sequences_max = 2;
  auto engine = load(source_path("models/tiny"), two);
  ASSERT_TRUE(engine);
  const auto whole = record(*engine, prompt).logits;
  auto other = engine->new_sequence();
  auto sequence = engine->new_sequence();
  ASSERT_TRUE(other && sequence);
  for (std::size_t t = 0; t < prompt.size(); ++t) {
    const auto logits = engine->decode(*sequence, prompt[t]);
    ASSERT_TRUE(logits);
    ASSERT_TRUE(same_bits(*logits, std::span(whole).subspan(t * kVocab, kVocab))) << t;
    ASSERT_TRUE(engine->decode(*other, static_cast<std::int32_t>(t)));
  }
}

TEST_P(Identity, TruncatedSequenceContinuesAsIfNothingHadFollowed) {
  const auto prompt = long_prompt();
  auto engine = load(source_path("models/tiny"), options());
  ASSERT_TRUE(engine);
  const auto whole = record(*engine, prompt).logits;
  auto sequence = engine->new_sequence();
  ASSERT_TRUE(sequence);
  ASSERT_TRUE(engine->prefill(*sequence, std::span(prompt).first(80)));
  const std::vector<std::int32_t> wrong(30, 7);
  ASSERT_TRUE(engine->prefill(*sequence, wrong));
  engine->truncate(*sequence, 80);
  const auto logits = engine->prefill(*sequence, std::span(prompt).subspan(80));
  ASSERT_TRUE(logits);
  EXPECT_TRUE(same_bits(*logits, std::span(whole).last(kVocab)));
}

TEST_P(Identity, ExpandedAgreesWithAbsorbed) {
  const auto prompt = long_prompt();
  engine::EngineOptions expanded = options();
  expanded.attention_form = model::AttentionForm::kExpanded;
  const auto found = all_logits(expanded, prompt);
  const auto expected = all_logits(options(), prompt);
  ASSERT_EQ(found.size(), expected.size());
  // f32: rounding of the operators alone. bf16 rows are the same in both, so as tight.
  for (std::size_t t = 0; t < prompt.size(); ++t) {
    ASSERT_TRUE(rows_near(std::span(found).subspan(t * kVocab, kVocab),
                          std::span(expected).subspan(t * kVocab, kVocab), 1e-3))
        << t;
  }
}

INSTANTIATE_TEST_SUITE_P(Caches, Identity, testing::Values(kv::KvDtype::kF32, kv::KvDtype::kBf16),
                         [](const testing::TestParamInfo<kv::KvDtype>& dtype) -> std::string {
                           return dtype.param == kv::KvDtype::kF32 ? "f32" : "bf16";
                         });

}  // namespace
}  // namespace pellucid::golden
