#pragma once
// Private to the room.

#include "model/model.h"
#include "model/scratch.h"
#include "model/step_context.h"

namespace pellucid::model {

struct Model::State {
  const checkpoint::ModelConfig& config;
  const Weights& weights;
  ModelOptions options;
  const kernels::OpTable& ops;
  ThreadPool& pool;
  Rope rope;
  Scratch scratch;
};

}  // namespace pellucid::model
