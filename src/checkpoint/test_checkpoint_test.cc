#include "checkpoint/test_checkpoint.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <random>

#include "base/check.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/registry.h"
#include "checkpoint/safetensors.h"

namespace pellucid::checkpoint::testing {
namespace {

using tensor::DType;

std::vector<std::uint64_t> shape2(std::int64_t rows, std::int64_t cols) {
  return {static_cast<std::uint64_t>(rows), static_cast<std::uint64_t>(cols)};
}

/// Bytes that are finite in every element type used: exponents in the middle.
std::vector<std::byte> fill(DType dtype, const std::vector<std::uint64_t>& shape) {
  static std::mt19937 random(1);  // NOLINT: the same values in every run
  std::vector<std::byte> out(*tensor_bytes(dtype, shape));
  const std::size_t width = std::max(1, bits(dtype) / 8);
  for (std::size_t i = 0; i < out.size(); ++i) {
    const bool is_high = width > 1 && i % width == width - 1;
    const auto value = static_cast<std::uint8_t>(random());
    out[i] = static_cast<std::byte>(is_high ? 0x3C | (value & 0x80) : value);
    if (width == 1) out[i] = static_cast<std::byte>(0x30 + (value & 0x0F));
  }
  return out;
}

json::Value mapping(json::Object members) {
  return members;
}

json::Object common_config() {
  return {{"hidden_size", 64},
          {"num_hidden_layers", 4},
          {"vocab_size", 96},
          {"max_position_embeddings", 512},
          {"num_attention_heads", 2},
          {"num_key_value_heads", 2},
          {"q_lora_rank", 32},
          {"kv_lora_rank", 32},
          {"qk_nope_head_dim", 16},
          {"qk_rope_head_dim", 8},
          {"v_head_dim", 16},
          {"intermediate_size", 96},
          {"moe_intermediate_size", 32},
          {"n_routed_experts", 4},
          {"num_experts_per_tok", 2},
          {"n_shared_experts", 1},
          {"n_group", 2},
          {"topk_group", 1},
          {"norm_topk_prob", true},
          {"routed_scaling_factor", 2.5},
          {"first_k_dense_replace", 1},
          {"moe_layer_freq", 1},
          {"rms_norm_eps", 1e-6},
          {"hidden_act", "silu"},
          {"attention_bias", false},
          {"tie_word_embeddings", false},
          {"eos_token_id", 1},
          {"bos_token_id", 0},
          {"initializer_range", 0.02},
          {"use_cache", true},
          {"torch_dtype", "bfloat16"}};
}

json::Value yarn_rope() {
  return mapping({{"type", "yarn"},
                  {"factor", 40},
                  {"original_max_position_embeddings", 4096},
                  {"beta_fast", 32},
                  {"beta_slow", 1},
                  {"mscale", 1.0},
                  {"mscale_all_dim", 1.0}});
}

void add_indexer(json::Value& config) {
  set(config, "index_n_heads", 2);
  set(config, "index_head_dim", 16);
  set(config, "index_topk", 8);
}

}  // namespace

TemporaryDirectory::TemporaryDirectory() {
  std::string name = (std::filesystem::temp_directory_path() / "pellucid-test-XXXXXX").string();
  PELLUCID_CHECK(mkdtemp(name.data()) != nullptr);
  path_ = name;
}

TemporaryDirectory::~TemporaryDirectory() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

void TemporaryDirectory::write(std::string_view name, std::string_view text) const {
  std::ofstream file(path_ / name, std::ios::binary);
  file.write(text.data(), static_cast<std::streamsize>(text.size()));
  PELLUCID_CHECK(file.good());
}

void set(json::Value& object, std::string_view key, json::Value value) {
  for (json::Member& member : object.object()) {
    if (member.first != key) continue;
    member.second = std::move(value);
    return;
  }
  object.object().emplace_back(key, std::move(value));
}

void erase(json::Value& object, std::string_view key) {
  std::erase_if(object.object(), [&](const json::Member& member) { return member.first == key; });
}

json::Value small_config(std::string_view model_type) {
  json::Value config = common_config();
  set(config, "model_type", model_type);
  set(config, "architectures", json::Array{"DeepseekV3ForCausalLM"});
  set(config, "rope_theta", 10000);
  set(config, "rope_scaling", yarn_rope());
  if (model_type == "glm_moe_dsa") {
    set(config, "architectures", json::Array{"GlmMoeDsaForCausalLM"});
    erase(config, "rope_theta");
    erase(config, "rope_scaling");
    set(config, "rope_parameters", mapping({{"rope_theta", 1000000}, {"rope_type", "default"}}));
    set(config, "index_topk_freq", 2);
    set(config, "index_skip_topk_offset", 2);
    set(config, "num_nextn_predict_layers", 1);
    add_indexer(config);
  }
  if (model_type == "deepseek_v32") {
    set(config, "architectures", json::Array{"DeepseekV32ForCausalLM"});
    add_indexer(config);
  }
  if (model_type == "deepseek_v2") {
    set(config, "architectures", json::Array{"DeepseekV2ForCausalLM"});
    set(config, "q_lora_rank", nullptr);
    set(config, "scoring_func", "softmax");
    set(config, "topk_method", "group_limited_greedy");
  }
  if (model_type != "kimi_k25") return config;
  set(config, "model_type", "kimi_k2");
  return mapping({{"architectures", json::Array{"KimiK25ForConditionalGeneration"}},
                  {"model_type", "kimi_k25"},
                  {"text_config", config},
                  {"vision_config", mapping({{"hidden_size", 8}})}});
}

SmallModel small_model(std::string_view model_type) {
  SmallModel out{.config = small_config(model_type), .tensors = {}};
  const auto config = read_model_config(out.config, "config.json");
  PELLUCID_CHECK(config.has_value());
  for (const ExpectedTensor& expected : expected_tensors(*config, complete_facts(*config))) {
    if (expected.is_optional) continue;
    if (expected.is_linear) {
      out.add(expected.name + ".weight", DType::kBf16, shape2(expected.rows, expected.cols));
      continue;
    }
    const bool is_bias = expected.name.ends_with("e_score_correction_bias");
    out.add(expected.name, is_bias ? DType::kF32 : DType::kBf16,
            {static_cast<std::uint64_t>(expected.rows)});
  }
  return out;
}

OwnedTensor& SmallModel::at(std::string_view name) {
  for (OwnedTensor& tensor : tensors) {
    if (tensor.spec.name == name) return tensor;
  }
  PELLUCID_CHECK(false && "no such tensor in the test model");
  __builtin_unreachable();
}

void SmallModel::remove(std::string_view name) {
  const auto erased =
      std::erase_if(tensors, [&](const OwnedTensor& tensor) { return tensor.spec.name == name; });
  PELLUCID_CHECK(erased == 1);
}

void SmallModel::add(std::string name, DType dtype, std::vector<std::uint64_t> shape) {
  std::vector<std::byte> bytes = fill(dtype, shape);
  tensors.push_back({.spec = {.name = std::move(name), .dtype = dtype, .shape = std::move(shape)},
                     .bytes = std::move(bytes)});
}

void SmallModel::put(std::string_view name, std::size_t offset, const void* data,
                     std::size_t size) {
  OwnedTensor& tensor = at(name);
  PELLUCID_CHECK(offset + size <= tensor.bytes.size());
  std::memcpy(tensor.bytes.data() + offset, data, size);
}

void SmallModel::quantize(const std::string& module, Format format) {
  const auto shape = at(module + ".weight").spec.shape;
  const auto rows = static_cast<std::int64_t>(shape[0]);
  const auto cols = static_cast<std::int64_t>(shape[1]);
  remove(module + ".weight");
  const auto blocks = shape2((rows + 127) / 128, (cols + 127) / 128);
  const auto scalar = [&](const std::string& part, float value, bool one_dim = false) {
    add(module + part, DType::kF32,
        one_dim ? std::vector<std::uint64_t>{1} : std::vector<std::uint64_t>{});
    put_f32(module + part, value);
  };
  switch (format) {
    case Format::kBf16:
      return add(module + ".weight", DType::kBf16, shape);
    case Format::kF16:
      return add(module + ".weight", DType::kF16, shape);
    case Format::kF32:
      return add(module + ".weight", DType::kF32, shape);
    case Format::kFp8Block: {
      add(module + ".weight", DType::kF8E4M3, shape);
      add(module + ".weight_scale_inv", DType::kF32, blocks);
      for (std::size_t i = 0; i < blocks[0] * blocks[1]; ++i) {
        const float value = 0.0312501F;
        put(module + ".weight_scale_inv", i * sizeof(value), &value, sizeof(value));
      }
      return;
    }
    case Format::kFp8BlockUe8m0:
      add(module + ".weight", DType::kF8E4M3, shape);
      return add(module + ".weight_scale_inv", DType::kF8E8M0, blocks);
    case Format::kFp8Tensor:
      add(module + ".weight", DType::kF8E4M3, shape);
      scalar(".weight_scale", 0.01F);
      return scalar(".input_scale", 0.02F);
    case Format::kNvfp4ModelOpt:
      add(module + ".weight", DType::kU8, shape2(rows, cols / 2));
      add(module + ".weight_scale", DType::kF8E4M3, shape2(rows, cols / 16));
      scalar(".weight_scale_2", 1e-4F);
      return scalar(".input_scale", 2e-3F);
    case Format::kNvfp4Packed:
      add(module + ".weight_packed", DType::kU8, shape2(rows, cols / 2));
      add(module + ".weight_scale", DType::kF8E4M3, shape2(rows, cols / 16));
      scalar(".weight_global_scale", 1e4F, true);
      return scalar(".input_global_scale", 500.0F, true);
    case Format::kInt4: {
      add(module + ".weight_packed", DType::kI32, shape2(rows, cols / 8));
      add(module + ".weight_scale", DType::kBf16, shape2(rows, cols / 32));
      add(module + ".weight_shape", DType::kI64, {2});
      const std::int64_t stored[] = {rows, cols};
      return put(module + ".weight_shape", 0, stored, sizeof(stored));
    }
    case Format::kMxfp4:
      add(module + ".weight_packed", DType::kU8, shape2(rows, cols / 2));
      return add(module + ".weight_scale", DType::kU8, shape2(rows, cols / 32));
  }
}

void SmallModel::quantize_all(std::string_view part, Format format) {
  std::vector<std::string> modules;
  for (const OwnedTensor& tensor : tensors) {
    const std::string& name = tensor.spec.name;
    const bool is_matrix = tensor.spec.shape.size() == 2 && name.ends_with(".weight");
    if (is_matrix && name.find(part) != std::string::npos) {
      modules.push_back(name.substr(0, name.size() - std::strlen(".weight")));
    }
  }
  for (const std::string& module : modules) quantize(module, format);
}

void SmallModel::write(const TemporaryDirectory& directory, std::size_t shards) const {
  directory.write("config.json", json::dump(config));
  json::Object weight_map;
  for (std::size_t shard = 0; shard < shards; ++shard) {
    std::string name = "model.safetensors";
    if (shards > 1) {
      name =
          "model-" + std::to_string(shard + 1) + "-of-" + std::to_string(shards) + ".safetensors";
    }
    std::vector<TensorData> data;
    for (std::size_t i = shard; i < tensors.size(); i += shards) {
      data.push_back({.spec = tensors[i].spec, .bytes = tensors[i].bytes});
      weight_map.emplace_back(tensors[i].spec.name, name);
    }
    const auto written = write_safetensors(directory.path() / name, data, TensorOrder::kGiven,
                                           {.metadata = {{"format", "pt"}}, .sync = false});
    PELLUCID_CHECK(written.has_value());
  }
  if (shards == 1) return;
  const json::Value index =
      json::Object{{"metadata", json::Object{{"total_size", 1}}}, {"weight_map", weight_map}};
  directory.write("model.safetensors.index.json", json::dump(index));
}

json::Value claim_of(Format format) {
  const auto compressed = [](const char* name, const char* type, int group) {
    return mapping(
        {{"quant_method", "compressed-tensors"},
         {"format", name},
         {"config_groups",
          mapping({{"group_0", mapping({{"targets", json::Array{"Linear"}},
                                        {"weights", mapping({{"num_bits", 4},
                                                             {"type", type},
                                                             {"group_size", group},
                                                             {"symmetric", true}})}})}})},
         {"ignore", json::Array{"lm_head"}}});
  };
  switch (format) {
    case Format::kBf16:
    case Format::kF16:
    case Format::kF32:
      return nullptr;
    case Format::kFp8Block:
      return mapping({{"quant_method", "fp8"},
                      {"fmt", "e4m3"},
                      {"activation_scheme", "dynamic"},
                      {"weight_block_size", json::Array{128, 128}}});
    case Format::kFp8BlockUe8m0:
      return mapping({{"quant_method", "fp8"},
                      {"fmt", "e4m3"},
                      {"scale_fmt", "ue8m0"},
                      {"weight_block_size", json::Array{128, 128}}});
    case Format::kFp8Tensor:
      return mapping({{"quant_method", "modelopt"}, {"quant_algo", "FP8"}});
    case Format::kNvfp4ModelOpt:
      return mapping({{"quant_method", "modelopt"}, {"quant_algo", "NVFP4"}});
    case Format::kNvfp4Packed:
      return compressed("nvfp4-pack-quantized", "float", 16);
    case Format::kInt4:
      return compressed("pack-quantized", "int", 32);
    case Format::kMxfp4:
      return compressed("mxfp4-pack-quantized", "float", 32);
  }
  __builtin_unreachable();
}

TEST(SmallModel, EveryFamilyOpensWithoutProblems) {
  for (const char* family :
       {"glm_moe_dsa", "deepseek_v32", "deepseek_v3", "deepseek_v2", "kimi_k2", "kimi_k25"}) {
    for (const std::size_t shards : {1U, 3U}) {
      const TemporaryDirectory directory;
      small_model(family).write(directory, shards);
      const auto opened = Checkpoint::open(directory.path());
      ASSERT_TRUE(opened) << family << ": " << opened.error().to_string();
      for (const Problem& problem : opened->problems()) {
        ADD_FAILURE() << family << ": " << problem.error.to_string();
      }
    }
  }
}

TEST(SmallModel, EveryFormatOpensWithoutProblems) {
  for (const Format format : {Format::kBf16, Format::kF16, Format::kF32, Format::kFp8Block,
                              Format::kFp8BlockUe8m0, Format::kFp8Tensor, Format::kNvfp4ModelOpt,
                              Format::kNvfp4Packed, Format::kInt4, Format::kMxfp4}) {
    const TemporaryDirectory directory;
    SmallModel model = small_model();
    model.quantize_all(".experts.", format);
    if (is_quantized(format)) set(model.config, "quantization_config", claim_of(format));
    model.write(directory);
    const auto opened = Checkpoint::open(directory.path());
    ASSERT_TRUE(opened) << format_name(format) << ": " << opened.error().to_string();
    for (const Problem& problem : opened->problems()) {
      ADD_FAILURE() << format_name(format) << ": " << problem.error.to_string();
    }
    const auto weight = opened->linear("model.layers.1.mlp.experts.3.down_proj", 64, 32);
    ASSERT_TRUE(weight) << weight.error().to_string();
    EXPECT_FALSE(weight->empty());
  }
}

}  // namespace pellucid::checkpoint::testing
