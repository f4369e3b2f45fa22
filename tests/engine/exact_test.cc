// f32 arithmetic against the recorded outputs of the small model, in every weight format: same ids,
// same selections, same experts, logits and hidden states within 1e-4 at every position. Built once
// per operator table: ENGINE_TEST_OPS is "reference" (the definition) or "auto".

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "golden.h"
#include "recorder.h"

namespace pellucid::golden {
namespace {

constexpr double kTolerance = 1e-4;

class ExactPath : public testing::TestWithParam<Format> {};

std::vector<std::int32_t> sorted(std::span<const std::int32_t> ids) {
  std::vector<std::int32_t> out(ids.begin(), ids.end());
  std::sort(out.begin(), out.end());
  return out;
}

// -1 padding stripped.
std::vector<std::int32_t> valid(std::span<const std::int32_t> row) {
  return {row.begin(), std::find(row.begin(), row.end(), -1)};
}

void expect_choices(const Recorder& found, const Tensors& expected, const std::string& prompt,
                    bool experts_in_order) {
  for (const auto& [name, tensor] : expected) {
    if (const auto selecting = layer_of(name, prompt + ".selection.")) {
      const auto& rows = found.selections.at(*selecting);
      ASSERT_EQ(static_cast<std::int64_t>(rows.size()), tensor.shape[0]);
      for (std::int64_t t = 0; t < tensor.shape[0]; ++t) {
        ASSERT_EQ(rows[static_cast<std::size_t>(t)], valid(tensor.ids(t))) << name << " row " << t;
      }
    } else if (const auto routing = layer_of(name, prompt + ".experts.")) {
      const auto& ids = found.expert_ids.at(*routing);
      ASSERT_EQ(ids.size(), tensor.i32.size());
      for (std::int64_t t = 0; t < tensor.shape[0]; ++t) {
        const auto width = static_cast<std::size_t>(tensor.shape[1]);
        const auto row = std::span(ids).subspan(static_cast<std::size_t>(t) * width, width);
        const auto want = tensor.ids(t);
        if (experts_in_order) {
          ASSERT_TRUE(std::equal(row.begin(), row.end(), want.begin())) << name << " row " << t;
        } else {
          ASSERT_EQ(sorted(row), sorted(want)) << name << " row " << t;
        }
      }
    }
  }
}

void expect_hidden(const Recorder& found, const Tensor& hidden, const std::string& prompt) {
  const std::int64_t layers = hidden.shape[0];
  const std::int64_t tokens = hidden.shape[1];
  const auto width = static_cast<std::size_t>(hidden.shape[2]);
  for (std::int64_t layer = 0; layer < layers; ++layer) {
    const auto& rows = found.hidden_rows.at(layer);
    ASSERT_EQ(rows.size(), static_cast<std::size_t>(tokens) * width);
    for (std::int64_t t = 0; t < tokens; ++t) {
      ASSERT_TRUE(rows_near(std::span(rows).subspan(static_cast<std::size_t>(t) * width, width),
                            hidden.row(layer * tokens + t), kTolerance))
          << prompt << " hidden of layer " << layer << " at position " << t;
    }
  }
}

TEST_P(ExactPath, TensorsAgreeAtEveryPosition) {
  const Format& format = GetParam();
  auto engine = load(format.model, exact_options(ENGINE_TEST_OPS));
  ASSERT_TRUE(engine);
  const Tensors expected = read_tensors(format.references / (format.name + ".safetensors"));
  const auto prompts = recorded_prompts(expected);
  ASSERT_FALSE(prompts.empty());
  const bool experts_in_order = format.references.filename() == "reference";
  for (const std::string& prompt : prompts) {
    SCOPED_TRACE(prompt);
    const Recorder found = record(*engine, expected.at(prompt + ".ids").i32);
    expect_hidden(found, expected.at(prompt + ".hidden"), prompt);
    expect_choices(found, expected, prompt, experts_in_order);
    const Tensor& logits = expected.at(prompt + ".logits");
    const auto width = static_cast<std::size_t>(logits.shape[1]);
    ASSERT_EQ(found.logits.size(), logits.f32.size());
    for (std::int64_t t = 0; t < logits.shape[0]; ++t) {
      ASSERT_TRUE(
          rows_near(std::span(found.logits).subspan(static_cast<std::size_t>(t) * width, width),
                    logits.row(t), kTolerance))
          << "logits at position " << t;
    }
  }
}

// Lowest id on ties, padding rows excluded.
std::int32_t argmax(std::span<const float> logits) {
  const auto real = logits.first(static_cast<std::size_t>(kRealVocab));
  return static_cast<std::int32_t>(std::max_element(real.begin(), real.end()) - real.begin());
}

// One pass over prompt and answer: the same bits as decoding token by token (identity_test.cc), for
// a fraction of the time.
TEST_P(ExactPath, GreedyIdsAreExact) {
  const Format& format = GetParam();
  auto engine = load(format.model, exact_options(ENGINE_TEST_OPS));
  ASSERT_TRUE(engine);
  for (const Prompt& prompt : read_prompts(format)) {
    SCOPED_TRACE(prompt.name);
    std::vector<std::int32_t> ids = prompt.ids;
    ids.insert(ids.end(), prompt.greedy_ids.begin(), prompt.greedy_ids.end() - 1);
    std::vector<std::int32_t> best;
    auto sequence = engine->new_sequence();
    ASSERT_TRUE(sequence);
    const auto scored =
        engine->score(*sequence, ids, [&](std::int64_t position, std::span<const float> logits) {
          if (position + 1 >= static_cast<std::int64_t>(prompt.ids.size())) {
            best.push_back(argmax(logits));
          }
        });
    ASSERT_TRUE(scored) << scored.error().to_string();
    EXPECT_EQ(best, prompt.greedy_ids);
    const auto& stop_ids = engine->config().eos_token_ids;
    const bool stopped = std::find(stop_ids.begin(), stop_ids.end(), best.back()) != stop_ids.end();
    EXPECT_TRUE(stopped || best.size() == 96);
  }
}

INSTANTIATE_TEST_SUITE_P(Formats, ExactPath, testing::ValuesIn(formats()), format_test_name);

}  // namespace
}  // namespace pellucid::golden
