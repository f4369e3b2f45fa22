#pragma once
// Token ids of config.json, and generation_config.json.

#include <cstdint>
#include <string_view>
#include <vector>

#include "checkpoint/key_reader.h"
#include "checkpoint/model_config.h"

namespace pellucid::checkpoint {

/// Takes eos_token_id (a number or an array), bos_token_id and pad_token_id; all must lie in the
/// vocabulary. eos ids join those already in `config`; bos and pad are set where still unset.
Expected<void> read_token_ids(KeyReader& keys, std::int64_t vocab_size, ModelConfig& config);

/// Reads generation_config.json; its eos ids join those of `config`. Keys that nothing reads are
/// appended to config.unread_keys as "generation_config.KEY". Rules:
/// "config.generation_config.KEY".
[[nodiscard]] Expected<GenerationConfig> read_generation_config(const json::Value& value,
                                                                std::string_view source,
                                                                ModelConfig& config);

}  // namespace pellucid::checkpoint
