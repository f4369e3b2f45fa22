#pragma once
// Feed-forward blocks: SwiGLU, and the mixture of experts (DeepSeek-V3, arXiv:2412.19437, section
// 2.1.2; model.md 3.6).

#include <cstdint>

#include "model/step_context.h"
#include "model/weights.h"

namespace pellucid::model {

/// block_out = down(silu(gate x) * up x), x = scratch.normed.
void dense_ffn(const StepContext& step, const MlpWeights& weights);

/// block_out = sum of routed experts + shared experts, x = scratch.normed.
void moe_ffn(const StepContext& step, std::int64_t layer, const MoeWeights& weights);

}  // namespace pellucid::model
