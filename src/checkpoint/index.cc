#include "checkpoint/index.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <unordered_map>

#include "base/json.h"
#include "base/utf8.h"
#include "checkpoint/plain_json.h"

namespace pellucid::checkpoint {
namespace {

constexpr std::uint64_t kTensorsMax = 1'000'000;  // Kimi-K2 in INT4 has 208,000

Error index_error(std::string rule, std::string object, std::string found, std::string expected) {
  return {.rule = std::move(rule),
          .object = std::move(object),
          .found = std::move(found),
          .expected = std::move(expected),
          .source = std::string(kIndexName)};
}

std::unexpected<Error> too_many_shards() {
  return fail(index_error("shard_count", "weight_map",
                          "more than " + std::to_string(kShardsMax) + " shards",
                          "at most " + std::to_string(kShardsMax)));
}

/// Gives shards their numbers in the order in which the index names them.
class IndexBuilder {
 public:
  /// False when the shard's name is not that of a file inside the directory.
  bool add(std::string_view tensor, std::string_view shard) {
    if (!index_.shards.empty() && shard == index_.shards[last_]) {
      index_.tensors.emplace_back(tensor, last_);
      return true;
    }
    const auto it = ids_.find(std::string(shard));
    if (it != ids_.end()) {
      last_ = it->second;
      index_.tensors.emplace_back(tensor, last_);
      return true;
    }
    if (!is_safe_shard_name(shard)) return false;
    last_ = static_cast<std::uint32_t>(index_.shards.size());
    index_.shards.emplace_back(shard);
    ids_.emplace(shard, last_);
    index_.tensors.emplace_back(tensor, last_);
    return true;
  }
  void reserve(std::size_t tensors) { index_.tensors.reserve(tensors); }
  /// A copy of a name that lives as long as the index.
  std::string_view keep(std::string_view name) {
    return *index_.decoded_names.emplace_back(std::make_unique<std::string>(name));
  }
  /// The shard of the tensor before this one: most often that of the next one too.
  [[nodiscard]] std::string_view last_shard() const {
    return index_.shards.empty() ? std::string_view() : index_.shards[last_];
  }
  [[nodiscard]] const Index& index() const { return index_; }
  [[nodiscard]] std::size_t shards() const { return index_.shards.size(); }
  [[nodiscard]] Index take() { return std::move(index_); }

 private:
  Index index_;
  std::unordered_map<std::string, std::uint32_t> ids_;
  std::uint32_t last_ = 0;
};

Expected<Index> parse_index_strict(std::string_view text) {
  auto parsed =
      json::parse(text, kIndexName, {.bytes_max = kIndexBytesMax, .values_max = kTensorsMax});
  if (!parsed) {
    Error error = std::move(parsed).error();
    if (error.rule == "duplicate_key") error.rule = "duplicate_tensor";
    if (error.rule == "json_syntax") error.rule = "index_json";
    return fail(std::move(error));
  }
  const json::Value* map = parsed->is_object() ? parsed->find("weight_map") : nullptr;
  if (map == nullptr || !map->is_object() || map->object().empty()) {
    return fail(index_error("index_json", "weight_map", "none", "an object: tensor name to shard"));
  }
  IndexBuilder builder;
  for (const auto& [tensor, shard] : map->object()) {
    if (!shard.is_string() || !builder.add(builder.keep(tensor), shard.string())) {
      return fail(index_error("shard_path", "shard of " + utf8::escape_for_display(tensor),
                              utf8::escape_for_display(json::dump(shard)),
                              "the name of a file inside the model directory"));
    }
    if (builder.shards() > kShardsMax) return too_many_shards();
  }
  return builder.take();
}

/// False only when no name occurs twice. The usual index is sorted: then names need no hashes.
bool may_repeat_a_name(const Index& index) {
  const auto does_not_ascend = [](const auto& a, const auto& b) { return a.first >= b.first; };
  const auto& tensors = index.tensors;
  if (std::adjacent_find(tensors.begin(), tensors.end(), does_not_ascend) == tensors.end()) {
    return false;
  }
  std::vector<std::uint64_t> hashes;
  hashes.reserve(tensors.size());
  for (const auto& [name, shard] : tensors) {
    hashes.push_back(std::hash<std::string_view>()(name));
  }
  std::sort(hashes.begin(), hashes.end());
  return std::adjacent_find(hashes.begin(), hashes.end()) != hashes.end();
}

/// Reads an index that is plain and breaks no rule; nullopt for any other.
Expected<std::optional<Index>> parse_index_plain(std::string_view text) {
  PlainJson json(text);
  IndexBuilder builder;
  builder.reserve(text.size() / 64);  // an entry has 95 bytes
  int maps = 0;
  int metadatas = 0;
  if (!json.accept('{')) return std::nullopt;
  do {
    const auto key = json.string();
    if (!key || !json.accept(':')) return std::nullopt;
    if (*key != "weight_map") {
      if (*key != "metadata" || ++metadatas > 1 || !json.skip_value(4)) return std::nullopt;
      continue;
    }
    if (++maps > 1 || !json.accept('{')) return std::nullopt;
    do {
      const auto tensor = json.string();
      if (!tensor || !json.accept(':')) return std::nullopt;
      const std::string_view last = builder.last_shard();
      const auto shard = !last.empty() && json.accept_string(last) ? last : json.string();
      if (!shard || !builder.add(*tensor, *shard)) return std::nullopt;
      if (builder.shards() > kShardsMax) return too_many_shards();
      if (builder.index().tensors.size() > kTensorsMax) return std::nullopt;
    } while (json.accept(','));
    if (!json.accept('}')) return std::nullopt;
  } while (json.accept(','));
  if (maps != 1 || !json.accept('}') || !json.at_end()) return std::nullopt;
  if (may_repeat_a_name(builder.index())) return std::nullopt;
  return builder.take();
}

}  // namespace

/// Lexical check; the kernel checks again when the file is opened beneath the directory.
bool is_safe_shard_name(std::string_view name) {
  if (name.empty() || name.size() > 512 || name.front() == '/') return false;
  if (name.find('\0') != std::string_view::npos) return false;
  for (std::size_t begin = 0; begin <= name.size();) {
    const std::size_t end = std::min(name.find('/', begin), name.size());
    const std::string_view part = name.substr(begin, end - begin);
    if (part.empty() || part == "." || part == "..") return false;
    begin = end + 1;
  }
  return true;
}

Expected<Index> parse_index(std::string_view text) {
  PELLUCID_TRY(auto plain, parse_index_plain(text));
  if (plain) return *std::move(plain);
  return parse_index_strict(text);
}

}  // namespace pellucid::checkpoint
