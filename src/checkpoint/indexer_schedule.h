#pragma once
// Which layers own a lightning indexer (model.md section 2.1, "IndexShare", arXiv:2603.12201).

#include <cstdint>
#include <string>
#include <vector>

#include "checkpoint/key_reader.h"

namespace pellucid::checkpoint {

/// Takes indexer_types, index_topk_pattern, index_topk_freq and index_skip_topk_offset. The first
/// of them that is given decides; a later one that says otherwise becomes a warning.
[[nodiscard]] Expected<std::vector<bool>> read_indexer_schedule(KeyReader& keys,
                                                                std::int64_t num_hidden_layers,
                                                                std::vector<std::string>& warnings);

/// Rule c: max(i - offset + 1, 0) % freq == 0.
[[nodiscard]] std::vector<bool> periodic_schedule(std::int64_t num_hidden_layers, std::int64_t freq,
                                                  std::int64_t offset);

}  // namespace pellucid::checkpoint
