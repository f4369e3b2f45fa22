// model.safetensors.index.json of a stranger. Its plain reader agrees with the strict parser: what
// is accepted is strict JSON, and every tensor has the shard that the text gives it.

#include "checkpoint/index.h"

#include "base/json.h"
#include "fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = as_text(data, size);
  const auto index = pellucid::checkpoint::parse_index(text);
  if (!index) {
    PELLUCID_CHECK(!index.error().rule.empty());
    return 0;
  }
  const auto value = pellucid::json::parse(text, "index");
  PELLUCID_CHECK(value.has_value());
  const auto& map = value->find("weight_map")->object();
  PELLUCID_CHECK(index->tensors.size() == map.size());
  for (std::size_t i = 0; i < map.size(); ++i) {
    const auto& [tensor, shard] = index->tensors[i];
    PELLUCID_CHECK(tensor == map[i].first);
    PELLUCID_CHECK(index->shards.at(shard) == map[i].second.string());
  }
  for (const auto& shard : index->shards) {
    PELLUCID_CHECK(pellucid::checkpoint::is_safe_shard_name(shard));
    PELLUCID_CHECK(!shard.starts_with('/') &&
                   ("/" + shard + "/").find("/../") == std::string::npos);
  }
  return 0;
}
