#include "checkpoint/registry.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "base/check.h"
#include "checkpoint/test_checkpoint.h"

namespace pellucid::checkpoint {
namespace {

using testing::set;

ModelConfig config_of(std::string_view model_type,
                      const std::vector<std::pair<const char*, json::Value>>& keys) {
  json::Value config = testing::small_config(model_type);
  for (const auto& [key, value] : keys) set(config, key, value);
  const auto read = read_model_config(config, "config.json");
  if (!read) ADD_FAILURE() << read.error().to_string();
  PELLUCID_CHECK(read.has_value());
  return *read;
}

ModelConfig glm(int freq, int offset) {
  return config_of("glm_moe_dsa", {{"hidden_size", 6144},
                                   {"num_hidden_layers", 78},
                                   {"vocab_size", 154880},
                                   {"num_attention_heads", 64},
                                   {"q_lora_rank", 2048},
                                   {"kv_lora_rank", 512},
                                   {"qk_nope_head_dim", 192},
                                   {"qk_rope_head_dim", 64},
                                   {"v_head_dim", 256},
                                   {"intermediate_size", 12288},
                                   {"moe_intermediate_size", 2048},
                                   {"n_routed_experts", 256},
                                   {"num_experts_per_tok", 8},
                                   {"n_group", 1},
                                   {"first_k_dense_replace", 3},
                                   {"index_n_heads", 32},
                                   {"index_head_dim", 128},
                                   {"index_topk_freq", freq},
                                   {"index_skip_topk_offset", offset}});
}

ModelConfig deepseek(std::string_view model_type, int heads, int experts, int groups, int dense,
                     int vocab) {
  return config_of(model_type, {{"hidden_size", 7168},
                                {"num_hidden_layers", 61},
                                {"vocab_size", vocab},
                                {"num_attention_heads", heads},
                                {"q_lora_rank", 1536},
                                {"kv_lora_rank", 512},
                                {"qk_nope_head_dim", 128},
                                {"qk_rope_head_dim", 64},
                                {"v_head_dim", 128},
                                {"intermediate_size", 18432},
                                {"moe_intermediate_size", 2048},
                                {"n_routed_experts", experts},
                                {"num_experts_per_tok", 8},
                                {"n_group", groups},
                                {"topk_group", groups == 1 ? 1 : 4},
                                {"first_k_dense_replace", dense},
                                {"index_n_heads", 64},
                                {"index_head_dim", 128}});
}

TEST(Registry, ParameterCountsOfReleasedModels) {
  // model.md section 2.4: main model, and what one token uses (in 1e9, rounded there).
  const struct {
    const char* what;
    ModelConfig config;
    std::uint64_t main;
    std::uint64_t mtp;
    double active;
  } cases[] = {
      {"GLM-5", glm(1, 2), 743'911'218'432, 9'952'920'576, 41.8},
      {"GLM-5.2", glm(4, 3), 743'377'019'904, 9'952'920'576, 41.3},
      {"DeepSeek-V3.2", deepseek("deepseek_v32", 128, 256, 8, 3, 129280), 671'877'944'064, 0, 38.4},
      {"DeepSeek-V3", deepseek("deepseek_v3", 128, 256, 8, 3, 129280), 671'026'419'200, 0, 37.6},
      {"Kimi-K2", deepseek("kimi_k2", 64, 384, 1, 1, 163840), 1'026'408'232'448, 0, 32.9},
  };
  for (const auto& c : cases) {
    const auto tensors = expected_tensors(c.config, complete_facts(c.config));
    const ParameterCount count = count_parameters(c.config, tensors);
    EXPECT_EQ(count.main, c.main) << c.what;
    EXPECT_EQ(count.mtp, c.mtp) << c.what;
    EXPECT_NEAR(static_cast<double>(count.active) / 1e9, c.active, 0.06) << c.what;
  }
}

TEST(Registry, TensorCountsOfReleasedModels) {
  // model.md section 5.2: bf16 inventories, one tensor for each name.
  const auto required = [](const ModelConfig& config) {
    const auto tensors = expected_tensors(config, complete_facts(config));
    return std::count_if(tensors.begin(), tensors.end(),
                         [](const ExpectedTensor& tensor) { return !tensor.is_optional; });
  };
  EXPECT_EQ(required(glm(4, 3)), 59'585);
  EXPECT_EQ(required(glm(1, 2)), 59'870);
}

TEST(Registry, TheMtpLayerOfGlmHas791Tensors) {
  const ModelConfig config = glm(4, 3);
  const auto tensors = expected_tensors(config, complete_facts(config));
  std::set<std::string> names;
  for (const ExpectedTensor& tensor : tensors) {
    if (tensor.layer == 78 && !tensor.is_optional) names.insert(tensor.name);
  }
  EXPECT_EQ(names.size(), 791U);
  EXPECT_TRUE(names.contains("model.layers.78.eh_proj"));
  EXPECT_TRUE(names.contains("model.layers.78.self_attn.indexer.k_norm.bias"));
}

TEST(Registry, NamesAndShapesFollowTheFamily) {
  const auto find = [](const ModelConfig& config, std::string_view name) {
    for (const ExpectedTensor& tensor : expected_tensors(config, complete_facts(config))) {
      if (tensor.name == name) {
        return std::to_string(tensor.rows) + "x" + std::to_string(tensor.cols) +
               (tensor.is_optional ? " optional" : "");
      }
    }
    return std::string("none");
  };
  const ModelConfig glm52 = glm(4, 3);
  EXPECT_EQ(find(glm52, "model.layers.0.self_attn.q_b_proj"), "16384x2048");
  EXPECT_EQ(find(glm52, "model.layers.0.self_attn.kv_a_proj_with_mqa"), "576x6144");
  EXPECT_EQ(find(glm52, "model.layers.0.self_attn.kv_b_proj"), "28672x512");
  EXPECT_EQ(find(glm52, "model.layers.0.self_attn.o_proj"), "6144x16384");
  EXPECT_EQ(find(glm52, "model.layers.6.self_attn.indexer.wq_b"), "4096x2048");
  EXPECT_EQ(find(glm52, "model.layers.5.self_attn.indexer.wq_b"), "none");
  EXPECT_EQ(find(glm52, "model.layers.78.eh_proj"), "6144x12288");
  EXPECT_EQ(find(glm52, "model.layers.78.embed_tokens"), "154880x6144 optional");
  EXPECT_EQ(find(glm52, "model.layers.2.mlp.gate_proj"), "12288x6144");
  EXPECT_EQ(find(glm52, "model.layers.3.mlp.gate_proj"), "none");
  EXPECT_EQ(find(glm52, "model.layers.3.mlp.experts.255.down_proj"), "6144x2048");
  EXPECT_EQ(find(glm52, "lm_head"), "154880x6144");

  const ModelConfig v2 = config_of("deepseek_v2", {{"n_shared_experts", 2}});
  EXPECT_EQ(find(v2, "model.layers.1.self_attn.q_proj"), "48x64");
  EXPECT_EQ(find(v2, "model.layers.1.self_attn.q_a_proj"), "none");
  EXPECT_EQ(find(v2, "model.layers.1.mlp.gate.e_score_correction_bias"), "none");
  EXPECT_EQ(find(v2, "model.layers.1.mlp.shared_experts.up_proj"), "64x64");

  const ModelConfig tied = config_of("deepseek_v3", {{"tie_word_embeddings", true}});
  EXPECT_EQ(find(tied, "lm_head"), "96x64 optional");
  const ModelConfig kimi = config_of("kimi_k25", {});
  EXPECT_EQ(find(kimi, "language_model.model.norm.weight"), "64x1");
  EXPECT_EQ(find(kimi, "language_model.lm_head"), "96x64");
}

}  // namespace
}  // namespace pellucid::checkpoint
