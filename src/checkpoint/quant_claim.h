#pragma once
// What the config says of quantisation: quantization_config of config.json, and
// hf_quant_config.json of ModelOpt. A claim never decides how a tensor is read, it is compared with
// what the tensors are.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/json.h"
#include "checkpoint/formats.h"

namespace pellucid::checkpoint {

struct QuantClaim {
  std::string source;           ///< "config.json quantization_config"; empty: nothing is claimed
  std::string text;             ///< "modelopt NVFP4", for people
  std::vector<Format> formats;  ///< the quantised formats that the claim allows
  std::optional<std::int64_t> int4_group_size;
  bool power_of_two_scales = false;  ///< scale_fmt "ue8m0"
  std::string kv_cache;              ///< "FP8", "float 8"; empty: nothing is said
  std::vector<std::string> unread_keys;

  [[nodiscard]] bool allows(Format format) const;
};

/// From quantization_config; `prefix` is its path in the config. Rules:
/// "config.quantization_config.*".
[[nodiscard]] Expected<QuantClaim> read_quantization_config(const json::Object& object,
                                                            std::string prefix,
                                                            std::string_view source);

/// From hf_quant_config.json. Rules: "config.quantization.*".
[[nodiscard]] Expected<QuantClaim> read_hf_quant_config(const json::Value& value,
                                                        std::string_view source);

}  // namespace pellucid::checkpoint
