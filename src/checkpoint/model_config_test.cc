#include "checkpoint/model_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/check.h"
#include "checkpoint/family.h"
#include "checkpoint/test_checkpoint.h"
#include "checkpoint/token_ids.h"

namespace pellucid::checkpoint {
namespace {

using ::testing::ElementsAre;
using testing::erase;
using ::testing::HasSubstr;
using testing::set;
using testing::small_config;

std::string rule_of(const json::Value& config) {
  const auto read = read_model_config(config, "config.json");
  return read ? "accepted" : read.error().rule;
}

json::Value parse(std::string_view text) {
  auto value = json::parse(text, "test");
  PELLUCID_CHECK(value.has_value());
  return *std::move(value);
}

TEST(ModelConfig, EachFamilyIsReadInItsOwnTerms) {
  const struct {
    const char* model_type;
    Family family;
    ScoringFunc scoring;
    TopkMethod topk;
    const char* prefix;
    bool indexer;
    bool interleave;
  } cases[] = {
      {"glm_moe_dsa", Family::kGlmMoeDsa, ScoringFunc::kSigmoid, TopkMethod::kNoauxTc, "", true,
       true},
      {"deepseek_v32", Family::kDeepseekV32, ScoringFunc::kSigmoid, TopkMethod::kNoauxTc, "", true,
       false},
      {"deepseek_v3", Family::kDeepseekV3, ScoringFunc::kSigmoid, TopkMethod::kNoauxTc, "", false,
       false},
      {"deepseek_v2", Family::kDeepseekV2, ScoringFunc::kSoftmax, TopkMethod::kGroupLimitedGreedy,
       "", false, false},
      {"kimi_k2", Family::kKimiK2, ScoringFunc::kSigmoid, TopkMethod::kNoauxTc, "", false, false},
      {"kimi_k25", Family::kKimiK25, ScoringFunc::kSigmoid, TopkMethod::kNoauxTc, "language_model.",
       false, false},
  };
  for (const auto& c : cases) {
    const auto config = read_model_config(small_config(c.model_type), "config.json");
    ASSERT_TRUE(config) << c.model_type << ": " << config.error().to_string();
    EXPECT_EQ(config->family, c.family) << c.model_type;
    EXPECT_EQ(family_name(config->family), c.model_type);
    EXPECT_EQ(config->scoring_func, c.scoring) << c.model_type;
    EXPECT_EQ(config->topk_method, c.topk) << c.model_type;
    EXPECT_EQ(config->tensor_prefix, c.prefix) << c.model_type;
    EXPECT_EQ(config->has_indexer(), c.indexer) << c.model_type;
    EXPECT_EQ(config->indexer_rope_interleave, c.interleave) << c.model_type;
    EXPECT_EQ(config->layer_is_moe, (std::vector<bool>{false, true, true, true})) << c.model_type;
    EXPECT_THAT(config->unread_keys, ElementsAre()) << c.model_type;
    EXPECT_THAT(config->warnings, ElementsAre()) << c.model_type;
    EXPECT_EQ(config->q_lora_rank, std::string_view(c.model_type) == "deepseek_v2" ? 0 : 32);
  }
}

TEST(ModelConfig, UnknownModelTypesAreRefusedWithTheKnownOnes) {
  json::Value config = small_config("glm_moe_dsa");
  set(config, "model_type", "llama");
  const auto unknown = read_model_config(config, "config.json");
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().rule, "config.model_type");
  EXPECT_EQ(unknown.error().kind, ErrorKind::kUnsupported);
  EXPECT_THAT(unknown.error().expected, HasSubstr("glm_moe_dsa, deepseek_v32"));
  set(config, "model_type", "glm5_next");
  const auto next = read_model_config(config, "config.json");
  ASSERT_FALSE(next);
  EXPECT_THAT(next.error().found, HasSubstr("linear attention"));
}

TEST(ModelConfig, ValuesOutOfRangeAreRefusedByKey) {
  const struct {
    const char* key;
    const char* value;  ///< nullptr: the key is removed
  } cases[] = {
      {"num_hidden_layers", "0"},
      {"num_hidden_layers", "-1"},
      {"num_hidden_layers", "2147483648"},
      {"num_hidden_layers", "\"78\""},
      {"num_hidden_layers", "78.5"},
      {"num_hidden_layers", "4.0"},
      {"num_hidden_layers", "true"},
      {"num_hidden_layers", "18446744073709551615"},
      {"num_hidden_layers", nullptr},
      {"hidden_size", "0"},
      {"hidden_size", "null"},
      {"vocab_size", "4294967296"},
      {"kv_lora_rank", "0"},
      {"q_lora_rank", "0"},
      {"qk_rope_head_dim", "7"},
      {"qk_nope_head_dim", "0"},
      {"v_head_dim", "[16]"},
      {"qk_head_dim", "25"},
      {"num_attention_heads", "0"},
      {"n_routed_experts", "0"},
      {"n_routed_experts", "null"},
      {"num_experts_per_tok", "5"},
      {"num_experts_per_tok", "3"},  // 1 of 2 groups of 2 can be chosen from
      {"n_group", "3"},
      {"n_group", "4"},  // groups of one expert
      {"topk_group", "3"},
      {"n_shared_experts", "-1"},
      {"first_k_dense_replace", "5"},
      {"first_k_dense_replace", nullptr},
      {"moe_layer_freq", "0"},
      {"routed_scaling_factor", "0"},
      {"routed_scaling_factor", "\"2.5\""},
      {"norm_topk_prob", "1"},
      {"norm_topk_prob", nullptr},
      {"rms_norm_eps", "0"},
      {"rms_norm_eps", "-1e-6"},
      {"rms_norm_eps", "1"},
      {"max_position_embeddings", "1099511627776"},
      {"max_position_embeddings", "0"},
      {"num_nextn_predict_layers", "-1"},
      {"num_nextn_predict_layers", "1000000"},
      {"index_topk", "0"},
      {"index_topk", "513"},  // beyond max_position_embeddings
      {"index_topk", nullptr},
      {"index_n_heads", "0"},
      {"index_head_dim", "4"},  // less than the rotated part
      {"scoring_func", "\"tanh\""},
      {"scoring_func", "\"softmax\""},
      {"topk_method", "\"random\""},
      {"topk_method", "\"greedy\""},
      {"hidden_act", "\"gelu\""},
      {"attention_bias", "true"},
      {"mlp_bias", "true"},
      {"rope_interleave", "false"},
      {"tie_word_embeddings", "0"},
      {"mlp_layer_types", R"(["dense","sparse"])"},
      {"mlp_layer_types", R"(["dense","dense","sparse","sparse"])"},
      {"mlp_layer_types", R"(["dense","moe","sparse","sparse"])"},
      {"indexer_types", R"(["full"])"},
      {"indexer_types", R"(["shared","full","full","full"])"},
      {"indexer_types", R"(["full","full","full","none"])"},
      {"index_topk_pattern", R"("FFS")"},
      {"index_topk_pattern", R"("FFSX")"},
      {"index_topk_freq", "0"},
      {"eos_token_id", "96"},
      {"eos_token_id", "-1"},
      {"eos_token_id", "[1,96]"},
      {"eos_token_id", "\"1\""},
      {"bos_token_id", "96"},
      {"model_type", "1"},
  };
  for (const auto& c : cases) {
    json::Value config = small_config("glm_moe_dsa");
    if (c.value == nullptr) {
      erase(config, c.key);
    } else {
      set(config, c.key, parse(c.value));
    }
    const std::string rule = rule_of(config);
    const bool is_topk_pair =
        std::string_view(c.key) == "scoring_func" && rule == "config.topk_method";
    if (!is_topk_pair) {
      EXPECT_EQ(rule, "config." + std::string(c.key))
          << c.key << " " << (c.value == nullptr ? "absent" : c.value);
    }
  }
}

TEST(ModelConfig, AMillionEosIdsAreRefused) {
  json::Value config = small_config("glm_moe_dsa");
  set(config, "eos_token_id", json::Array(1'000'000, json::Value(1)));
  EXPECT_EQ(rule_of(config), "config.eos_token_id");
}

TEST(ModelConfig, KeysThatNothingReadsAreListedInOrder) {
  json::Value config = small_config("glm_moe_dsa");
  set(config, "zeta", 1);
  set(config, "rope_parameters",
      json::Object{{"rope_theta", 1e6}, {"rope_type", "default"}, {"long_factor", 2}});
  set(config, "alpha", nullptr);
  const auto read = read_model_config(config, "config.json");
  ASSERT_TRUE(read) << read.error().to_string();
  EXPECT_THAT(read->unread_keys, ElementsAre("zeta", "alpha", "rope_parameters.long_factor"));
}

TEST(ModelConfig, WrappedConfigsReadTheTextPart) {
  json::Value config = small_config("kimi_k25");
  set(config, "pad_token_id", 7);
  set(config, "surprise", 1);
  auto read = read_model_config(config, "config.json");
  ASSERT_TRUE(read) << read.error().to_string();
  EXPECT_EQ(read->pad_token_id, 7);
  EXPECT_THAT(read->unread_keys, ElementsAre("surprise"));
  json::Value text = *config.find("text_config");
  set(text, "hidden_size", 0);
  set(config, "text_config", text);
  EXPECT_EQ(rule_of(config), "config.text_config.hidden_size");
  set(text, "model_type", "llama");
  set(config, "text_config", text);
  EXPECT_EQ(rule_of(config), "config.text_config.model_type");
  erase(config, "text_config");
  EXPECT_EQ(rule_of(config), "config.text_config");
}

TEST(ModelConfig, ReleasedGeometryWithAnotherThetaIsAWarning) {
  json::Value config = small_config("glm_moe_dsa");
  set(config, "hidden_size", 6144);
  set(config, "num_hidden_layers", 78);
  const auto warnings = [&](double theta) {
    set(config, "rope_parameters", json::Object{{"rope_theta", theta}});
    const auto read = read_model_config(config, "config.json");
    PELLUCID_CHECK(read.has_value());
    return read->warnings.size();
  };
  EXPECT_EQ(warnings(1e6), 0U);
  EXPECT_EQ(warnings(8e6), 0U);
  EXPECT_EQ(warnings(1e4), 1U);
}

TEST(ModelConfig, EveryIrrelevantKeyHasAReason) {
  for (const IrrelevantKey& row : irrelevant_keys()) EXPECT_FALSE(row.reason.empty()) << row.key;
}

TEST(IndexerSchedule, FollowsThePriorityOfItsKeys) {
  const struct {
    const char* what;
    std::vector<std::pair<const char*, const char*>> keys;
    std::vector<bool> schedule;
    std::size_t warnings;
  } cases[] = {
      {"nothing: all full", {}, {true, true, true, true}, 0},
      {"types win",
       {{"indexer_types", R"(["full","shared","shared","full"])"},
        {"index_topk_pattern", R"("FFFF")"}},
       {true, false, false, true},
       1},
      {"pattern before period",
       {{"index_topk_pattern", R"("FSFS")"}, {"index_topk_freq", "4"}},
       {true, false, true, false},
       1},
      {"a null pattern is absent", {{"index_topk_pattern", "null"}}, {true, true, true, true}, 0},
      {"freq alone has offset 2", {{"index_topk_freq", "2"}}, {true, true, false, true}, 0},
      {"agreement is silent",
       {{"indexer_types", R"(["full","full","shared","full"])"}, {"index_topk_freq", "2"}},
       {true, true, false, true},
       0},
  };
  for (const auto& c : cases) {
    json::Value config = small_config("glm_moe_dsa");
    erase(config, "index_topk_freq");
    erase(config, "index_skip_topk_offset");
    for (const auto& [key, value] : c.keys) set(config, key, parse(value));
    const auto read = read_model_config(config, "config.json");
    ASSERT_TRUE(read) << c.what << read.error().to_string();
    EXPECT_EQ(read->layer_has_indexer, c.schedule) << c.what;
    EXPECT_EQ(read->warnings.size(), c.warnings) << c.what;
  }
}

TEST(IndexerSchedule, Glm52HasTwentyOneIndexers) {
  json::Value config = small_config("glm_moe_dsa");
  set(config, "num_hidden_layers", 78);
  set(config, "index_topk_freq", 4);
  set(config, "index_skip_topk_offset", 3);
  const auto read = read_model_config(config, "config.json");
  ASSERT_TRUE(read) << read.error().to_string();
  std::vector<int> full;
  for (int i = 0; i < 78; ++i) {
    if (read->layer_has_indexer[static_cast<std::size_t>(i)]) full.push_back(i);
  }
  EXPECT_THAT(full, ElementsAre(0, 1, 2, 6, 10, 14, 18, 22, 26, 30, 34, 38, 42, 46, 50, 54, 58, 62,
                                66, 70, 74));
}

TEST(GenerationConfig, ReadsDefaultsAndUnitesEosIds) {
  auto config = read_model_config(small_config("deepseek_v3"), "config.json");
  ASSERT_TRUE(config);
  const auto generation = read_generation_config(
      parse(R"({"do_sample":true,"temperature":0.6,"top_p":0.95,"top_k":null,"eos_token_id":[5,1],
                "pad_token_id":2,"transformers_version":"5","new_key":1})"),
      "generation_config.json", *config);
  ASSERT_TRUE(generation) << generation.error().to_string();
  EXPECT_EQ(generation->temperature, 0.6);
  EXPECT_EQ(generation->top_p, 0.95);
  EXPECT_EQ(generation->top_k, 0);
  EXPECT_THAT(config->eos_token_ids, ElementsAre(1, 5));
  EXPECT_EQ(config->pad_token_id, 2);
  EXPECT_EQ(config->bos_token_id, 0);
  EXPECT_THAT(config->unread_keys, ElementsAre("generation_config.new_key"));
}

TEST(GenerationConfig, RefusesByKey) {
  const struct {
    const char* text;
    const char* rule;
  } cases[] = {
      {R"({"eos_token_id":96})", "config.generation_config.eos_token_id"},
      {R"({"eos_token_id":[-1]})", "config.generation_config.eos_token_id"},
      {R"({"temperature":-1})", "config.generation_config.temperature"},
      {R"({"temperature":"hot"})", "config.generation_config.temperature"},
      {R"({"top_p":0})", "config.generation_config.top_p"},
      {R"({"top_p":1.1})", "config.generation_config.top_p"},
      {R"({"top_k":-1})", "config.generation_config.top_k"},
      {R"({"min_p":2})", "config.generation_config.min_p"},
      {R"({"repetition_penalty":0})", "config.generation_config.repetition_penalty"},
      {R"([])", "config.generation_config"},
  };
  for (const auto& c : cases) {
    auto config = read_model_config(small_config("deepseek_v3"), "config.json");
    ASSERT_TRUE(config);
    const auto generation =
        read_generation_config(parse(c.text), "generation_config.json", *config);
    ASSERT_FALSE(generation) << c.text;
    EXPECT_EQ(generation.error().rule, c.rule) << c.text;
  }
}

}  // namespace
}  // namespace pellucid::checkpoint
