#pragma once
// model.safetensors.index.json: which shard holds which tensor. parse_index() is pure; it believes
// no name of a file before it is that of a file beneath the directory.
//
// Rules: "index_json", "json_depth", "json_limit", "json_utf8", "duplicate_tensor", "shard_path",
// "shard_count".

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"

namespace pellucid::checkpoint {

inline constexpr std::string_view kIndexName = "model.safetensors.index.json";
inline constexpr std::uint64_t kIndexBytesMax = 256ULL << 20;
inline constexpr std::size_t kShardsMax = 10'000;

struct Index {
  std::vector<std::string> shards;  ///< in the order of first mention
  /// Name, index into shards. Names are views into the text, or into decoded_names.
  std::vector<std::pair<std::string_view, std::uint32_t>> tensors;
  std::vector<std::unique_ptr<std::string>> decoded_names;
};

/// The text must outlive the index.
[[nodiscard]] Expected<Index> parse_index(std::string_view text);

/// Whether `name` can be that of a file beneath the model directory: relative, without "..".
[[nodiscard]] bool is_safe_shard_name(std::string_view name);

}  // namespace pellucid::checkpoint
