#include "checkpoint/indexer_schedule.h"

#include <algorithm>

namespace pellucid::checkpoint {
namespace {

using Schedule = std::vector<bool>;

Expected<std::optional<Schedule>> from_types(KeyReader& keys, std::int64_t layers) {
  PELLUCID_TRY(const auto types, keys.optional_strings("indexer_types"));
  if (!types) return std::nullopt;
  if (std::ssize(*types) != layers) {
    return keys.refuse("indexer_types", std::to_string(types->size()) + " entries",
                       std::to_string(layers) + ", one for each layer");
  }
  Schedule out;
  for (const std::string& type : *types) {
    if (type != "full" && type != "shared") {
      return keys.refuse("indexer_types", "\"" + type + "\"", "\"full\" or \"shared\"");
    }
    out.push_back(type == "full");
  }
  return out;
}

Expected<std::optional<Schedule>> from_pattern(KeyReader& keys, std::int64_t layers) {
  PELLUCID_TRY(const auto pattern, keys.optional_string("index_topk_pattern"));
  if (!pattern) return std::nullopt;
  if (std::ssize(*pattern) != layers || pattern->find_first_not_of("FS") != std::string::npos) {
    return keys.refuse("index_topk_pattern", std::to_string(pattern->size()) + " letters",
                       std::to_string(layers) + " letters F or S, one for each layer");
  }
  Schedule out;
  for (const char letter : *pattern) out.push_back(letter == 'F');
  return out;
}

Expected<std::optional<Schedule>> from_period(KeyReader& keys, std::int64_t layers) {
  constexpr IntRange kRange{.min = 1, .max = 4096};
  PELLUCID_TRY(const auto freq, keys.optional_integer("index_topk_freq", kRange));
  PELLUCID_TRY(const auto offset,
               keys.optional_integer("index_skip_topk_offset", {.min = 0, .max = 4096}));
  if (!freq && !offset) return std::nullopt;
  return periodic_schedule(layers, freq.value_or(1), offset.value_or(2));
}

}  // namespace

Schedule periodic_schedule(std::int64_t num_hidden_layers, std::int64_t freq, std::int64_t offset) {
  Schedule out;
  for (std::int64_t i = 0; i < num_hidden_layers; ++i) {
    out.push_back(std::max<std::int64_t>(i - offset + 1, 0) % freq == 0);
  }
  return out;
}

Expected<Schedule> read_indexer_schedule(KeyReader& keys, std::int64_t num_hidden_layers,
                                         std::vector<std::string>& warnings) {
  PELLUCID_TRY(const auto types, from_types(keys, num_hidden_layers));
  PELLUCID_TRY(const auto pattern, from_pattern(keys, num_hidden_layers));
  PELLUCID_TRY(const auto period, from_period(keys, num_hidden_layers));
  const struct {
    const char* keys;
    const std::optional<Schedule>& schedule;
  } sources[] = {{"indexer_types", types},
                 {"index_topk_pattern", pattern},
                 {"index_topk_freq and index_skip_topk_offset", period}};
  const char* chosen_keys = nullptr;
  Schedule chosen(static_cast<std::size_t>(num_hidden_layers), true);
  for (const auto& source : sources) {
    if (!source.schedule) continue;
    if (chosen_keys == nullptr) {
      chosen_keys = source.keys;
      chosen = *source.schedule;
      continue;
    }
    if (*source.schedule != chosen) {
      warnings.push_back(std::string("indexer schedule: ") + source.keys + " disagrees with " +
                         chosen_keys + ", which wins");
    }
  }
  if (!chosen.front()) {
    return keys.refuse(chosen_keys, "layer 0 without an indexer",
                       "an indexer in layer 0: it has no lower layer to share with");
  }
  return chosen;
}

}  // namespace pellucid::checkpoint
