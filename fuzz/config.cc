// config.json of a stranger: accepted dimensions are usable as sizes.

#include "base/json.h"
#include "checkpoint/model_config.h"
#include "fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto value = pellucid::json::parse(as_text(data, size), "config.json");
  if (!value) return 0;
  const auto config = pellucid::checkpoint::read_model_config(*value, "config.json");
  if (!config) {
    PELLUCID_CHECK(!config.error().rule.empty());
    return 0;
  }
  const auto layers = static_cast<std::size_t>(config->num_hidden_layers);
  PELLUCID_CHECK(layers >= 1 && config->layer_is_moe.size() == layers);
  PELLUCID_CHECK(config->layer_has_indexer.size() == layers);
  PELLUCID_CHECK(config->hidden_size > 0 && config->vocab_size > 0 && config->kv_lora_rank > 0);
  PELLUCID_CHECK(config->rope.theta > 0);
  PELLUCID_CHECK(config->num_experts_per_tok <= config->n_routed_experts);
  const auto inv_freq = config->rope.inv_freq(config->qk_rope_head_dim);
  PELLUCID_CHECK(inv_freq.size() * 2 == static_cast<std::size_t>(config->qk_rope_head_dim));
  PELLUCID_CHECK(config->softmax_scale() > 0);
  return 0;
}
