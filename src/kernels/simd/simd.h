#pragma once
// The fast ops, written over a target's micro-kernels. Threads take output rows, (expert, rows),
// (token, head) or tokens; no result depends on how they are divided.

#include "kernels/ops.h"
#include "kernels/simd/micro.h"

namespace pellucid::kernels::simd {

void embed(const MicroKernels& micro, const EmbedArgs& args, ThreadPool& pool);
void linear(const MicroKernels& micro, const LinearArgs& args, ThreadPool& pool);
void swiglu(const MicroKernels& micro, const SwigluArgs& args, ThreadPool& pool);
void absorb_query(const MicroKernels& micro, const AbsorbQueryArgs& args, ThreadPool& pool);
void project_value(const MicroKernels& micro, const ProjectValueArgs& args, ThreadPool& pool);
void absorbed_attention(const MicroKernels& micro, const AbsorbedAttentionArgs& args,
                        ThreadPool& pool);
void expanded_attention(const MicroKernels& micro, const ExpandedAttentionArgs& args,
                        ThreadPool& pool);
void indexer_scores(const MicroKernels& micro, const IndexerScoresArgs& args, ThreadPool& pool);
void moe(const MicroKernels& micro, const MoeArgs& args, ThreadPool& pool);

// Without micro-kernels: bound by memory or by double-precision arithmetic.
void rms_norm(const RmsNormArgs& args, ThreadPool& pool);
void layer_norm(const LayerNormArgs& args, ThreadPool& pool);
void topk(const TopkArgs& args, ThreadPool& pool);

[[nodiscard]] const OpTable& generic_ops();
/// Null when this build or this CPU does not have it.
[[nodiscard]] const OpTable* avx2_ops();

}  // namespace pellucid::kernels::simd
