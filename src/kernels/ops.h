#pragma once
// The operator table: every computation of the forward pass, one name and one contract each. The
// table called "reference" is the definition (scalar, double accumulation, one rounding to f32 at
// the end of each output); every other table is tested against it.
//
// Conventions for all ops:
//  - Activations are row-major f32; T = rows (tokens). Strides count elements, not bytes.
//  - Outputs never alias inputs unless the contract says "in place".
//  - No op allocates, logs, reads the environment or starts threads: the pool is an argument, and
//    scratch comes from the caller with the size that the contract states.
//  - A row of the result depends on that row's inputs only, with a fixed order of summation: the
//    same bits alone, in a batch of any size, and for any number of threads.
//  - Non-finite inputs propagate as IEEE says. Nothing is clamped or replaced, except where a
//    contract names it.
// Formulas: model.md section 3.

#include <cstdint>
#include <span>
#include <string_view>

#include "base/thread_pool.h"
#include "tensor/paged_rows.h"
#include "tensor/weight.h"

namespace pellucid::kernels {

/// out[t, :] = row ids[t] of `table`. ids are in [0, table.rows) (checked by the caller).
struct EmbedArgs {
  tensor::WeightView table;           ///< [vocab, hidden]
  std::span<const std::int32_t> ids;  ///< [T]
  float* out;                         ///< [T, hidden]
};

/// y[t, n] = sum_k x[t, k] * W[n, k].
struct LinearArgs {
  tensor::WeightView weight;  ///< [N, K]
  const float* x;             ///< [T, K]
  std::int64_t x_stride;
  float* y;  ///< [T, N]
  std::int64_t y_stride;
  std::int64_t tokens;
};

/// y = x * rsqrt(mean(x^2) + eps) * weight, per row of `width`. May run in place (y == x).
struct RmsNormArgs {
  const float* x;
  std::int64_t x_stride;
  float* y;
  std::int64_t y_stride;
  const float* weight;  ///< [width]
  float eps;
  std::int64_t tokens;
  std::int64_t width;
};

/// y = (x - mean) * rsqrt(var + eps) * weight + bias, biased variance. May run in place.
struct LayerNormArgs {
  const float* x;
  std::int64_t x_stride;
  float* y;
  std::int64_t y_stride;
  const float* weight;  ///< [width]
  const float* bias;    ///< [width]
  float eps;
  std::int64_t tokens;
  std::int64_t width;
};

enum class RopePairing { kInterleaved, kHalfSplit };

/// Rotates x[t, h, 0:rope_dim] in place by positions[t] * inv_freq (f32 product, then accurate
/// sin and cos in double, rounded to f32: model.md 3.3). Pairs (2i, 2i+1) or (i, i + rope_dim/2).
struct RopeArgs {
  float* x;  ///< first rotated element of head 0 of token 0
  std::int64_t token_stride;
  std::int64_t head_stride;
  std::int64_t heads;
  std::int64_t rope_dim;
  RopePairing pairing;
  std::span<const float> inv_freq;          ///< [rope_dim / 2]
  float magnitude;                          ///< multiplies cos and sin; 1 for released models
  std::span<const std::int32_t> positions;  ///< [T]
};

/// y = silu(gate) * up, elementwise over [T, width]. y may be gate or up.
struct SwigluArgs {
  const float* gate;
  const float* up;
  float* y;
  std::int64_t count;  ///< T * width
};

/// acc += x, elementwise.
struct AddArgs {
  float* acc;
  const float* x;
  std::int64_t count;
};

/// Encodes f32 rows into cache rows at `positions` (bf16: round to nearest even; f32: copied).
struct StoreRowsArgs {
  const float* x;  ///< [T, rows.width]
  std::int64_t x_stride;
  std::span<const std::int32_t> positions;  ///< [T]
  tensor::MutablePagedRows rows;
};

/// Decodes cache rows begin..begin+count-1 to f32: out [count, rows.width].
struct LoadRowsArgs {
  tensor::PagedRows rows;
  std::int64_t begin;
  std::int64_t count;
  float* out;
};

/// q_latent[t, h, l] = sum_n q_nope[t, h, n] * W_UK[h, n, l]: the query side of absorbed MLA.
/// kv_b is [H * (nope + v), kv_lora_rank]; head h owns rows h*(nope+v) ..., nope first.
struct AbsorbQueryArgs {
  tensor::WeightView kv_b;
  const float* q;  ///< [T, H, q_head_stride]: nope dims first
  std::int64_t q_token_stride;
  std::int64_t q_head_stride;
  float* q_latent;  ///< [T, H, kv_lora_rank]
  std::int64_t heads, nope_dim, v_dim;
  std::int64_t tokens;
};

/// out[t, h, v] = sum_l W_UV[h, v, l] * o_latent[t, h, l]: the value side of absorbed MLA.
struct ProjectValueArgs {
  tensor::WeightView kv_b;
  const float* o_latent;  ///< [T, H, kv_lora_rank]
  float* out;             ///< [T, H, v_dim]
  std::int64_t heads, nope_dim, v_dim;
  std::int64_t tokens;
};

/// Which cached positions each query row attends to: `indices` [T, stride], ascending, the first
/// counts[t] valid, the rest -1 and never read.
struct Selection {
  const std::int32_t* indices;
  std::int64_t stride;
  std::span<const std::int32_t> counts;  ///< [T]
};

/// Absorbed MLA over selected rows of the latent cache (row: latent | k_rope):
///   s_j = (q_latent . c_j + q_rope . k_rope_j) * scale; out = sum_j softmax(s)_j c_j.
/// A row with counts[t] == 0 gives zeros. Scores and weights in f32 or better.
struct AbsorbedAttentionArgs {
  const float* q_latent;  ///< [T, H, kv_lora_rank]
  const float* q_rope;    ///< [T, H, ...], rotated
  std::int64_t q_rope_token_stride;
  std::int64_t q_rope_head_stride;
  tensor::PagedRows cache;  ///< width == kv_lora_rank + rope_dim
  Selection selection;
  float scale;
  std::int64_t heads, kv_lora_rank, rope_dim;
  std::int64_t tokens;
  float* out;      ///< o_latent [T, H, kv_lora_rank]
  float* scratch;  ///< pool.threads() * selection.stride floats
};

/// Expanded MLA: keys and values materialised per head.
///   s_j = (q_nope . k_nope_j + q_rope . k_rope_j) * scale; out = sum_j softmax(s)_j v_j.
struct ExpandedAttentionArgs {
  const float* q;  ///< [T, H, q_head_stride]: nope then rope (rotated)
  std::int64_t q_token_stride;
  std::int64_t q_head_stride;
  const float* kv;      ///< [S, H, nope + v]: kv_b applied to every cached latent
  const float* k_rope;  ///< [S, ...]: rope part of cached row s at k_rope + s * k_rope_stride
  std::int64_t k_rope_stride;
  Selection selection;  ///< positions in [0, S)
  float scale;
  std::int64_t heads, nope_dim, rope_dim, v_dim;
  std::int64_t tokens;
  float* out;      ///< [T, H, v_dim]
  float* scratch;  ///< pool.threads() * selection.stride floats
};

/// Lightning indexer: scores[t, j] = sum_h weights[t, h] * relu(q[t, h] . k_j) for
/// j < visible[t]; entries from visible[t] to scores_stride are -inf.
struct IndexerScoresArgs {
  const float* q;          ///< [T, index_n_heads, index_head_dim], rotated
  const float* weights;    ///< [T, index_n_heads], already times n_heads^-0.5 * head_dim^-0.5
  tensor::PagedRows keys;  ///< width == index_head_dim
  std::span<const std::int32_t> visible;  ///< [T]
  std::int64_t index_n_heads, index_head_dim;
  std::int64_t tokens;
  float* scores;  ///< [T, scores_stride]
  std::int64_t scores_stride;
};

/// Per row the min(k, visible) best positions: score descending, then index ascending; -0 == +0;
/// NaN counts as -inf and is counted. The result is written in ascending order of position, padded
/// with -1 to `stride`. When visible <= k every position is selected and scores are not read.
struct TopkArgs {
  const float* scores;  ///< [T, scores_stride]; may be null when no row has visible > k
  std::int64_t scores_stride;
  std::span<const std::int32_t> visible;  ///< [T]
  std::int64_t k;
  std::int64_t tokens;
  std::int32_t* indices;  ///< [T, stride], stride >= min(k, max visible)
  std::int64_t stride;
  std::span<std::int32_t> counts;  ///< [T]
  std::int32_t* scratch;           ///< pool.threads() * scores_stride entries
  std::int64_t* nan_count;         ///< incremented by the number of NaN scores seen
};

enum class ScoringFunc { kSigmoid, kSoftmax };
enum class GroupScore { kNone, kTop2Sum, kMax };  ///< group-limited selection, or none

/// RouteArgs::experts may not exceed this: scores live on the stack.
inline constexpr std::int64_t kRouteExpertsMax = 2048;

/// Router: expert ids and weights from router logits (model.md 3.6). Ties to the lowest expert.
/// Sigmoid: select by sigmoid(l) + bias, weigh by sigmoid(l) without bias. Masked groups are -inf.
/// A NaN choice score counts as the greatest, so that a NaN logit is selected and its NaN weight
/// reaches the output. n_group divides experts when group_score is not kNone.
struct RouteArgs {
  const float* logits;  ///< [T, experts]
  std::int64_t tokens;
  std::int64_t experts;
  const float* bias;  ///< e_score_correction_bias [experts], or null
  ScoringFunc scoring;
  GroupScore group_score;
  std::int64_t n_group, topk_group;
  std::int64_t top_k;
  bool norm_topk_prob;
  /// Sigmoid routers scale always; softmax routers scale only when they do not normalise (3.6 V2).
  float routed_scaling_factor;
  std::int32_t* expert_ids;  ///< [T, top_k], in order of selection (best first)
  float* weights;            ///< [T, top_k]
};

/// Routed experts: out[t] = sum_s weights[t, s] * down_e(silu(gate_e x) * up_e x), e = ids[t, s],
/// summed over s in ascending slot order.
struct MoeArgs {
  const float* x;  ///< [T, hidden]
  std::int64_t tokens;
  std::span<const tensor::WeightView> gate;  ///< [experts] of [inter, hidden]
  std::span<const tensor::WeightView> up;    ///< [experts] of [inter, hidden]
  std::span<const tensor::WeightView> down;  ///< [experts] of [hidden, inter]
  const std::int32_t* expert_ids;            ///< [T, top_k]
  const float* weights;                      ///< [T, top_k]
  std::int64_t top_k;
  float* out;  ///< [T, hidden], overwritten
  /// moe_scratch_floats(...) floats and moe_scratch_ints(...) int32s.
  float* scratch;
  std::int32_t* int_scratch;
};

/// Floats that MoeArgs::scratch must hold.
[[nodiscard]] std::int64_t moe_scratch_floats(std::int64_t tokens, std::int64_t top_k,
                                              std::int64_t hidden, std::int64_t inter);
/// int32s that MoeArgs::int_scratch must hold.
[[nodiscard]] std::int64_t moe_scratch_ints(std::int64_t tokens, std::int64_t top_k,
                                            std::int64_t experts);

struct OpTable {
  std::string_view name;  ///< "reference", "generic", "avx2"
  void (*embed)(const EmbedArgs&, ThreadPool&);
  void (*linear)(const LinearArgs&, ThreadPool&);
  void (*rms_norm)(const RmsNormArgs&, ThreadPool&);
  void (*layer_norm)(const LayerNormArgs&, ThreadPool&);
  void (*rope)(const RopeArgs&, ThreadPool&);
  void (*swiglu)(const SwigluArgs&, ThreadPool&);
  void (*add)(const AddArgs&, ThreadPool&);
  void (*store_rows)(const StoreRowsArgs&, ThreadPool&);
  void (*load_rows)(const LoadRowsArgs&, ThreadPool&);
  void (*absorb_query)(const AbsorbQueryArgs&, ThreadPool&);
  void (*project_value)(const ProjectValueArgs&, ThreadPool&);
  void (*absorbed_attention)(const AbsorbedAttentionArgs&, ThreadPool&);
  void (*expanded_attention)(const ExpandedAttentionArgs&, ThreadPool&);
  void (*indexer_scores)(const IndexerScoresArgs&, ThreadPool&);
  void (*topk)(const TopkArgs&, ThreadPool&);
  void (*route)(const RouteArgs&, ThreadPool&);
  void (*moe)(const MoeArgs&, ThreadPool&);
};

/// The definition of every op.
[[nodiscard]] const OpTable& reference_ops();

/// Every table that this build has and this CPU can run, reference first, fastest last.
[[nodiscard]] std::span<const OpTable* const> available_ops();

/// The table of that name, or null when this build or CPU does not have it.
[[nodiscard]] const OpTable* find_ops(std::string_view name);

}  // namespace pellucid::kernels
