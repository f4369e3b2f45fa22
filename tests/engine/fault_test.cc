// A NaN in the weights ends in an error that names the place where it surfaced, never in text.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/file.h"
#include "checkpoint/safetensors.h"
#include "engine/generate.h"
#include "golden.h"
#include "recorder.h"

namespace pellucid::golden {
namespace {

namespace fs = std::filesystem;

/// A copy of the deepseek_v32 fixture (index_topk 8) in which one bf16 element of `tensor` is NaN.
class DamagedModel {
 public:
  DamagedModel(const std::string& tensor, std::uint64_t element)
      : path_(fs::path(testing::TempDir()) / ("damaged." + tensor)) {
    fs::create_directories(path_);
    const fs::path from = source_path("tests/golden/oracle/deepseek_v32");
    for (const char* name : {"config.json", "model.safetensors"}) {
      fs::copy_file(from / name, path_ / name, fs::copy_options::overwrite_existing);
      fs::permissions(path_ / name, fs::perms::owner_write, fs::perm_options::add);
    }
    const std::uint64_t offset = offset_of(from, tensor) + element * 2;
    std::fstream file(path_ / "model.safetensors", std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(static_cast<std::streamoff>(offset));
    file.write("\xC0\x7F", 2);  // 0x7FC0, little-endian
    EXPECT_TRUE(file.good());
  }
  ~DamagedModel() { fs::remove_all(path_); }
  DamagedModel(const DamagedModel&) = delete;
  DamagedModel& operator=(const DamagedModel&) = delete;

  [[nodiscard]] const fs::path& path() const { return path_; }

 private:
  static std::uint64_t offset_of(const fs::path& from, const std::string& tensor) {
    const auto directory = Directory::open(from);
    const auto file = MappedFile::open(*directory, "model.safetensors");
    const auto header = checkpoint::parse_header(file->bytes(), "model.safetensors");
    for (const auto& info : header->tensors) {
      if (info.name != tensor) continue;
      EXPECT_EQ(info.dtype, tensor::DType::kBf16);
      return header->data_begin + info.begin;
    }
    ADD_FAILURE() << tensor << " is not in the fixture";
    return 0;
  }

  fs::path path_;
};

engine::EngineOptions options_for(const kernels::OpTable* table) {
  engine::EngineOptions options;
  options.ops = table->name;
  options.threads = 1;
  options.context_max = 64;
  return options;
}

const std::vector<std::int32_t> kPrompt = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};

TEST(Fault, NanLogitEndsTheAnswerWithItsStepAndToken) {
  const DamagedModel model("lm_head.weight", 64 * 77);  // hidden_size 64: row 77
  for (const kernels::OpTable* table : kernels::available_ops()) {
    auto engine = load(model.path(), options_for(table));
    ASSERT_TRUE(engine);
    auto sequence = engine->new_sequence();
    ASSERT_TRUE(sequence);
    auto request = greedy_request(*engine, kPrompt);
    request.max_tokens = 4;
    const auto answer = engine::generate(*engine, *sequence, request);
    ASSERT_FALSE(answer) << table->name;
    EXPECT_EQ(answer.error().kind, ErrorKind::kNumeric);
    EXPECT_EQ(answer.error().object, "logits of step 0");
    EXPECT_EQ(answer.error().found, "NaN at token id 77");
  }
}

TEST(Fault, NanIndexScoreIsAnErrorAndNotAnAbsentPosition) {
  const DamagedModel model("model.layers.1.self_attn.indexer.wk.weight", 5);
  for (const kernels::OpTable* table : kernels::available_ops()) {
    auto engine = load(model.path(), options_for(table));
    ASSERT_TRUE(engine);
    auto sequence = engine->new_sequence();
    ASSERT_TRUE(sequence);
    // Eight positions are all selected unscored; the ninth and tenth are scored against 9 and 10.
    ASSERT_TRUE(engine->prefill(*sequence, std::span(kPrompt).first(8))) << table->name;
    const auto beyond = engine->prefill(*sequence, std::span(kPrompt).subspan(8));
    ASSERT_FALSE(beyond) << table->name;
    EXPECT_EQ(beyond.error().kind, ErrorKind::kNumeric);
    EXPECT_EQ(beyond.error().rule, "index_scores_finite");
    EXPECT_EQ(beyond.error().object, "index scores of positions 8 to 9");
    EXPECT_EQ(beyond.error().found, "19 NaN");
    EXPECT_EQ(sequence->length(), 8);
  }
}

}  // namespace
}  // namespace pellucid::golden
