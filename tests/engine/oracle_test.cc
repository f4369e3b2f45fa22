// f32 arithmetic against the second oracle: random checkpoints of the other families
// (tests/golden/oracle/README.md), logits and hidden states within 1e-4 at every position, choices
// identical. Every operator table of this CPU, both forms of attention.

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "golden.h"
#include "recorder.h"

namespace pellucid::golden {
namespace {

constexpr double kTolerance = 1e-4;

std::vector<std::string> fixtures() {
  std::vector<std::string> out;
  for (const auto& entry :
       std::filesystem::directory_iterator(source_path("tests/golden/oracle"))) {
    if (std::filesystem::exists(entry.path() / "expected.safetensors")) {
      out.push_back(entry.path().filename().string());
    }
  }
  std::sort(out.begin(), out.end());
  return out;
}

class Oracle : public testing::TestWithParam<std::string> {
 protected:
  // Compares everything recorded with everything expected.
  void expect_all(const Recorder& found, const Tensors& expected) {
    for (const auto& [name, tensor] : expected) {
      SCOPED_TRACE(name);
      if (name == "logits") expect_rows(found.logits, tensor, 0);
      if (name == "hidden") {
        for (std::int64_t layer = 0; layer < tensor.shape[0]; ++layer) {
          expect_rows(found.hidden_rows.at(layer), tensor, layer * tensor.shape[1]);
        }
      }
      if (const auto layer = layer_of(name, "selection.")) expect_selection(found, tensor, *layer);
      if (const auto layer = layer_of(name, "experts.")) expect_experts(found, tensor, *layer);
    }
  }

 private:
  static void expect_rows(std::span<const float> rows, const Tensor& tensor,
                          std::int64_t first_row) {
    const auto width = static_cast<std::size_t>(tensor.shape.back());
    const std::size_t count = rows.size() / width;
    ASSERT_EQ(count, static_cast<std::size_t>(tensor.shape[tensor.shape.size() - 2]));
    for (std::size_t t = 0; t < count; ++t) {
      ASSERT_TRUE(rows_near(rows.subspan(t * width, width),
                            tensor.row(first_row + static_cast<std::int64_t>(t)), kTolerance))
          << "row " << first_row + static_cast<std::int64_t>(t);
    }
  }

  static void expect_selection(const Recorder& found, const Tensor& tensor, std::int64_t layer) {
    const auto& rows = found.selections.at(layer);
    ASSERT_EQ(static_cast<std::int64_t>(rows.size()), tensor.shape[0]);
    for (std::size_t t = 0; t < rows.size(); ++t) {
      const auto want = tensor.ids(static_cast<std::int64_t>(t));
      const std::vector<std::int32_t> valid(want.begin(), std::find(want.begin(), want.end(), -1));
      ASSERT_EQ(rows[t], valid) << "row " << t;
    }
  }

  static void expect_experts(const Recorder& found, const Tensor& tensor, std::int64_t layer) {
    std::vector<std::int32_t> ids = found.expert_ids.at(layer);
    ASSERT_EQ(ids.size(), tensor.i32.size());
    const auto width = tensor.shape[1];
    for (std::int64_t t = 0; t < tensor.shape[0]; ++t) {
      std::sort(ids.begin() + t * width, ids.begin() + (t + 1) * width);
    }
    EXPECT_EQ(ids, tensor.i32);
  }
};

TEST_P(Oracle, AgreesAtEveryPosition) {
  const std::filesystem::path folder = source_path("tests/golden/oracle") / GetParam();
  const Tensors expected = read_tensors(folder / "expected.safetensors");
  ASSERT_TRUE(expected.contains("logits") && expected.contains("hidden"));
  for (const kernels::OpTable* table : kernels::available_ops()) {
    for (const auto form : {model::AttentionForm::kAbsorbed, model::AttentionForm::kExpanded}) {
      SCOPED_TRACE(std::string(table->name) +
                   (form == model::AttentionForm::kAbsorbed ? " absorbed" : " expanded"));
      engine::EngineOptions options;
      options.ops = table->name;
      options.threads = 1;
      options.kv_dtype = kv::KvDtype::kF32;
      options.attention_form = form;
      options.context_max = 64;
      auto engine = load(folder, options);
      ASSERT_TRUE(engine);
      ASSERT_EQ(engine->ops_name(), table->name);
      expect_all(record(*engine, expected.at("ids").i32), expected);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Fixtures, Oracle, testing::ValuesIn(fixtures()),
                         [](const testing::TestParamInfo<std::string>& fixture) {
                           return fixture.param;
                         });

}  // namespace
}  // namespace pellucid::golden
