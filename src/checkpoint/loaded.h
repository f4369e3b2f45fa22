#pragma once
// A checkpoint directory as far as it could be read, with everything that is wrong with it. Opening
// a checkpoint and inspecting one both start here: the first refuses what the second shows.
//
// Rules, besides those of the parts: "tensor_missing", "tensor_shape", "dtype",
// "unconsumed_tensor", "fused_experts", "indexer_schedule", "format_claim", "group_size_claim",
// "config.unread", "config.warning".

#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

#include "base/file.h"
#include "checkpoint/formats.h"
#include "checkpoint/model_config.h"
#include "checkpoint/modules.h"
#include "checkpoint/problem.h"
#include "checkpoint/quant_claim.h"
#include "checkpoint/registry.h"
#include "checkpoint/shards.h"

namespace pellucid::checkpoint {

/// A linear of the model whose tensors make a matrix.
struct CheckedWeight {
  std::uint32_t expected = 0;  ///< index into Loaded::expected
  Format format = Format::kBf16;
  const Module* module = nullptr;
};

struct Loaded {
  Loaded(Directory directory_in, bool allow_nonfinite);

  Directory directory;
  ProblemLog log;
  std::optional<ModelConfig> config;  ///< nullopt: unreadable, and the log says why
  GenerationConfig generation;
  std::vector<QuantClaim> claims;
  Shards shards;
  LayerFacts facts;
  std::vector<ExpectedTensor> expected;  ///< empty without a config
  std::vector<CheckedWeight> weights;
};

/// Reads configs and headers, and compares them. Fails only when the directory cannot be opened.
[[nodiscard]] Expected<Loaded> load(const std::filesystem::path& path, bool allow_nonfinite);

}  // namespace pellucid::checkpoint
