#include <algorithm>
#include <limits>

#include "kernels/simd/row_finder.h"
#include "kernels/simd/simd.h"

namespace pellucid::kernels::simd {
namespace {

using tensor::Element;

// Turns scores into exp(score - maximum) and returns their sum. NaN is not greater than any
// maximum, but exp keeps it, so the sum is NaN. With nothing but -inf the maximum counts as 0 and
// the sum is 0 (model.md section 9, hazard 7).
double softmax_numerators(const MicroKernels& micro, float* scores, std::int64_t count) {
  float maximum = -std::numeric_limits<float>::infinity();
  for (std::int64_t j = 0; j < count; ++j) maximum = scores[j] > maximum ? scores[j] : maximum;
  if (maximum == -std::numeric_limits<float>::infinity()) maximum = 0;
  micro.exp_minus(scores, count, maximum);
  double sum = 0;
  for (std::int64_t j = 0; j < count; ++j) sum += scores[j];
  return sum;
}

// q_parts . key parts, then softmax, then the weighted sum of values. `Rows` gives pointers of the
// j-th selected position: first(j) and second(j) for the two parts of the key, value(j).
struct HeadJob {
  const float* q_first;
  std::int64_t first_width;
  const float* q_second;
  std::int64_t second_width;
  std::int64_t value_width;
  std::int64_t count;
  float scale;
  Element element;  // of keys and values
  float* weights;   // [count]
  float* out;       // [value_width]
};

template <class Rows>
void score_chunk(const MicroKernels& micro, const HeadJob& job, const Rows& rows,
                 std::int64_t begin, std::int64_t count) {
  const std::byte* pointers[kChunkPositions];
  float first[kChunkPositions];
  float second[kChunkPositions];
  for (std::int64_t j = 0; j < count; ++j) pointers[j] = rows.first(begin + j);
  micro.row_dots(job.element, pointers, count, job.q_first, job.first_width, first);
  for (std::int64_t j = 0; j < count; ++j) pointers[j] = rows.second(begin + j);
  micro.row_dots(job.element, pointers, count, job.q_second, job.second_width, second);
  for (std::int64_t j = 0; j < count; ++j) {
    job.weights[begin + j] = (first[j] + second[j]) * job.scale;
  }
}

template <class Rows>
void attend(const MicroKernels& micro, const HeadJob& job, const Rows& rows) {
  std::fill_n(job.out, job.value_width, 0.0F);
  for (std::int64_t begin = 0; begin < job.count; begin += kChunkPositions) {
    score_chunk(micro, job, rows, begin, std::min(kChunkPositions, job.count - begin));
  }
  const double sum = softmax_numerators(micro, job.weights, job.count);
  if (sum == 0) return;
  for (std::int64_t begin = 0; begin < job.count; begin += kChunkPositions) {
    const std::int64_t count = std::min(kChunkPositions, job.count - begin);
    const std::byte* pointers[kChunkPositions];
    for (std::int64_t j = 0; j < count; ++j) pointers[j] = rows.value(begin + j);
    micro.add_rows(job.element, pointers, job.weights + begin, count, job.value_width, job.out);
  }
  for (std::int64_t i = 0; i < job.value_width; ++i) {
    job.out[i] = static_cast<float>(job.out[i] / sum);
  }
}

// A cache row is latent | k_rope, and the latent is the value, too.
struct LatentRows {
  RowFinder cache;
  const std::int32_t* selected;
  std::int64_t latent_bytes;

  const std::byte* first(std::int64_t j) const { return cache.row(selected[j]); }
  const std::byte* second(std::int64_t j) const { return first(j) + latent_bytes; }
  const std::byte* value(std::int64_t j) const { return first(j); }
};

struct ExpandedRows {
  const ExpandedAttentionArgs& args;
  const std::int32_t* selected;
  std::int64_t head;

  const float* head_row(std::int64_t j) const {
    return args.kv + (selected[j] * args.heads + head) * (args.nope_dim + args.v_dim);
  }
  const std::byte* first(std::int64_t j) const {
    return reinterpret_cast<const std::byte*>(head_row(j));
  }
  const std::byte* second(std::int64_t j) const {
    return reinterpret_cast<const std::byte*>(args.k_rope + selected[j] * args.k_rope_stride);
  }
  const std::byte* value(std::int64_t j) const {
    return reinterpret_cast<const std::byte*>(head_row(j) + args.nope_dim);
  }
};

}  // namespace

void absorbed_attention(const MicroKernels& micro, const AbsorbedAttentionArgs& args,
                        ThreadPool& pool) {
  const std::int64_t rank = args.kv_lora_rank;
  const RowFinder cache(args.cache);
  const std::int64_t element_bytes = args.cache.element == Element::kBf16 ? 2 : 4;
  pool.parallel_for(args.tokens * args.heads, [&](std::int64_t task, int worker) {
    const std::int64_t t = task / args.heads;
    const std::int64_t h = task % args.heads;
    const LatentRows rows{cache, args.selection.indices + t * args.selection.stride,
                          rank * element_bytes};
    attend(micro,
           {.q_first = args.q_latent + task * rank,
            .first_width = rank,
            .q_second = args.q_rope + t * args.q_rope_token_stride + h * args.q_rope_head_stride,
            .second_width = args.rope_dim,
            .value_width = rank,
            .count = args.selection.counts[static_cast<std::size_t>(t)],
            .scale = args.scale,
            .element = args.cache.element,
            .weights = args.scratch + worker * args.selection.stride,
            .out = args.out + task * rank},
           rows);
  });
}

void expanded_attention(const MicroKernels& micro, const ExpandedAttentionArgs& args,
                        ThreadPool& pool) {
  pool.parallel_for(args.tokens * args.heads, [&](std::int64_t task, int worker) {
    const std::int64_t t = task / args.heads;
    const std::int64_t h = task % args.heads;
    const float* q = args.q + t * args.q_token_stride + h * args.q_head_stride;
    const ExpandedRows rows{args, args.selection.indices + t * args.selection.stride, h};
    attend(micro,
           {.q_first = q,
            .first_width = args.nope_dim,
            .q_second = q + args.nope_dim,
            .second_width = args.rope_dim,
            .value_width = args.v_dim,
            .count = args.selection.counts[static_cast<std::size_t>(t)],
            .scale = args.scale,
            .element = Element::kF32,
            .weights = args.scratch + worker * args.selection.stride,
            .out = args.out + task * args.v_dim},
           rows);
  });
}

}  // namespace pellucid::kernels::simd
