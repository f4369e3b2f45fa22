#include "checkpoint/rope.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "base/check.h"

namespace pellucid::checkpoint {
namespace {

struct Reading {
  Expected<RopeConfig> rope;
  std::vector<std::string> unread;
  std::vector<std::string> warnings;
};

Reading read(std::string_view text) {
  const auto config = json::parse(text, "test");
  PELLUCID_CHECK(config.has_value());
  KeyReader keys(config->object(), "", "config.json");
  Reading out;
  out.rope = read_rope(keys, "", "config.json", out.unread, out.warnings);
  return out;
}

TEST(Rope, ReadsBothShapesAndTheirHybrids) {
  const struct {
    const char* what;
    const char* text;
    double theta;
    bool yarn;
    const char* source;
    std::size_t warnings;
  } cases[] = {
      {"GLM", R"({"rope_parameters":{"rope_theta":8000000,"rope_type":"default"}})", 8e6, false,
       "rope_parameters", 0},
      {"V3 without scaling", R"({"rope_theta":10000,"rope_scaling":null})", 1e4, false,
       "rope_theta", 0},
      {"V3", R"({"rope_theta":10000,"rope_scaling":{"type":"yarn","factor":40,
                "original_max_position_embeddings":4096}})",
       1e4, true, "rope_scaling + rope_theta", 0},
      {"new spelling", R"({"rope_theta":10000.0,"rope_scaling":{"rope_type":"deepseek_yarn",
                "factor":40,"original_max_position_embeddings":4096}})",
       1e4, true, "rope_scaling + rope_theta", 0},
      {"yarn in rope_parameters", R"({"rope_parameters":{"rope_theta":50000,"rope_type":"yarn",
                "factor":64,"original_max_position_embeddings":4096}})",
       5e4, true, "rope_parameters", 0},
      {"theta in rope_scaling", R"({"rope_scaling":{"rope_theta":1000000,"type":"default"}})", 1e6,
       false, "rope_scaling", 0},
      {"default inside rope_scaling", R"({"rope_theta":10000,"rope_scaling":{"type":"default"}})",
       1e4, false, "rope_scaling + rope_theta", 0},
      {"stale top-level theta",
       R"({"rope_theta":10000,"rope_parameters":{"rope_theta":1000000,"rope_type":"default"}})",
       1e6, false, "rope_parameters", 1},
      {"the same theta twice",
       R"({"rope_theta":1000000,"rope_parameters":{"rope_theta":1000000.0}})", 1e6, false,
       "rope_parameters", 0},
      {"shapes that disagree on the type",
       R"({"rope_parameters":{"rope_theta":1000000,"rope_type":"default"},
           "rope_scaling":{"type":"yarn","factor":40,"original_max_position_embeddings":4096}})",
       1e6, false, "rope_parameters", 1},
      {"theta in one, type in the other",
       R"({"rope_parameters":{"rope_theta":1000000},
           "rope_scaling":{"type":"yarn","factor":40,"original_max_position_embeddings":4096}})",
       1e6, true, "rope_scaling + rope_parameters", 1},
  };
  for (const auto& c : cases) {
    const Reading reading = read(c.text);
    ASSERT_TRUE(reading.rope) << c.what << ": " << reading.rope.error().to_string();
    EXPECT_EQ(reading.rope->theta, c.theta) << c.what;
    EXPECT_EQ(reading.rope->yarn, c.yarn) << c.what;
    EXPECT_EQ(reading.rope->source, c.source) << c.what;
    EXPECT_EQ(reading.warnings.size(), c.warnings) << c.what;
  }
}

TEST(Rope, RefusesByKey) {
  const struct {
    const char* text;
    const char* rule;
  } cases[] = {
      {"{}", "config.rope_theta"},
      {R"({"rope_theta":null})", "config.rope_theta"},
      {R"({"rope_parameters":{"rope_type":"default"}})", "config.rope_theta"},
      {R"({"rope_theta":0})", "config.rope_theta"},
      {R"({"rope_theta":-10000})", "config.rope_theta"},
      {R"({"rope_theta":1e308})", "config.rope_theta"},
      {R"({"rope_theta":"10000"})", "config.rope_theta"},
      {R"({"rope_parameters":{"rope_theta":1}})", "config.rope_parameters.rope_theta"},
      {R"({"rope_parameters":[]})", "config.rope_parameters"},
      {R"({"rope_parameters":{"full_attention":{"rope_theta":1e6}}})", "config.rope_theta"},
      {R"({"rope_theta":1e4,"rope_scaling":{"type":"linear","factor":2}})",
       "config.rope_scaling.rope_type"},
      {R"({"rope_theta":1e4,"rope_scaling":{"type":"dynamic","factor":2}})",
       "config.rope_scaling.rope_type"},
      {R"({"rope_parameters":{"rope_theta":1e4,"rope_type":"llama3"}})",
       "config.rope_parameters.rope_type"},
      {R"({"rope_parameters":{"rope_theta":1e4,"rope_type":"longrope"}})",
       "config.rope_parameters.rope_type"},
      {R"({"rope_theta":1e4,"rope_scaling":{"type":"yarn","rope_type":"default"}})",
       "config.rope_scaling.rope_type"},
      {R"({"rope_theta":1e4,"rope_scaling":{"type":"yarn",
          "original_max_position_embeddings":4096}})",
       "config.rope_scaling.factor"},
      {R"({"rope_theta":1e4,"rope_scaling":{"type":"yarn","factor":0,
          "original_max_position_embeddings":4096}})",
       "config.rope_scaling.factor"},
      {R"({"rope_theta":1e4,"rope_scaling":{"type":"yarn","factor":0.5,
          "original_max_position_embeddings":4096}})",
       "config.rope_scaling.factor"},
      {R"({"rope_theta":1e4,"rope_scaling":{"type":"yarn","factor":40}})",
       "config.rope_scaling.original_max_position_embeddings"},
      {R"({"rope_theta":1e4,"rope_scaling":{"type":"yarn","factor":40,
          "original_max_position_embeddings":4096,"attention_factor":1.5}})",
       "config.rope_scaling.attention_factor"},
      {R"({"rope_theta":1e4,"rope_scaling":{"type":"yarn","factor":40,
          "original_max_position_embeddings":4096,"truncate":false}})",
       "config.rope_scaling.truncate"},
      {R"({"rope_parameters":{"rope_theta":1e4,"partial_rotary_factor":0.5}})",
       "config.rope_parameters.partial_rotary_factor"},
  };
  for (const auto& c : cases) {
    const Reading reading = read(c.text);
    ASSERT_FALSE(reading.rope) << c.text;
    EXPECT_EQ(reading.rope.error().rule, c.rule) << c.text;
  }
}

RopeConfig yarn(double theta, double factor) {
  return {.theta = theta,
          .yarn = true,
          .factor = factor,
          .original_max_position_embeddings = 4096,
          .mscale_all_dim = 1,
          .source = ""};
}

TEST(Rope, YarnNumbersOfReleasedModels) {
  // model.md section 3.3.
  EXPECT_EQ(yarn(1e4, 40).yarn_correction_range(64), std::make_pair(10.0, 23.0));
  EXPECT_EQ(yarn(5e4, 64).yarn_correction_range(64), std::make_pair(8.0, 20.0));
  EXPECT_NEAR(yarn(1e4, 40).softmax_scale_multiplier(), 1.8738542071, 5e-11);
  EXPECT_NEAR(yarn(5e4, 64).softmax_scale_multiplier(), 2.0047397017, 5e-11);
  EXPECT_NEAR(yarn(5e4, 32).softmax_scale_multiplier(), 1.8132604340, 5e-11);
  ModelConfig config;
  config.qk_nope_head_dim = 128;
  config.qk_rope_head_dim = 64;
  config.rope = yarn(1e4, 40);
  EXPECT_NEAR(config.softmax_scale(), 0.1352337789, 5e-11);
  config.rope = yarn(5e4, 64);
  EXPECT_NEAR(config.softmax_scale(), 0.1446796258, 5e-11);
  config.rope = {.theta = 8e6, .source = ""};
  config.qk_nope_head_dim = 192;
  EXPECT_EQ(config.softmax_scale(), 0.0625);
}

TEST(Rope, MultipliersWithoutYarnOrMscale) {
  RopeConfig rope = yarn(1e4, 40);
  rope.mscale_all_dim = 0;
  EXPECT_EQ(rope.softmax_scale_multiplier(), 1.0);
  EXPECT_NEAR(rope.cos_sin_multiplier(), 1.3688879454, 5e-11);
  rope.mscale_all_dim = 1;
  EXPECT_EQ(rope.cos_sin_multiplier(), 1.0);
  rope.yarn = false;
  EXPECT_EQ(rope.softmax_scale_multiplier(), 1.0);
  EXPECT_EQ(rope.cos_sin_multiplier(), 1.0);
}

TEST(Rope, InverseFrequencies) {
  const auto plain = RopeConfig{.theta = 8e6, .source = ""}.inv_freq(64);
  ASSERT_EQ(plain.size(), 32U);
  for (std::size_t i = 0; i < 32; ++i) {
    const double exact = std::pow(8e6, -2.0 * static_cast<double>(i) / 64.0);
    EXPECT_NEAR(plain[i] / exact, 1.0, 3e-7) << i;
  }
  const auto base = RopeConfig{.theta = 1e4, .source = ""}.inv_freq(64);
  const auto scaled = yarn(1e4, 40).inv_freq(64);
  for (std::size_t i = 0; i < 32; ++i) {
    const double ramp = i <= 10 ? 0.0 : i >= 23 ? 1.0 : (static_cast<double>(i) - 10.0) / 13.0;
    const double exact = base[i] / 40.0 * ramp + base[i] * (1.0 - ramp);
    EXPECT_NEAR(scaled[i] / exact, 1.0, 3e-7) << i;
  }
  EXPECT_EQ(scaled[10], base[10]);
  EXPECT_EQ(scaled[23], base[23] / 40.0F);
}

TEST(Rope, KeysOfTheObjectsThatNothingReads) {
  const Reading reading =
      read(R"({"rope_parameters":{"rope_theta":1e6,"rope_type":"default","factor":8}})");
  ASSERT_TRUE(reading.rope);
  EXPECT_THAT(reading.unread, ::testing::ElementsAre("rope_parameters.factor"));
}

}  // namespace
}  // namespace pellucid::checkpoint
