#pragma once
// The weight files of a checkpoint directory: model.safetensors, or model.safetensors.index.json
// and the shards it names. Every tensor of every shard that could be read, by name; what is wrong
// goes to the log, and reading goes on with the next shard.
//
// Rules, besides those of the container (safetensors.h): "no_weights", "bin_only",
// "two_weight_sets", those of the index (index.h), "shard_missing", "tensor_absent",
// "tensor_shard", "duplicate_tensor", "tensor_unindexed".

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/modules.h"
#include "checkpoint/problem.h"

namespace pellucid::checkpoint {

struct Shards {
  std::vector<MappedFile> files;
  std::vector<TensorInfo> tensors;  ///< of all shards, each shard in the order of its data
  TensorTable table;
  std::vector<std::unique_ptr<std::string>>
      decoded_names;                       ///< that the headers do not hold as such
  std::vector<std::string> ignored_files;  ///< of the directory: code, other weight formats
  /// Some shard is missing or unreadable: an absent tensor is then no finding of its own.
  bool incomplete = false;

  [[nodiscard]] const TensorInfo* find(std::string_view name) const { return table.find(name); }
};

/// Maps the weight files below `directory` and reads their headers.
[[nodiscard]] Shards read_shards(const Directory& directory, ProblemLog& log);

}  // namespace pellucid::checkpoint
