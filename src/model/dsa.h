#pragma once
// Which cached positions each row attends to: the lightning indexer of DeepSeek sparse attention
// (DeepSeek-V3.2-Exp report, section 1; model.md 3.5), or every position.

#include <cstdint>

#include "model/step_context.h"
#include "model/weights.h"

namespace pellucid::model {

/// Sets step.selection to all visible positions. Rows are written as a selection of everything, so
/// that dense and sparse attention are one computation while the context is within index_topk.
void select_all(StepContext& step);

/// Writes the step's indexer keys and sets step.selection to the index_topk best positions. Needs
/// scratch.normed (the layer's input) and scratch.q_lora (its low-rank query).
void select_sparse(StepContext& step, std::int64_t layer, const IndexerWeights& weights,
                   const LayerCache& cache);

}  // namespace pellucid::model
