#include "checkpoint/checkpoint.h"

#include <gtest/gtest.h>

#include <cmath>

namespace pellucid::checkpoint {
namespace {

const std::string kTiny = PELLUCID_SOURCE_DIR "/models/tiny";

TEST(Checkpoint, OpensTheShippedModel) {
  const auto opened = Checkpoint::open(kTiny);
  ASSERT_TRUE(opened) << opened.error().to_string();
  const ModelConfig& config = opened->config();
  EXPECT_EQ(config.family, Family::kGlmMoeDsa);
  EXPECT_EQ(config.rope.theta, 100000.0);
  EXPECT_EQ(config.eos_token_ids, (std::vector<std::int32_t>{1242, 1249, 1251}));
  EXPECT_EQ(config.layer_has_indexer,
            (std::vector<bool>{true, true, true, false, false, false, true, false}));
  EXPECT_FALSE(opened->generation_config().do_sample);
  EXPECT_TRUE(config.unread_keys.empty());
  for (const Problem& problem : opened->problems()) ADD_FAILURE() << problem.error.to_string();
  EXPECT_TRUE(opened->still_intact());

  const auto q = opened->linear("model.layers.3.self_attn.q_a_proj", 128, 256);
  ASSERT_TRUE(q) << q.error().to_string();
  EXPECT_EQ(q->element, tensor::Element::kBf16);
  const auto up = opened->linear("model.layers.3.mlp.experts.5.up_proj", 128, 256);
  ASSERT_TRUE(up) << up.error().to_string();
  EXPECT_EQ(up->element, tensor::Element::kE2M1);
  EXPECT_EQ(up->scale, tensor::Scale::kE4M3);
  EXPECT_EQ(up->block_cols, 16);
  EXPECT_FALSE(up->global_divides);
  EXPECT_GT(up->global_scale, 0.0F);
  EXPECT_LT(up->global_scale, 0.01F);

  const auto norm = opened->vector("model.norm.weight", 256);
  ASSERT_TRUE(norm) << norm.error().to_string();
  EXPECT_TRUE(std::isfinite((*norm)[255]));
  EXPECT_EQ(opened->vector("model.norm.weight", 255).error().rule, "tensor_shape");
  EXPECT_EQ(opened->vector("model.norm.bias", 256).error().rule, "tensor_missing");
  EXPECT_EQ(opened->linear("model.layers.3.self_attn.q_a_proj", 127, 256).error().rule,
            "tensor_shape");
  EXPECT_TRUE(opened->has_linear("lm_head"));
  EXPECT_FALSE(opened->has_linear("model.layers.3.self_attn.q_proj"));
}

TEST(Checkpoint, OpensShardsThroughTheIndex) {
  const auto opened = Checkpoint::open(PELLUCID_SOURCE_DIR "/models/tiny-bf16");
  ASSERT_TRUE(opened) << opened.error().to_string();
  const auto down = opened->linear("model.layers.7.mlp.experts.15.down_proj", 256, 128);
  ASSERT_TRUE(down) << down.error().to_string();
  EXPECT_EQ(down->element, tensor::Element::kBf16);
  EXPECT_EQ(opened->find("model.norm.weight")->shard, 1U);
}

TEST(Checkpoint, AMissingDirectoryIsAnError) {
  const auto opened = Checkpoint::open("/nonexistent/model");
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().rule, "directory_missing");
}

}  // namespace
}  // namespace pellucid::checkpoint
