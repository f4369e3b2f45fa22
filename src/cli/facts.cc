#include "cli/facts.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/machine.h"
#include "checkpoint/formats.h"
#include "checkpoint/loaded.h"
#include "config/device_catalog.h"

namespace pellucid::cli {
namespace {

using checkpoint::ExpectedTensor;
using checkpoint::Loaded;
using checkpoint::ModelConfig;

std::string_view part_of(const ExpectedTensor& tensor, const ModelConfig& config) {
  if (tensor.layer >= config.num_hidden_layers) return "next-token prediction";
  if (tensor.is_routed) return "routed experts";
  const std::string_view name = tensor.name;
  const auto has = [&](std::string_view part) { return name.find(part) != name.npos; };
  if (has("embed_tokens")) return "embeddings";
  if (has("lm_head")) return "output head";
  if (has(".indexer.")) return "indexer";
  if (has(".self_attn.")) return "attention";
  if (has(".shared_experts.")) return "shared experts";
  return name.ends_with(".mlp.gate") ? "router" : "dense blocks";
}

std::int64_t module_bytes(const checkpoint::Module& module) {
  std::int64_t bytes = 0;
  for (const checkpoint::TensorInfo* part : module.parts) {
    if (part != nullptr) bytes += static_cast<std::int64_t>(part->bytes.size());
  }
  return bytes;
}

/// Largest first: the table is read from the top.
std::vector<config::WeightGroup> weight_groups(const Loaded& loaded, const ModelConfig& config) {
  std::map<std::pair<std::string_view, checkpoint::Format>, config::WeightGroup> groups;
  for (const checkpoint::CheckedWeight& weight : loaded.weights) {
    const ExpectedTensor& tensor = loaded.expected[weight.expected];
    const std::string_view part = part_of(tensor, config);
    config::WeightGroup& group = groups[{part, weight.format}];
    group.part = part;
    group.format = checkpoint::format_name(weight.format);
    group.used = tensor.layer < config.num_hidden_layers;
    ++group.matrices;
    group.bytes += module_bytes(*weight.module);
  }
  std::vector<config::WeightGroup> out;
  for (auto& [key, group] : groups) out.push_back(std::move(group));
  std::ranges::stable_sort(out, std::greater{}, &config::WeightGroup::bytes);
  return out;
}

config::ModelDims dims_of(const ModelConfig& c) {
  return {.hidden_size = c.hidden_size,
          .num_hidden_layers = c.num_hidden_layers,
          .vocab_size = c.vocab_size,
          .max_position_embeddings = c.max_position_embeddings,
          .num_attention_heads = c.num_attention_heads,
          .q_lora_rank = c.q_lora_rank,
          .kv_lora_rank = c.kv_lora_rank,
          .qk_nope_head_dim = c.qk_nope_head_dim,
          .qk_rope_head_dim = c.qk_rope_head_dim,
          .v_head_dim = c.v_head_dim,
          .intermediate_size = c.intermediate_size,
          .moe_intermediate_size = c.moe_intermediate_size,
          .n_routed_experts = c.n_routed_experts,
          .num_experts_per_tok = c.num_experts_per_tok,
          .n_shared_experts = c.n_shared_experts,
          .index_n_heads = c.index_n_heads,
          .index_head_dim = c.index_head_dim,
          .index_topk = c.index_topk};
}

config::RopeFacts rope_of(const ModelConfig& c) {
  return {.theta = c.rope.theta,
          .type = c.rope.yarn ? "yarn" : "default",
          .factor = c.rope.factor,
          .source = c.rope.source,
          .main_interleaved = true,  // every family here (model.md 3.4)
          .indexer_interleaved = c.indexer_rope_interleave};
}

config::GenerationFacts generation_of(const checkpoint::GenerationConfig& g) {
  return {.do_sample = g.do_sample,
          .temperature = g.temperature,
          .top_k = g.top_k,
          .top_p = g.top_p,
          .min_p = g.min_p,
          .repetition_penalty = g.repetition_penalty};
}

/// Unread keys and the schedule have contracts of their own in resolution.
std::vector<config::CheckpointProblem> problems_of(const checkpoint::ProblemLog& log) {
  std::vector<config::CheckpointProblem> out;
  for (const checkpoint::Problem& problem : log.problems()) {
    const std::string& rule = problem.error.rule;
    if (problem.severity == checkpoint::Severity::kNote || rule == "config.unread" ||
        rule == "indexer_schedule") {
      continue;
    }
    std::string text = problem.tensor.empty() ? "" : problem.tensor + problem.place + ": ";
    text += problem.error.to_string();
    out.push_back({.refuses = problem.severity == checkpoint::Severity::kError,
                   .rule = rule,
                   .text = std::move(text)});
  }
  return out;
}

void add_kv_facts(const Loaded& loaded, config::CheckpointFacts& facts) {
  for (const checkpoint::QuantClaim& claim : loaded.claims) {
    if (!claim.kv_cache.empty()) facts.kv_cache_claim = claim.kv_cache;
  }
  facts.kv_scales = std::ranges::any_of(
      loaded.shards.tensors, [](const auto& tensor) { return tensor.name.ends_with(".k_scale"); });
}

}  // namespace

Expected<CheckpointReading> read_checkpoint_facts(const std::string& directory) {
  PELLUCID_TRY(const Loaded loaded, checkpoint::load(directory, /*allow_nonfinite=*/false));
  const checkpoint::Problem* const first_error = loaded.log.first_error();
  if (!loaded.config) return fail(first_error->error);
  const ModelConfig& c = *loaded.config;
  CheckpointReading out;
  if (first_error != nullptr) out.refusal = first_error->error;
  config::CheckpointFacts& facts = out.facts;
  facts.source = directory;
  facts.family = checkpoint::family_name(c.family);
  facts.architecture = c.architecture;
  facts.dims = dims_of(c);
  facts.layer_has_indexer = c.layer_has_indexer;
  facts.layer_has_indexer_tensors = loaded.facts.has_indexer;
  facts.mtp_layers = loaded.facts.mtp_layers;
  facts.rope = rope_of(c);
  facts.weights = weight_groups(loaded, c);
  facts.tensors = static_cast<std::int64_t>(loaded.shards.tensors.size());
  for (const ExpectedTensor& tensor : loaded.expected) {
    if (!tensor.is_linear && tensor.layer < c.num_hidden_layers) {
      facts.vector_elements += tensor.rows;
    }
  }
  facts.generation = generation_of(loaded.generation);
  facts.eos_token_ids.assign(c.eos_token_ids.begin(), c.eos_token_ids.end());
  facts.unread_keys = c.unread_keys;
  facts.problems = problems_of(loaded.log);
  add_kv_facts(loaded, facts);
  return out;
}

Expected<config::DeviceFacts> read_device_facts(const std::string& device, bool measure) {
  if (device != "host") {
    if (measure) {
      return fail({.rule = "setting_conflict",
                   .object = "--measure",
                   .found = "--device " + device,
                   .expected = "the machine that the program runs on: --device host",
                   .source = "command line"});
    }
    return config::parse_device(device, "command line");
  }
  config::DeviceFacts facts = config::host_device(read_machine());
  if (measure) {
    constexpr std::int64_t kBytesPerThread = 256 << 20;  // beyond the caches of any CPU
    facts.bandwidth = measure_read_bandwidth(static_cast<int>(facts.cpus_allowed), kBytesPerThread);
    facts.bandwidth_measured = true;
  }
  return facts;
}

}  // namespace pellucid::cli
