#pragma once
// Checks EngineOptions against the model and fills in what they left open. Private to the room.

#include "base/error.h"
#include "checkpoint/model_config.h"
#include "engine/engine.h"
#include "kernels/ops.h"
#include "kv/kv_cache.h"

namespace pellucid::engine {

struct EffectiveOptions {
  const kernels::OpTable* ops = nullptr;
  int threads = 1;
  model::ModelOptions model;
  kv::KvLayout kv_layout;
  kv::KvBudget kv_budget;
  std::int64_t id_limit = 0;
};

/// Rules: "engine_option" (the error's object is the option's name), "ops_table".
[[nodiscard]] Expected<EffectiveOptions> resolve_options(const EngineOptions& options,
                                                         const checkpoint::ModelConfig& config);

}  // namespace pellucid::engine
