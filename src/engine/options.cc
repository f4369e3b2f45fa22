#include "engine/options.h"

#include <sched.h>

#include <algorithm>
#include <string>

namespace pellucid::engine {
namespace {

constexpr std::int64_t kThreadsMax = 1024;       // a cpu_set_t holds as many
constexpr std::int64_t kSequencesMax = 1 << 20;  // each has a page table

struct Bounded {
  const char* option;
  std::int64_t value;
  std::int64_t low;
  std::int64_t high;
};

Expected<void> check_bounds(const Bounded& bounded) {
  if (bounded.value >= bounded.low && bounded.value <= bounded.high) return {};
  return fail(
      {.kind = ErrorKind::kInvalid,
       .rule = "engine_option",
       .object = bounded.option,
       .found = std::to_string(bounded.value),
       .expected = "from " + std::to_string(bounded.low) + " to " + std::to_string(bounded.high),
       .source = "engine options",
       .fix = ""});
}

Expected<const kernels::OpTable*> choose_ops(const std::string& name) {
  const auto tables = kernels::available_ops();
  if (name == "auto") return tables.back();
  if (const kernels::OpTable* table = kernels::find_ops(name)) return table;
  std::string names = "auto";
  for (const kernels::OpTable* table : tables) names += ", " + std::string(table->name);
  return fail({.kind = ErrorKind::kUnsupported,
               .rule = "ops_table",
               .object = "operator table",
               .found = name,
               .expected = "one of " + names,
               .source = "ops",
               .fix = ""});
}

int cpus_allowed() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return 1;
  return std::max(1, CPU_COUNT(&allowed));
}

kv::KvLayout kv_layout(const EngineOptions& options, const checkpoint::ModelConfig& config) {
  const bool indexed = model::uses_indexer(config, options.attention_scope);
  kv::KvLayout layout;
  layout.latent_width = config.kv_lora_rank + config.qk_rope_head_dim;
  layout.index_width = indexed ? config.index_head_dim : 0;
  layout.layer_has_indexer.assign(static_cast<std::size_t>(config.num_hidden_layers), false);
  if (indexed) layout.layer_has_indexer = config.layer_has_indexer;
  layout.dtype = options.kv_dtype;
  return layout;
}

}  // namespace

Expected<EffectiveOptions> resolve_options(const EngineOptions& options,
                                           const checkpoint::ModelConfig& config) {
  const std::int64_t positions = config.max_position_embeddings;
  const std::int64_t context = options.context_max.value_or(std::min(kDefaultContext, positions));
  const std::int64_t id_limit = options.id_limit.value_or(config.vocab_size);
  const std::int64_t kv_tokens = options.kv_tokens_max.value_or(context);
  for (const Bounded& bounded : {
           Bounded{"threads", options.threads, 0, kThreadsMax},
           Bounded{"context_max", context, 1, positions},
           Bounded{"sequences_max", options.sequences_max, 1, kSequencesMax},
           Bounded{"kv_tokens_max", kv_tokens, 1, INT64_MAX / 2},
           Bounded{"chunk_tokens", options.chunk_tokens, 1, INT32_MAX},
       }) {
    PELLUCID_TRY_VOID(check_bounds(bounded));
  }

  if (id_limit < 1 || id_limit > config.vocab_size) {
    return fail({.kind = ErrorKind::kInvalid,
                 .rule = "vocab_mismatch",
                 .object = "ids of the tokenizer",
                 .found = std::to_string(id_limit) + " ids",
                 .expected = "1 to vocab_size " + std::to_string(config.vocab_size) +
                             " of config.json (more rows than ids are padding)",
                 .source = "tokenizer and config.json",
                 .fix = "use the tokenizer that came with this checkpoint"});
  }

  EffectiveOptions out;
  PELLUCID_TRY(out.ops, choose_ops(options.ops));
  out.threads = options.threads > 0 ? options.threads : cpus_allowed();
  out.model = {.attention_form = options.attention_form,
               .attention_scope = options.attention_scope,
               .context_max = context,
               .chunk_tokens = std::min(options.chunk_tokens, context)};
  out.kv_layout = kv_layout(options, config);
  out.kv_budget = {.sequences_max = options.sequences_max,
                   .context_max = context,
                   .pages = options.kv_tokens_max
                                ? out.kv_layout.pages_for(kv_tokens)
                                : out.kv_layout.pages_for(context) * options.sequences_max};
  out.id_limit = id_limit;
  return out;
}

}  // namespace pellucid::engine
