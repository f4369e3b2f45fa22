#pragma once
// The reference table: scalar code, sums in double in ascending order of the index, one rounding to
// f32 at each output. It is the definition that other tables are tested against, so it is written
// to be read, not to be fast.

#include "kernels/ops.h"

namespace pellucid::kernels::reference {

void embed(const EmbedArgs& args, ThreadPool& pool);
void linear(const LinearArgs& args, ThreadPool& pool);
void rms_norm(const RmsNormArgs& args, ThreadPool& pool);
void layer_norm(const LayerNormArgs& args, ThreadPool& pool);
void rope(const RopeArgs& args, ThreadPool& pool);
void swiglu(const SwigluArgs& args, ThreadPool& pool);
void add(const AddArgs& args, ThreadPool& pool);
void store_rows(const StoreRowsArgs& args, ThreadPool& pool);
void load_rows(const LoadRowsArgs& args, ThreadPool& pool);
void absorb_query(const AbsorbQueryArgs& args, ThreadPool& pool);
void project_value(const ProjectValueArgs& args, ThreadPool& pool);
void absorbed_attention(const AbsorbedAttentionArgs& args, ThreadPool& pool);
void expanded_attention(const ExpandedAttentionArgs& args, ThreadPool& pool);
void indexer_scores(const IndexerScoresArgs& args, ThreadPool& pool);
void topk(const TopkArgs& args, ThreadPool& pool);
void route(const RouteArgs& args, ThreadPool& pool);
void moe(const MoeArgs& args, ThreadPool& pool);

/// W[row, :] . x, rounded to f32: one output of the linear op.
[[nodiscard]] float dot_weight_row(const tensor::WeightView& weight, std::int64_t row,
                                   const float* x);

/// x * sigmoid(x), in double.
[[nodiscard]] double silu(double x);

}  // namespace pellucid::kernels::reference
