#pragma once
// What a checkpoint directory is and what is wrong with it, as data: `pellucid inspect` prints it.
// An inspection goes on as far as the directory allows and collects all problems.

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/json.h"
#include "checkpoint/model_config.h"
#include "checkpoint/problem.h"

namespace pellucid::checkpoint {

struct InspectOptions {
  bool deep = false;  ///< read all payloads, not only headers
  /// Of the deep scan: called about every 64 MiB with the bytes done so far and the total.
  std::function<void(std::uint64_t done, std::uint64_t total)> progress = {};
};

/// Matrices of one weight format ("bf16", "nvfp4_modelopt"), or "vector": norms and biases.
struct FormatUse {
  std::string format;
  std::uint64_t weights = 0;  ///< matrices, or vectors
  std::uint64_t tensors = 0;  ///< in the files: codes, scales, scalars
  std::uint64_t bytes = 0;
};

struct Inspection {
  std::string path;
  bool loadable = false;  ///< false: Checkpoint::open refuses it, for a problem of severity error
  bool deep = false;
  std::optional<ModelConfig> config;  ///< nullopt: config.json is unusable

  std::uint64_t shards = 0;
  std::uint64_t tensors = 0;
  std::uint64_t file_bytes = 0;
  std::uint64_t parameters = 0;         ///< of the main model
  std::uint64_t parameters_active = 0;  ///< of those, used for one token; both embeddings included
  std::uint64_t parameters_mtp = 0;     ///< of the MTP layers that are there
  std::vector<FormatUse> formats;
  std::string quantization_claim;  ///< "fp8 128x128 (config.json quantization_config)", or empty
  std::string kv_cache_claim;
  std::vector<std::int64_t> indexer_layers;  ///< of the main model, by the tensors
  std::int64_t mtp_layers = 0;               ///< present in the files
  std::optional<bool> power_of_two_scales;   ///< of FP8 blocks; known after a deep scan
  std::uint64_t scanned_bytes = 0;

  std::vector<std::string> ignored_files;  ///< code and weights of other formats, never opened
  std::vector<Problem> problems;           ///< at most ProblemLog::kKeptPerRule of each rule
  std::map<std::string, std::uint64_t> problem_counts;  ///< all of them, by rule

  /// 0 clean; 1 it loads, with problems (warnings, or what a deep scan found); 2 unusable: opening
  /// it fails.
  [[nodiscard]] int exit_status() const;
};

/// Fails only when `path` is no directory that can be read; whatever is wrong inside is a problem.
[[nodiscard]] Expected<Inspection> inspect(const std::filesystem::path& path,
                                           const InspectOptions& options = {});

[[nodiscard]] json::Value to_json(const Inspection& inspection);
/// For people; ends with a line feed.
[[nodiscard]] std::string to_text(const Inspection& inspection);

}  // namespace pellucid::checkpoint
