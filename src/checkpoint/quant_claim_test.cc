#include "checkpoint/quant_claim.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/check.h"

namespace pellucid::checkpoint {
namespace {

using ::testing::ElementsAre;

json::Value parse(std::string_view text) {
  auto value = json::parse(text, "test");
  PELLUCID_CHECK(value.has_value());
  return *std::move(value);
}

Expected<QuantClaim> read(std::string_view text) {
  return read_quantization_config(parse(text).object(), "quantization_config.", "config.json");
}

TEST(QuantClaim, ReadsTheClaimsOfReleases) {
  const struct {
    const char* what;
    const char* text;
    std::vector<Format> formats;
    const char* description;
  } cases[] = {
      {"GLM FP8",
       R"({"quant_method":"fp8","fmt":"e4m3","activation_scheme":"dynamic",
           "weight_block_size":[128,128],"modules_to_not_convert":["lm_head"]})",
       {Format::kFp8Block, Format::kFp8BlockUe8m0},
       "fp8 128x128"},
      {"FP8 without blocks", R"({"quant_method":"fp8"})", {Format::kFp8Tensor}, "fp8 per tensor"},
      {"ModelOpt",
       R"({"quant_method":"modelopt","quant_algo":"NVFP4","ignore":["lm_head"]})",
       {Format::kNvfp4ModelOpt},
       "modelopt NVFP4"},
      {"ModelOpt without method",
       R"({"quant_algo":"NVFP4"})",
       {Format::kNvfp4ModelOpt},
       "modelopt NVFP4"},
      {"mixed",
       R"({"quant_method":"modelopt","quant_algo":"MIXED_PRECISION","quantized_layers":{}})",
       {Format::kNvfp4ModelOpt, Format::kFp8Tensor},
       "modelopt MIXED_PRECISION"},
      {"compressed-tensors INT4",
       R"({"quant_method":"compressed-tensors","format":"pack-quantized","config_groups":{"group_0":
           {"targets":["Linear"],"weights":{"num_bits":4,"type":"int","group_size":32,
           "symmetric":true}}},"ignore":[]})",
       {Format::kInt4},
       "compressed-tensors pack-quantized"},
  };
  for (const auto& c : cases) {
    const auto claim = read(c.text);
    ASSERT_TRUE(claim) << c.what << ": " << claim.error().to_string();
    EXPECT_EQ(claim->formats, c.formats) << c.what;
    EXPECT_EQ(claim->text, c.description) << c.what;
    EXPECT_THAT(claim->unread_keys, ElementsAre()) << c.what;
    EXPECT_FALSE(claim->power_of_two_scales) << c.what;
  }
}

TEST(QuantClaim, ReadsDetails) {
  const auto fp8 = read(R"({"quant_method":"fp8","weight_block_size":[128,128],
                            "scale_fmt":"ue8m0","surprise":1})");
  ASSERT_TRUE(fp8) << fp8.error().to_string();
  EXPECT_TRUE(fp8->power_of_two_scales);
  EXPECT_THAT(fp8->unread_keys, ElementsAre("quantization_config.surprise"));
  const auto kv = read(R"({"quant_algo":"NVFP4","kv_cache_scheme":{"num_bits":8,"type":"float"}})");
  ASSERT_TRUE(kv) << kv.error().to_string();
  EXPECT_EQ(kv->kv_cache, "float 8");
  const auto hf = read_hf_quant_config(
      parse(R"({"producer":{"name":"modelopt"},"quantization":{"quant_algo":"NVFP4",
                "kv_cache_quant_algo":"FP8","group_size":16,"exclude_modules":["lm_head"]}})"),
      "hf_quant_config.json");
  ASSERT_TRUE(hf) << hf.error().to_string();
  EXPECT_EQ(hf->kv_cache, "FP8");
  EXPECT_TRUE(hf->allows(Format::kNvfp4ModelOpt));
  EXPECT_FALSE(hf->allows(Format::kNvfp4Packed));
}

TEST(QuantClaim, RefusesByKey) {
  const struct {
    const char* text;
    const char* key;
  } cases[] = {
      {"{}", "quant_method"},
      {R"({"quant_method":"gptq"})", "quant_method"},
      {R"({"quant_method":8})", "quant_method"},
      {R"({"quant_method":"modelopt"})", "quant_algo"},
      {R"({"quant_method":"modelopt","quant_algo":"INT3"})", "quant_algo"},
      {R"({"quant_method":"compressed-tensors"})", "format"},
      {R"({"quant_method":"compressed-tensors","format":"marlin-24"})", "format"},
      {R"({"quant_method":"fp8","fmt":"e5m2"})", "fmt"},
      {R"({"quant_method":"fp8","scale_fmt":"float"})", "scale_fmt"},
      {R"({"quant_method":"fp8","weight_block_size":[64,64]})", "weight_block_size"},
      {R"({"quant_method":"fp8","weight_block_size":128})", "weight_block_size"},
      {R"({"quant_algo":"NVFP4","config_groups":{"g":{"weights":{"type":"int","num_bits":3}}}})",
       "config_groups.g.weights.num_bits"},
      {R"({"quant_algo":"NVFP4","config_groups":{"g":{"weights":{"symmetric":false}}}})",
       "config_groups.g.weights.symmetric"},
      {R"({"quant_algo":"NVFP4","kv_cache_scheme":{}})", "kv_cache_scheme.num_bits"},
  };
  for (const auto& c : cases) {
    const auto claim = read(c.text);
    ASSERT_FALSE(claim) << c.text;
    EXPECT_EQ(claim.error().rule, "config.quantization_config." + std::string(c.key)) << c.text;
  }
  EXPECT_EQ(read_hf_quant_config(parse("{}"), "f").error().rule, "config.quantization");
}

}  // namespace
}  // namespace pellucid::checkpoint
