#pragma once
// Facts for tests: released model families with the sizes of model.md section 2, and devices.

#include <array>
#include <string>
#include <string_view>

#include "config/device_catalog.h"
#include "config/facts.h"

namespace pellucid::config {

struct TestFamily {
  std::string_view name;
  ModelDims dims;
  std::size_t indexers;  ///< layers that own one, from the first
  bool indexer_interleaved;
  double theta;
  bool yarn;
};

// Order of the sizes: hidden, layers, vocab, positions, heads, q_lora, kv_lora, nope, rope, v,
// intermediate, moe intermediate, experts, experts per token, shared experts, index heads, index
// head dim, index_topk.
inline constexpr std::array kTestFamilies = {
    TestFamily{"glm_moe_dsa",
               {6144, 78, 154880, 1048576, 64, 2048, 512, 192, 64, 256, 12288, 2048, 256, 8, 1, 32,
                128, 2048},
               21,
               true,
               8e6,
               false},
    TestFamily{"deepseek_v32",
               {7168, 61, 129280, 163840, 128, 1536, 512, 128, 64, 128, 18432, 2048, 256, 8, 1, 64,
                128, 2048},
               61,
               false,
               1e4,
               true},
    TestFamily{
        "deepseek_v3",
        {7168, 61, 129280, 163840, 128, 1536, 512, 128, 64, 128, 18432, 2048, 256, 8, 1, 0, 0, 0},
        0,
        false,
        1e4,
        true},
    TestFamily{
        "kimi_k2",
        {7168, 61, 163840, 262144, 64, 1536, 512, 128, 64, 128, 18432, 2048, 384, 8, 1, 0, 0, 0},
        0,
        false,
        5e4,
        true},
    TestFamily{"deepseek_v2",
               {2048, 27, 102400, 4096, 16, 0, 512, 128, 64, 128, 10944, 1408, 64, 6, 2, 0, 0, 0},
               0,
               false,
               1e4,
               true},
};

/// A complete checkpoint of the family with its routed experts in `format`, the rest in bf16.
inline CheckpointFacts test_checkpoint(const TestFamily& family, std::string_view format) {
  CheckpointFacts facts;
  facts.source = "models/" + std::string(family.name);
  facts.family = family.name;
  facts.architecture = "TestForCausalLM";
  facts.dims = family.dims;
  facts.layer_has_indexer.assign(static_cast<std::size_t>(family.dims.num_hidden_layers), false);
  for (std::size_t i = 0; i < family.indexers; ++i) facts.layer_has_indexer[i] = true;
  facts.layer_has_indexer_tensors = facts.layer_has_indexer;
  facts.rope = {.theta = family.theta,
                .type = family.yarn ? "yarn" : "default",
                .factor = family.yarn ? 40.0 : 1.0,
                .source = "test",
                .main_interleaved = true,
                .indexer_interleaved = family.indexer_interleaved};
  facts.weights = {{.part = "routed experts",
                    .format = std::string(format),
                    .matrices = 100,
                    .bytes = 4'000'000'000},
                   {.part = "attention", .format = "bf16", .matrices = 50, .bytes = 1'000'000'000},
                   {.part = "embeddings", .format = "bf16", .matrices = 1, .bytes = 500'000'000}};
  facts.tensors = 151;
  facts.vector_elements = 10'000;
  facts.generation = {.temperature = 1.0, .top_p = 0.95};
  facts.eos_token_ids = {1};
  return facts;
}

inline const TestFamily& test_family(std::string_view name) {
  for (const TestFamily& family : kTestFamilies) {
    if (family.name == name) return family;
  }
  return kTestFamilies.front();
}

inline Facts test_facts(std::string_view family = "glm_moe_dsa",
                        std::string_view format = "nvfp4_modelopt",
                        std::string_view device = "cpu-avx2") {
  return {.checkpoint = test_checkpoint(test_family(family), format),
          .device = *parse_device(device, "test")};
}

}  // namespace pellucid::config
