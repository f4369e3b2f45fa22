#include "config/memory_plan.h"

#include <fmt/format.h>

#include <algorithm>

namespace pellucid::config {
namespace {

constexpr std::int64_t kPlaneAlignment = 64;  // planes of a page begin on cache lines
constexpr std::int64_t kScoreRows = 32;       // rows that the indexer scores at a time
constexpr std::int64_t kLogitRows = 8;        // rows of one call for logits
constexpr std::int64_t kF32 = 4;              // bytes; indices are int32, as wide

std::int64_t aligned(std::int64_t bytes) {
  return (bytes + kPlaneAlignment - 1) / kPlaneAlignment * kPlaneAlignment;
}

void plan_weights(const PlanInput& input, MemoryPlan& plan) {
  for (const WeightGroup& group : input.checkpoint.weights) {
    if (group.used) plan.weight_bytes += group.bytes;
  }
  plan.copied_bytes = input.checkpoint.vector_elements * kF32;
}

void plan_kv(const PlanInput& input, MemoryPlan& plan) {
  const ModelDims& dims = input.checkpoint.dims;
  const std::int64_t element = input.kv_element_bytes;
  const std::int64_t width = dims.kv_lora_rank + dims.qk_rope_head_dim;
  const std::int64_t index_layers = input.sparse ? input.checkpoint.indexer_layers() : 0;
  plan.latent_bytes_per_token = saturating_product({dims.num_hidden_layers, width, element});
  plan.index_bytes_per_token = saturating_product({index_layers, dims.index_head_dim, element});
  const std::int64_t latent_plane = aligned(saturating_product({kPageTokens, width, element}));
  const std::int64_t index_plane =
      aligned(saturating_product({kPageTokens, dims.index_head_dim, element}));
  plan.page_bytes = saturating_product({dims.num_hidden_layers, latent_plane}) +
                    saturating_product({index_layers, index_plane});
  plan.pages = (input.kv_tokens + kPageTokens - 1) / kPageTokens;
  plan.kv_bytes = saturating_product({plan.pages, plan.page_bytes});
  const std::string_view dtype = element == 2 ? "bf16" : "f32";
  plan.kv_layout = fmt::format("pages of {} tokens; {} latent planes of {} {}", kPageTokens,
                               dims.num_hidden_layers, width, dtype);
  if (index_layers > 0) {
    plan.kv_layout +=
        fmt::format(", {} indexer planes of {} {}", index_layers, dims.index_head_dim, dtype);
  }
}

class ScratchList {
 public:
  void add(std::string name, std::initializer_list<std::int64_t> element_counts) {
    std::int64_t bytes = 0;
    for (const std::int64_t elements : element_counts) {
      bytes += saturating_product({elements, kF32});
    }
    if (bytes > 0) items_.push_back({std::move(name), bytes});
  }
  std::vector<ScratchItem> take() {
    std::ranges::stable_sort(items_, std::greater{}, &ScratchItem::bytes);
    return std::move(items_);
  }

 private:
  std::vector<ScratchItem> items_;
};

std::int64_t mul(std::int64_t a, std::int64_t b, std::int64_t c = 1) {
  return saturating_product({a, b, c});
}

void add_attention(const PlanInput& input, ScratchList& list) {
  const ModelDims& d = input.checkpoint.dims;
  const std::int64_t t = input.chunk;
  const std::int64_t s = input.context;
  const std::int64_t heads = d.num_attention_heads;
  const std::int64_t width = d.kv_lora_rank + d.qk_rope_head_dim;
  const std::int64_t selected = input.sparse ? std::min(d.index_topk, s) : s;
  list.add("queries",
           {mul(t, d.q_lora_rank), mul(t, heads, d.qk_nope_head_dim + d.qk_rope_head_dim)});
  list.add("latents", {mul(input.expanded ? std::max(s, t) : t, width)});
  if (input.expanded) {
    list.add("expanded keys and values", {mul(s, heads, d.qk_nope_head_dim + d.v_head_dim)});
  } else {
    list.add("absorbed queries and outputs", {mul(2 * t, heads, d.kv_lora_rank)});
  }
  list.add("attention outputs and weights",
           {mul(t, heads, d.v_head_dim), mul(input.threads, selected)});
  list.add("selections", {mul(t, selected), t});
  if (!input.sparse) return;
  list.add("indexer queries and keys",
           {mul(t, d.index_n_heads, d.index_head_dim), mul(t, d.index_head_dim + d.index_n_heads)});
  list.add("index scores", {mul(std::min(t, kScoreRows) + input.threads, s)});
}

void add_feed_forward(const PlanInput& input, ScratchList& list) {
  const ModelDims& d = input.checkpoint.dims;
  const std::int64_t t = input.chunk;
  const std::int64_t k = d.num_experts_per_tok;
  const std::int64_t block =
      std::max(d.intermediate_size, mul(d.moe_intermediate_size, d.n_shared_experts));
  list.add("dense and shared blocks", {mul(2 * t, block), mul(t, d.hidden_size)});
  list.add("router", {mul(t, d.n_routed_experts), mul(2 * t, k)});
  list.add("routed experts", {mul(t, k, d.hidden_size + d.moe_intermediate_size), mul(t, k),
                              2 * d.n_routed_experts + 1});
}

void plan_scratch(const PlanInput& input, MemoryPlan& plan) {
  const ModelDims& d = input.checkpoint.dims;
  ScratchList list;
  list.add("positions", {2 * input.chunk});
  list.add("residual stream", {mul(3 * input.chunk, d.hidden_size)});
  add_attention(input, list);
  add_feed_forward(input, list);
  list.add("logits", {mul(kLogitRows, d.vocab_size)});
  plan.scratch = list.take();
  for (const ScratchItem& item : plan.scratch) plan.scratch_bytes += item.bytes;
}

}  // namespace

std::int64_t saturating_product(std::initializer_list<std::int64_t> factors) {
  constexpr std::int64_t kMost = std::int64_t{1} << 53;
  std::int64_t product = 1;
  for (const std::int64_t factor : factors) {
    if (__builtin_mul_overflow(product, factor, &product) || product > kMost) product = kMost;
    if (factor == 0) return 0;
  }
  return product;
}

std::int64_t MemoryPlan::tokens_fitting(std::int64_t budget) const {
  if (page_bytes == 0) return 0;
  return std::max<std::int64_t>(0, budget - scratch_bytes) / page_bytes * kPageTokens;
}

MemoryPlan plan_memory(const PlanInput& input) {
  MemoryPlan plan;
  plan_weights(input, plan);
  plan_kv(input, plan);
  plan_scratch(input, plan);
  return plan;
}

}  // namespace pellucid::config
