#pragma once
// Queries that several tests ask.

#include <string>
#include <utility>
#include <vector>

#include "peers/peers.h"

namespace pellucid::peers {

/// The run of the founding incident: GLM-5-NVFP4 on eight SM120 GPUs.
inline std::vector<std::string> founding_flags() {
  return {"--model-path",
          "GLM-5-NVFP4",
          "--tp",
          "8",
          "--quantization",
          "modelopt_fp4",
          "--attention-backend",
          "flashinfer",
          "--kv-cache-dtype",
          "fp8_e4m3"};
}

inline PeerQuery query_of(std::string engine, std::string at, const char* device, const char* model,
                          std::vector<std::string> flags) {
  PeerQuery query;
  query.engine = std::move(engine);
  query.at = std::move(at);
  if (device != nullptr) query.device = *parse_device(device);
  if (model != nullptr) query.model = *known_model(model);
  query.flags = std::move(flags);
  return query;
}

inline PeerQuery founding_query() {
  return query_of("sglang", "2026-02-18", "sm_120:96GB x8", "GLM-5-NVFP4", founding_flags());
}

}  // namespace pellucid::peers
