#pragma once
// Where the memory goes: weights as they lie in the mapped files, the KV cache by its layout, and
// the scratch of a step. Pure arithmetic on the facts; a test of the command line compares it with
// what the engine allocates.

#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include "config/facts.h"
#include "config/resolution.h"

namespace pellucid::config {

/// Tokens of a page of the KV cache.
inline constexpr std::int64_t kPageTokens = 64;

struct PlanInput {
  const CheckpointFacts& checkpoint;
  std::int64_t context = 0;
  std::int64_t chunk = 0;
  std::int64_t threads = 0;
  std::int64_t kv_tokens = 0;
  bool sparse = false;
  bool expanded = false;
  std::int64_t kv_element_bytes = 2;
};

struct ScratchItem {
  std::string name = {};
  std::int64_t bytes = 0;
};

struct MemoryPlan {
  std::int64_t weight_bytes = 0;  ///< mapped and used; the unused are not touched
  std::int64_t copied_bytes = 0;  ///< norms and biases as f32
  std::string kv_layout = {};     ///< "pages of 64 tokens; 78 latent planes of 576 bf16, ..."
  std::int64_t latent_bytes_per_token = 0;
  std::int64_t index_bytes_per_token = 0;
  std::int64_t page_bytes = 0;
  std::int64_t pages = 0;
  std::int64_t kv_bytes = 0;
  std::vector<ScratchItem> scratch = {};  ///< largest first
  std::int64_t scratch_bytes = 0;

  /// Cached tokens for which `budget` bytes are enough, scratch as planned; a multiple of a page.
  [[nodiscard]] std::int64_t tokens_fitting(std::int64_t budget) const;
};

/// The product of sizes that a config may claim; past 2^53 it stays there, which no machine has and
/// every budget refuses.
[[nodiscard]] std::int64_t saturating_product(std::initializer_list<std::int64_t> factors);

[[nodiscard]] MemoryPlan plan_memory(const PlanInput& input);
[[nodiscard]] MemoryPlan plan_memory(const Resolution& resolution);

}  // namespace pellucid::config
