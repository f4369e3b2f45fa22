#include <cmath>
#include <limits>

#include "kernels/decode_element.h"
#include "kernels/reference/reference.h"

namespace pellucid::kernels::reference {
namespace {

// One softmax-weighted sum, in three passes over the selected positions. `score(j)` is the scaled
// score of the j-th of them in double, `value(j, i)` element i of its value.
//
// Pass 1 finds the maximum, pass 2 stores exp(score - maximum) as f32 in `weights`, pass 3 sums.
// NaN: it is not greater than any maximum, but exp keeps it, so the sum and every output are NaN.
// A maximum of -inf (nothing visible) is replaced by 0, so that the weights are 0 and not NaN, and
// a sum of 0 gives zeros (model.md section 9, hazard 7).
template <class Score, class Value>
void softmax_sum(std::int64_t count, std::int64_t width, const Score& score, const Value& value,
                 float* weights, float* out) {
  constexpr double kNegativeInfinity = -std::numeric_limits<double>::infinity();
  double maximum = kNegativeInfinity;
  for (std::int64_t j = 0; j < count; ++j) {
    const double s = score(j);
    if (s > maximum) maximum = s;
  }
  if (maximum == kNegativeInfinity) maximum = 0;
  double sum = 0;
  for (std::int64_t j = 0; j < count; ++j) {
    weights[j] = static_cast<float>(std::exp(score(j) - maximum));
    sum += weights[j];
  }
  for (std::int64_t i = 0; i < width; ++i) {
    double total = 0;
    for (std::int64_t j = 0; j < count; ++j) {
      total += static_cast<double>(weights[j]) * value(j, i);
    }
    out[i] = sum == 0 ? 0.0F : static_cast<float>(total / sum);
  }
}

double dot(const float* a, const float* b, std::int64_t count) {
  double sum = 0;
  for (std::int64_t i = 0; i < count; ++i) sum += static_cast<double>(a[i]) * b[i];
  return sum;
}

double dot_row(const float* a, tensor::Element element, const std::byte* row, std::int64_t begin,
               std::int64_t count) {
  double sum = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    sum += static_cast<double>(a[i]) * decode_row_element(element, row, begin + i);
  }
  return sum;
}

}  // namespace

void absorbed_attention(const AbsorbedAttentionArgs& args, ThreadPool& pool) {
  const std::int64_t rank = args.kv_lora_rank;
  const tensor::Element element = args.cache.element;
  pool.parallel_for(args.tokens * args.heads, [&](std::int64_t task, int worker) {
    const std::int64_t t = task / args.heads;
    const std::int64_t h = task % args.heads;
    const float* q_latent = args.q_latent + task * rank;
    const float* q_rope = args.q_rope + t * args.q_rope_token_stride + h * args.q_rope_head_stride;
    const std::int32_t* selected = args.selection.indices + t * args.selection.stride;
    const auto score = [&](std::int64_t j) {
      const std::byte* row = args.cache.row(selected[j]);
      return (dot_row(q_latent, element, row, 0, rank) +
              dot_row(q_rope, element, row, rank, args.rope_dim)) *
             args.scale;
    };
    const auto value = [&](std::int64_t j, std::int64_t i) {
      return decode_row_element(element, args.cache.row(selected[j]), i);
    };
    softmax_sum(args.selection.counts[static_cast<std::size_t>(t)], rank, score, value,
                args.scratch + worker * args.selection.stride, args.out + task * rank);
  });
}

void expanded_attention(const ExpandedAttentionArgs& args, ThreadPool& pool) {
  const std::int64_t head_width = args.nope_dim + args.v_dim;
  pool.parallel_for(args.tokens * args.heads, [&](std::int64_t task, int worker) {
    const std::int64_t t = task / args.heads;
    const std::int64_t h = task % args.heads;
    const float* q = args.q + t * args.q_token_stride + h * args.q_head_stride;
    const std::int32_t* selected = args.selection.indices + t * args.selection.stride;
    const auto head_of = [&](std::int64_t j) {
      return args.kv + (selected[j] * args.heads + h) * head_width;
    };
    const auto score = [&](std::int64_t j) {
      return (dot(q, head_of(j), args.nope_dim) +
              dot(q + args.nope_dim, args.k_rope + selected[j] * args.k_rope_stride,
                  args.rope_dim)) *
             args.scale;
    };
    const auto value = [&](std::int64_t j, std::int64_t i) {
      return head_of(j)[args.nope_dim + i];
    };
    softmax_sum(args.selection.counts[static_cast<std::size_t>(t)], args.v_dim, score, value,
                args.scratch + worker * args.selection.stride, args.out + task * args.v_dim);
  });
}

}  // namespace pellucid::kernels::reference
