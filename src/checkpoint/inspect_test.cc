#include "checkpoint/inspect.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <limits>

#include "base/check.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/test_checkpoint.h"

namespace pellucid::checkpoint {
namespace {

using ::testing::HasSubstr;
using testing::set;
using testing::small_model;
using testing::SmallModel;
using testing::TemporaryDirectory;

constexpr const char* kExpert = "model.layers.1.mlp.experts.3.down_proj";

std::string all_problems(const Inspection& inspection) {
  std::string out;
  for (const Problem& problem : inspection.problems) out += problem.error.to_string() + "\n";
  return out;
}

const Problem* find_rule(const Inspection& inspection, std::string_view rule) {
  for (const Problem& problem : inspection.problems) {
    if (problem.error.rule == rule) return &problem;
  }
  return nullptr;
}

Inspection inspect_ok(const TemporaryDirectory& directory, bool deep = true) {
  auto out = inspect(directory.path(), {.deep = deep});
  PELLUCID_CHECK(out.has_value());
  return *std::move(out);
}

SmallModel nvfp4_model() {
  SmallModel model = small_model();
  model.quantize_all(".experts.", Format::kNvfp4ModelOpt);
  set(model.config, "quantization_config", testing::claim_of(Format::kNvfp4ModelOpt));
  return model;
}

SmallModel packed_model() {
  SmallModel model = small_model();
  model.quantize_all(".experts.", Format::kNvfp4Packed);
  set(model.config, "quantization_config", testing::claim_of(Format::kNvfp4Packed));
  return model;
}

void set_types(SmallModel& model, json::Array types) {
  set(model.config, "indexer_types", std::move(types));
  testing::erase(model.config, "index_topk_freq");
  testing::erase(model.config, "index_skip_topk_offset");
}

/// One defect, and what an inspection must say of it.
struct Defect {
  const char* what;
  SmallModel (*make)();
  const char* rule;
  std::string tensor;
  std::string place;
  int status;
};

const Defect kDefects[] = {
    {"NaN scale byte",
     [] {
       SmallModel model = nvfp4_model();
       model.put(std::string(kExpert) + ".weight_scale", 5 * 2 + 1, "\x7F", 1);
       return model;
     },
     "nonfinite_scale", std::string(kExpert) + ".weight_scale", "[5, 1]", 1},
    {"zero scale byte",
     [] {
       SmallModel model = nvfp4_model();
       model.put(std::string(kExpert) + ".weight_scale", 127, "\x00", 1);
       return model;
     },
     "zero_scale", std::string(kExpert) + ".weight_scale", "[63, 1]", 1},
    {"zero scale_2",
     [] {
       SmallModel model = nvfp4_model();
       model.put_f32(std::string(kExpert) + ".weight_scale_2", 0);
       return model;
     },
     "scale_value", std::string(kExpert) + ".weight_scale_2", "", 2},
    {"NaN input scale",
     [] {
       SmallModel model = nvfp4_model();
       model.put_f32(std::string(kExpert) + ".input_scale",
                     std::numeric_limits<float>::quiet_NaN());
       return model;
     },
     "scale_value", std::string(kExpert) + ".input_scale", "", 2},
    {"denormal scale_2",
     [] {
       SmallModel model = nvfp4_model();
       model.put_f32(std::string(kExpert) + ".weight_scale_2", 1e-40F);
       return model;
     },
     "scale_value", std::string(kExpert) + ".weight_scale_2", "", 2},
    {"infinite weight",
     [] {
       SmallModel model = small_model();
       model.put("model.layers.2.self_attn.o_proj.weight", 2 * (7 * 32 + 9), "\x80\xFF", 2);
       return model;
     },
     "nonfinite_weight", "model.layers.2.self_attn.o_proj.weight", "[7, 9]", 1},
    {"NaN in a norm",
     [] {
       SmallModel model = small_model();
       model.put("model.norm.weight", 2 * 63, "\xC0\x7F", 2);
       return model;
     },
     "nonfinite_weight", "model.norm.weight", "[63]", 1},
    {"NaN fp8 weight",
     [] {
       SmallModel model = small_model();
       model.quantize("model.layers.0.mlp.up_proj", Format::kFp8Block);
       set(model.config, "quantization_config", testing::claim_of(Format::kFp8Block));
       model.put("model.layers.0.mlp.up_proj.weight", 64 * 3 + 2, "\xFF", 1);
       return model;
     },
     "nonfinite_weight", "model.layers.0.mlp.up_proj.weight", "[3, 2]", 1},
    {"scales that are no powers of two under scale_fmt ue8m0",
     [] {
       SmallModel model = small_model();
       model.quantize("model.layers.0.mlp.up_proj", Format::kFp8Block);
       set(model.config, "quantization_config", testing::claim_of(Format::kFp8BlockUe8m0));
       return model;
     },
     "scale_fmt", "model.layers.0.mlp.up_proj.weight_scale_inv", "[0, 0]", 1},
    {"the reciprocal as global scale",
     [] {
       SmallModel model = packed_model();
       model.put_f32(std::string(kExpert) + ".weight_global_scale", 1e-4F);
       return model;
     },
     "scale_reciprocal", std::string(kExpert) + ".weight_global_scale", "", 2},
    {"the reciprocal as scale_2",
     [] {
       SmallModel model = nvfp4_model();
       model.put_f32(std::string(kExpert) + ".weight_scale_2", 1e4F);
       return model;
     },
     "scale_reciprocal", std::string(kExpert) + ".weight_scale_2", "", 2},
    {"an indexer that the schedule does not know",
     [] {
       SmallModel model = small_model();
       set_types(model, {"full", "full", "shared", "shared"});
       return model;
     },
     "indexer_schedule", "model.layers.3.self_attn.indexer.wk.weight", "layer 3", 2},
    {"an indexer that is missing",
     [] {
       SmallModel model = small_model();
       set_types(model, {"full", "full", "full", "full"});
       return model;
     },
     "indexer_schedule", "model.layers.2.self_attn.indexer.wk.weight", "layer 2", 2},
    {"no rope theta",
     [] {
       SmallModel model = small_model();
       set(model.config, "rope_parameters", json::Object{{"rope_type", "default"}});
       return model;
     },
     "config.rope_theta", "", "", 2},
    {"an unread key",
     [] {
       SmallModel model = small_model();
       set(model.config, "attention_temperature", 0.5);
       return model;
     },
     "config.unread", "", "", 1},
    {"a missing tensor",
     [] {
       SmallModel model = small_model();
       model.remove("model.layers.3.self_attn.kv_b_proj.weight");
       return model;
     },
     "tensor_missing", "model.layers.3.self_attn.kv_b_proj.weight", "", 2},
    {"a tensor too many",
     [] {
       SmallModel model = small_model();
       model.add("model.layers.3.self_attn.o_proj.bias", tensor::DType::kBf16, {64});
       return model;
     },
     "unconsumed_tensor", "model.layers.3.self_attn.o_proj.bias", "", 2},
    {"a missing scale",
     [] {
       SmallModel model = nvfp4_model();
       model.remove(std::string(kExpert) + ".weight_scale");
       return model;
     },
     "format", std::string(kExpert) + ".weight", "", 2},
    {"a scale shape off by one",
     [] {
       SmallModel model = nvfp4_model();
       model.remove(std::string(kExpert) + ".weight_scale");
       model.add(std::string(kExpert) + ".weight_scale", tensor::DType::kF8E4M3, {64, 3});
       return model;
     },
     "scale_shape", std::string(kExpert) + ".weight_scale", "", 2},
    {"another vocabulary",
     [] {
       SmallModel model = small_model();
       set(model.config, "vocab_size", 97);
       return model;
     },
     "tensor_shape", "model.embed_tokens.weight", "", 2},
    {"another quantisation than claimed",
     [] {
       SmallModel model = packed_model();
       set(model.config, "quantization_config", testing::claim_of(Format::kInt4));
       return model;
     },
     "format_claim", "model.layers.1.mlp.experts.0.gate_proj.weight_packed", "", 2},
    {"fused experts",
     [] {
       SmallModel model = small_model();
       model.add("model.layers.1.mlp.experts.gate_up_proj", tensor::DType::kBf16, {4, 64, 64});
       return model;
     },
     "fused_experts", "model.layers.1.mlp.experts.gate_up_proj", "", 2},
};

TEST(Inspect, NamesEachDefectWithTensorAndPlace) {
  for (const Defect& defect : kDefects) {
    const TemporaryDirectory directory;
    defect.make().write(directory);
    const Inspection inspection = inspect_ok(directory);
    const Problem* problem = find_rule(inspection, defect.rule);
    ASSERT_NE(problem, nullptr) << defect.what << "\n" << all_problems(inspection);
    EXPECT_EQ(problem->tensor, defect.tensor) << defect.what;
    EXPECT_EQ(problem->place, defect.place) << defect.what;
    EXPECT_EQ(inspection.exit_status(), defect.status) << defect.what;
    EXPECT_THAT(problem->error.to_string(), HasSubstr(defect.tensor)) << defect.what;
    EXPECT_THAT(to_text(inspection), HasSubstr(problem->error.to_string())) << defect.what;
    EXPECT_EQ(inspection.problem_counts.size(), 1U) << defect.what << " brings other findings:\n"
                                                    << all_problems(inspection);
    EXPECT_EQ(Checkpoint::open(directory.path()).has_value(), defect.status < 2) << defect.what;
  }
}

TEST(Inspect, PayloadsAreReadOnlyWhenAsked) {
  const TemporaryDirectory directory;
  SmallModel model = small_model();
  model.put("model.norm.weight", 0, "\xC0\x7F", 2);
  model.write(directory);
  EXPECT_EQ(inspect_ok(directory, false).exit_status(), 0);
  EXPECT_EQ(inspect_ok(directory, true).exit_status(), 1);
}

TEST(Inspect, AMissingShardIsNamedAndTheOthersAreShown) {
  const TemporaryDirectory directory;
  small_model().write(directory, 3);
  std::filesystem::remove(directory.path() / "model-2-of-3.safetensors");
  const Inspection inspection = inspect_ok(directory);
  EXPECT_EQ(inspection.exit_status(), 2);
  EXPECT_EQ(inspection.shards, 2U);
  const Problem* problem = find_rule(inspection, "shard_missing");
  ASSERT_NE(problem, nullptr) << all_problems(inspection);
  EXPECT_THAT(problem->error.found, HasSubstr("model-2-of-3.safetensors"));
  EXPECT_EQ(inspection.problem_counts.size(), 1U) << all_problems(inspection);
}

TEST(Inspect, ATruncatedShardIsNamedWithItsFirstTensorBeyondTheEnd) {
  const TemporaryDirectory directory;
  small_model().write(directory, 2);
  const auto path = directory.path() / "model-2-of-2.safetensors";
  std::filesystem::resize_file(path, std::filesystem::file_size(path) - 1);
  const Inspection inspection = inspect_ok(directory);
  EXPECT_EQ(inspection.exit_status(), 2);
  const Problem* problem = find_rule(inspection, "offset");
  ASSERT_NE(problem, nullptr) << all_problems(inspection);
  EXPECT_EQ(problem->error.source, "model-2-of-2.safetensors");
  EXPECT_FALSE(problem->tensor.empty());
  EXPECT_EQ(inspection.problem_counts.size(), 1U) << all_problems(inspection);
}

TEST(Inspect, OverlappingTensorsAreNamed) {
  const TemporaryDirectory directory;
  small_model().write(directory);
  const auto path = directory.path() / "model.safetensors";
  std::ifstream in(path, std::ios::binary);
  std::string file{std::istreambuf_iterator<char>(in), {}};
  // model.norm.weight [64] bf16 follows the embedding of 96 * 64 * 2 = 12288 bytes.
  const std::string honest = R"("data_offsets":[12288,12416])";
  const std::size_t at = file.find(honest);
  ASSERT_NE(at, std::string::npos);
  file.replace(at, honest.size(), R"("data_offsets":[12286,12414])");
  directory.write("model.safetensors", file);
  const Inspection inspection = inspect_ok(directory);
  const Problem* problem = find_rule(inspection, "overlap");
  ASSERT_NE(problem, nullptr) << all_problems(inspection);
  EXPECT_EQ(problem->tensor, "model.norm.weight");
  EXPECT_THAT(problem->error.expected, HasSubstr("model.embed_tokens.weight"));
}

TEST(Inspect, SystematicDefectsAreCountedNotListed) {
  const TemporaryDirectory directory;
  SmallModel model = nvfp4_model();
  int zeroed = 0;
  for (testing::OwnedTensor& tensor : model.tensors) {
    if (!tensor.spec.name.ends_with("weight_scale_2")) continue;
    std::fill(tensor.bytes.begin(), tensor.bytes.end(), std::byte{0});
    ++zeroed;
  }
  model.write(directory);
  const Inspection inspection = inspect_ok(directory);
  EXPECT_EQ(inspection.problem_counts.at("scale_value"), static_cast<std::uint64_t>(zeroed));
  EXPECT_EQ(inspection.problems.size(), ProblemLog::kKeptPerRule);
  EXPECT_THAT(to_text(inspection), HasSubstr(std::to_string(zeroed) + " problems of rule"));
}

TEST(Inspect, AllowedNonFiniteScalarsLoadWithARecord) {
  const TemporaryDirectory directory;
  SmallModel model = nvfp4_model();
  model.put_f32(std::string(kExpert) + ".weight_scale_2", 0);
  model.write(directory);
  EXPECT_EQ(Checkpoint::open(directory.path()).error().rule, "scale_value");
  const auto opened = Checkpoint::open(directory.path(), {.allow_nonfinite_weights = true});
  ASSERT_TRUE(opened) << opened.error().to_string();
  ASSERT_EQ(opened->problems().size(), 1U);
  EXPECT_EQ(opened->problems()[0].severity, Severity::kWarning);
}

TEST(Inspect, MtpLayersMayBeAbsent) {
  const TemporaryDirectory directory;
  SmallModel model = small_model();
  std::erase_if(model.tensors, [](const testing::OwnedTensor& tensor) {
    return tensor.spec.name.starts_with("model.layers.4.");
  });
  model.write(directory);
  const Inspection inspection = inspect_ok(directory);
  EXPECT_EQ(inspection.mtp_layers, 0);
  EXPECT_EQ(inspection.parameters_mtp, 0U);
  EXPECT_EQ(inspection.exit_status(), 0) << all_problems(inspection);
  EXPECT_THAT(to_text(inspection), HasSubstr("declared by the config, absent from the files"));
}

TEST(Inspect, ReportsProgressUpToTheEnd) {
  std::uint64_t last = 0;
  std::uint64_t total = 0;
  const auto inspection = inspect(PELLUCID_SOURCE_DIR "/models/tiny",
                                  {.deep = true, .progress = [&](std::uint64_t a, std::uint64_t b) {
                                     EXPECT_GE(a, last);
                                     last = a;
                                     total = b;
                                   }});
  ASSERT_TRUE(inspection);
  EXPECT_EQ(inspection->exit_status(), 0) << all_problems(*inspection);
  EXPECT_GT(total, 16'000'000U);
  EXPECT_EQ(last, total);
  EXPECT_EQ(inspection->scanned_bytes, total);
}

TEST(Inspect, JsonOfTheShippedModel) {
  const auto inspection = inspect(PELLUCID_SOURCE_DIR "/models/tiny");
  ASSERT_TRUE(inspection);
  const json::Value value = to_json(*inspection);
  EXPECT_EQ(value.find("status")->integer(), 0);
  EXPECT_EQ(value.find("mtp_layers")->integer(), 1);
  const json::Value& model = *value.find("model");
  EXPECT_EQ(model.find("family")->string(), "glm_moe_dsa");
  EXPECT_EQ(model.find("rope")->find("theta")->number(), 100000.0);
  EXPECT_EQ(json::dump(*value.find("indexer_layers")), "[0,1,2,6]");
  EXPECT_EQ(json::dump(*value.find("formats")->array()[1].find("format")), "\"nvfp4_modelopt\"");
  // Facts by hand: 7 + 1 MoE layers of 16 experts with 3 matrices in 4 tensors each.
  EXPECT_EQ(value.find("formats")->array()[1].find("weights")->integer(), 8 * 16 * 3);
  EXPECT_EQ(value.find("formats")->array()[1].find("tensors")->integer(), 8 * 16 * 3 * 4);
  const auto again = json::parse(json::dump(value), "again");
  ASSERT_TRUE(again);
  EXPECT_EQ(*again, value);
}

TEST(Inspect, APathThatIsNoDirectoryIsAnError) {
  EXPECT_EQ(inspect("/nonexistent").error().rule, "directory_missing");
  EXPECT_EQ(inspect(PELLUCID_SOURCE_DIR "/models/tiny/config.json").error().rule,
            "directory_missing");
}

}  // namespace
}  // namespace pellucid::checkpoint
