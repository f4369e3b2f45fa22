// Facts of well-known checkpoints (model.md sections 2.1 to 2.4; quantisation configs of their
// repositories), so that a prediction or a log can be read without the checkpoint at hand.

#include <array>
#include <utility>

#include "peers/peers.h"

namespace pellucid::peers {
namespace {

using config::ScaleFormat;

ModelFacts glm(std::int64_t indexer_layers) {
  return {.architecture = "GlmMoeDsaForCausalLM",
          .dtype = "bfloat16",
          .index_topk = 2048,
          .layers = 78,
          .indexer_layers = indexer_layers,
          .attention_heads = 64,
          .quantization = "none",
          .parts = {},
          .kv_scales = false,
          .kv_cache_quant = "none"};
}

ModelFacts quantised(ModelFacts facts, std::string quantization, std::vector<QuantPart> parts) {
  facts.quantization = std::move(quantization);
  facts.parts = std::move(parts);
  return facts;
}

ModelFacts deepseek(std::string architecture, std::int64_t index_topk, std::int64_t heads) {
  return {.architecture = std::move(architecture),
          .dtype = "bfloat16",
          .index_topk = index_topk,
          .layers = 61,
          .indexer_layers = index_topk > 0 ? 61 : 0,
          .attention_heads = heads,
          .quantization = "fp8",
          .parts = {{"linear layers", ScaleFormat::kFp32Block}},
          .kv_scales = false,
          .kv_cache_quant = "none"};
}

using Models = std::array<std::pair<std::string_view, ModelFacts>, 8>;

Models described() {
  Models out{{
      {"GLM-5", glm(78)},
      {"GLM-5-FP8", quantised(glm(78), "fp8", {{"linear layers", ScaleFormat::kFp32Block}})},
      {"GLM-5-NVFP4",
       quantised(glm(78), "modelopt_fp4", {{"expert and mlp weights", ScaleFormat::kE4m3Global}})},
      {"GLM-5.2", glm(21)},
      {"GLM-5.2-NVFP4",
       quantised(glm(21), "modelopt_fp4", {{"expert and mlp weights", ScaleFormat::kE4m3Global}})},
      {"DeepSeek-V3.2", deepseek("DeepseekV32ForCausalLM", 2048, 128)},
      {"DeepSeek-V3", deepseek("DeepseekV3ForCausalLM", 0, 128)},
      {"Kimi-K2", deepseek("DeepseekV3ForCausalLM", 0, 64)},
  }};
  for (auto& [name, facts] : out) facts.source = "built-in description of " + std::string(name);
  return out;
}

const Models& models() {
  static const Models kModels = described();
  return kModels;
}

}  // namespace

const ModelFacts* known_model(std::string_view name) {
  for (const auto& [known, facts] : models()) {
    if (known == name) return &facts;
  }
  return nullptr;
}

std::vector<std::string_view> known_model_names() {
  std::vector<std::string_view> out;
  for (const auto& [name, facts] : models()) out.push_back(name);
  return out;
}

}  // namespace pellucid::peers
