#include "checkpoint/token_ids.h"

#include <algorithm>

namespace pellucid::checkpoint {
namespace {

constexpr std::size_t kEosIdsMax = 1024;

/// Takes one id; -1 (some files write it for "none") counts as absent.
Expected<std::optional<std::int64_t>> read_id(KeyReader& keys, std::string_view key,
                                              std::int64_t vocab_size) {
  PELLUCID_TRY(const auto id, keys.optional_integer(key, {.min = -1, .max = vocab_size - 1}));
  if (!id || *id < 0) return std::nullopt;
  return id;
}

Expected<void> add_eos(const KeyReader& keys, const json::Value& value, std::int64_t vocab_size,
                       std::vector<std::int32_t>& ids) {
  const bool fits =
      value.type() == json::Type::kInt && value.integer() >= 0 && value.integer() < vocab_size;
  if (!fits) {
    return keys.refuse("eos_token_id", json::dump(value).substr(0, 80),
                       "ids in [0, " + std::to_string(vocab_size) + ")");
  }
  const auto id = static_cast<std::int32_t>(value.integer());
  if (std::find(ids.begin(), ids.end(), id) == ids.end()) ids.push_back(id);
  return {};
}

Expected<void> read_eos(KeyReader& keys, std::int64_t vocab_size, std::vector<std::int32_t>& ids) {
  const json::Value* value = keys.take("eos_token_id");
  if (value == nullptr) return {};
  if (!value->is_array()) return add_eos(keys, *value, vocab_size, ids);
  if (value->array().size() > kEosIdsMax) {
    return keys.refuse("eos_token_id", std::to_string(value->array().size()) + " ids",
                       "at most " + std::to_string(kEosIdsMax), ErrorKind::kLimit);
  }
  for (const json::Value& id : value->array()) {
    PELLUCID_TRY_VOID(add_eos(keys, id, vocab_size, ids));
  }
  return {};
}

template <class T>
Expected<void> set_if_given(Expected<std::optional<T>> given, T& out) {
  if (!given) return fail(std::move(given).error());
  if (*given) out = **given;
  return {};
}

}  // namespace

Expected<void> read_token_ids(KeyReader& keys, std::int64_t vocab_size, ModelConfig& config) {
  PELLUCID_TRY_VOID(read_eos(keys, vocab_size, config.eos_token_ids));
  PELLUCID_TRY(const auto bos, read_id(keys, "bos_token_id", vocab_size));
  PELLUCID_TRY(const auto pad, read_id(keys, "pad_token_id", vocab_size));
  if (bos && config.bos_token_id < 0) config.bos_token_id = static_cast<std::int32_t>(*bos);
  if (pad && config.pad_token_id < 0) config.pad_token_id = static_cast<std::int32_t>(*pad);
  return {};
}

Expected<GenerationConfig> read_generation_config(const json::Value& value, std::string_view source,
                                                  ModelConfig& config) {
  if (!value.is_object()) {
    return fail({.rule = "config.generation_config",
                 .object = "generation config",
                 .found = std::string(json::type_name(value.type())),
                 .expected = "an object",
                 .source = std::string(source)});
  }
  KeyReader keys(value.object(), "generation_config.", source);
  GenerationConfig out;
  PELLUCID_TRY_VOID(set_if_given(keys.optional_boolean("do_sample"), out.do_sample));
  PELLUCID_TRY_VOID(set_if_given(keys.optional_real("temperature", {.above = -1e-300, .max = 100}),
                                 out.temperature));
  PELLUCID_TRY_VOID(set_if_given(keys.optional_real("top_p", {.above = 0, .max = 1}), out.top_p));
  PELLUCID_TRY_VOID(
      set_if_given(keys.optional_integer("top_k", {.min = 0, .max = 1 << 22}), out.top_k));
  PELLUCID_TRY_VOID(
      set_if_given(keys.optional_real("min_p", {.above = -1e-300, .max = 1}), out.min_p));
  PELLUCID_TRY_VOID(set_if_given(keys.optional_real("repetition_penalty", {.above = 0, .max = 100}),
                                 out.repetition_penalty));
  PELLUCID_TRY_VOID(read_token_ids(keys, config.vocab_size, config));
  for (const std::string_view provenance : {"transformers_version", "_from_model_config"}) {
    keys.take(provenance);
  }
  const auto unread = keys.unread();
  config.unread_keys.insert(config.unread_keys.end(), unread.begin(), unread.end());
  return out;
}

}  // namespace pellucid::checkpoint
