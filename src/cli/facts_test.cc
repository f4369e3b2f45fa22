// What the config room says as data, held against the rooms that it does not know.

#include "cli/facts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "base/machine.h"
#include "checkpoint/formats.h"
#include "cli/settings.h"
#include "config/device_catalog.h"
#include "config/kernel_catalog.h"
#include "config/memory_plan.h"
#include "engine/engine.h"
#include "kernels/ops.h"
#include "model/scratch.h"

namespace pellucid::cli {
namespace {

const std::string kTiny = PELLUCID_SOURCE_DIR "/models/tiny";

config::Resolution resolve_tiny(std::vector<std::string_view> changes) {
  std::vector<config::Declaration> declarations;
  for (const std::string_view change : changes) {
    declarations.push_back(*config::read_change(change));
  }
  return *config::resolve(declarations, {.checkpoint = read_checkpoint_facts(kTiny)->facts,
                                         .device = *read_device_facts("host", false)});
}

TEST(KernelCatalog, IsTheTablesOfTheBuild) {
  const auto tables = kernels::available_ops();
  const config::DeviceFacts host = config::host_device(read_machine());
  std::vector<std::string_view> runnable;
  for (const config::KernelTable& table : config::kernel_tables()) {
    if (config::missing_for(table, host).empty()) runnable.push_back(table.name);
  }
  std::vector<std::string_view> available;
  for (const kernels::OpTable* table : tables) available.push_back(table->name);
  EXPECT_EQ(runnable, available);
  EXPECT_EQ(config::fastest_table(host)->name, tables.back()->name);
}

TEST(KernelCatalog, HoldsEveryWeightFormat) {
  std::vector<std::string_view> names;
  for (std::size_t i = 0; i < checkpoint::kFormatCount; ++i) {
    names.push_back(checkpoint::format_name(static_cast<checkpoint::Format>(i)));
  }
  EXPECT_THAT(config::supported_formats(), testing::UnorderedElementsAreArray(names));
}

template <class... Buffers>
std::int64_t bytes_of(const Buffers&... buffers) {
  return static_cast<std::int64_t>(((buffers.size() * sizeof(buffers[0])) + ...));
}

std::int64_t scratch_bytes(const model::Scratch& s) {
  return bytes_of(s.positions, s.visible, s.hidden, s.normed, s.block_out, s.q_lora, s.q, s.latent,
                  s.q_latent, s.o_latent, s.kv, s.values, s.attention, s.selection_indices,
                  s.selection_counts, s.index_q, s.index_k, s.index_weights, s.index_scores, s.topk,
                  s.gate, s.up, s.shared_out, s.router_logits, s.expert_ids, s.expert_weights,
                  s.moe_floats, s.moe_ints, s.logits);
}

TEST(MemoryPlan, IsWhatTheEngineAllocates) {
  const std::vector<std::vector<std::string_view>> cases = {
      {},
      {"attention=dense"},
      {"attention-form=expanded", "context=1000"},
      {"chunk=7", "threads=3", "context=300"},
      {"kv-dtype=f32", "sequences=3", "context=100"}};
  for (const auto& changes : cases) {
    const config::Resolution resolution = resolve_tiny(changes);
    const config::MemoryPlan plan = config::plan_memory(resolution);
    const engine::EngineOptions options = engine_options(resolution.views());
    const auto engine = engine::Engine::load(kTiny, options);
    ASSERT_TRUE(engine.has_value()) << engine.error().to_string();
    EXPECT_EQ(plan.kv_bytes, engine->kv_pool_bytes());
    EXPECT_EQ(options.context_max, engine->context_max());
    EXPECT_EQ(options.chunk_tokens, engine->chunk_tokens());
    EXPECT_EQ(options.ops, engine->ops_name());
    const model::Scratch scratch(engine->config(),
                                 {.attention_form = options.attention_form,
                                  .attention_scope = options.attention_scope,
                                  .context_max = engine->context_max(),
                                  .chunk_tokens = engine->chunk_tokens()},
                                 engine->threads());
    EXPECT_EQ(plan.scratch_bytes, scratch_bytes(scratch));
  }
}

TEST(CheckpointFacts, OfTheTinyModel) {
  const auto reading = read_checkpoint_facts(kTiny);
  ASSERT_TRUE(reading.has_value()) << reading.error().to_string();
  EXPECT_FALSE(reading->refusal.has_value());
  const config::CheckpointFacts& facts = reading->facts;
  EXPECT_EQ(facts.family, "glm_moe_dsa");
  EXPECT_EQ(facts.indexer_layers(), 4);
  EXPECT_EQ(facts.mtp_layers, 1);
  EXPECT_FALSE(facts.generation.do_sample);
  EXPECT_FALSE(facts.kv_scales);
  const auto experts =
      std::ranges::find(facts.weights, "routed experts", &config::WeightGroup::part);
  ASSERT_NE(experts, facts.weights.end());
  EXPECT_EQ(experts->format, "nvfp4_modelopt");
  EXPECT_EQ(experts->matrices, 7 * 16 * 3);
}

TEST(CheckpointFacts, AnUnusableDirectoryIsAnError) {
  EXPECT_FALSE(read_checkpoint_facts("/nonexistent/model").has_value());
}

TEST(SamplingParams, FollowTheSettings) {
  const config::Resolution resolution =
      resolve_tiny({"temperature=0.5", "top-k=4", "seed=9", "logit-bias=3=-100"});
  const sampler::SamplingParams params = sampling_params(resolution.views().sampling);
  EXPECT_EQ(params.temperature, 0.5);
  EXPECT_EQ(params.top_k, 4);
  EXPECT_EQ(params.seed, 9U);
  ASSERT_EQ(params.logit_bias.size(), 1U);
  EXPECT_EQ(params.logit_bias[0].token, 3);
  EXPECT_EQ(params.logit_bias[0].bias, -100);
}

TEST(Device, MeasuringNeedsTheHost) {
  EXPECT_FALSE(read_device_facts("sm_120", true).has_value());
  EXPECT_GT(measure_read_bandwidth(1, 4 << 20), 0);
}

}  // namespace
}  // namespace pellucid::cli
