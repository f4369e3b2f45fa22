#pragma once
// The tensors that a model of a given config consists of, with their shapes (model.md section 5.1
// and 3.8): one table of names for all families, filled in by the numbers of the config.

#include <cstdint>
#include <string>
#include <vector>

#include "checkpoint/model_config.h"

namespace pellucid::checkpoint {

struct ExpectedTensor {
  std::string name;       ///< of a linear its module, without ".weight"; else the full name
  bool is_linear = true;  ///< a matrix in any weight format; else a plain vector [rows]
  bool is_optional = false;
  bool is_routed = false;   ///< belongs to a routed expert
  std::int32_t layer = -1;  ///< -1: outside the layers
  std::int64_t rows = 0;
  std::int64_t cols = 1;
};

/// What a config leaves to the files.
struct LayerFacts {
  std::vector<bool> has_indexer;  ///< of each layer, those of the MTP part included
  std::int64_t mtp_layers = 0;    ///< layers after the last one that are there
};

/// Facts of a complete checkpoint of that config.
[[nodiscard]] LayerFacts complete_facts(const ModelConfig& config);

[[nodiscard]] std::vector<ExpectedTensor> expected_tensors(const ModelConfig& config,
                                                           const LayerFacts& facts);

struct ParameterCount {
  std::uint64_t main = 0;  ///< without the MTP layers
  std::uint64_t mtp = 0;
  std::uint64_t active = 0;  ///< of main, used for one token; both embeddings included
};

/// Of the tensors that are not optional.
[[nodiscard]] ParameterCount count_parameters(const ModelConfig& config,
                                              const std::vector<ExpectedTensor>& tensors);

}  // namespace pellucid::checkpoint
