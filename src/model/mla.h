#pragma once
// Multi-head latent attention (DeepSeek-V2, arXiv:2405.04434, section 2.1; model.md 3.2).

#include <cstdint>

#include "model/step_context.h"
#include "model/weights.h"

namespace pellucid::model {

/// block_out = attention over scratch.normed; writes the step's cache rows of `layer`.
void mla_attention(StepContext& step, std::int64_t layer, const AttentionWeights& weights,
                   const LayerCache& cache);

}  // namespace pellucid::model
