#include <algorithm>
#include <atomic>
#include <limits>
#include <numeric>

#include "base/check.h"
#include "kernels/reference/reference.h"
#include "numerics/numbers.h"

namespace pellucid::kernels::reference {
namespace {

// NaN counts as -inf: every comparison below is then a strict weak order.
float rank_value(float score) {
  return numerics::is_nan(score) ? -std::numeric_limits<float>::infinity() : score;
}

void select_all(std::int32_t* indices, std::int64_t visible) {
  std::iota(indices, indices + visible, 0);
}

void select_best(const float* scores, std::int64_t visible, std::int64_t k, std::int32_t* scratch,
                 std::int32_t* indices) {
  std::iota(scratch, scratch + visible, 0);
  const auto better = [scores](std::int32_t a, std::int32_t b) {
    const float x = rank_value(scores[a]);
    const float y = rank_value(scores[b]);
    if (x != y) return x > y;  // -0 == +0 here
    return a < b;
  };
  std::nth_element(scratch, scratch + k, scratch + visible, better);
  std::sort(scratch, scratch + k);
  std::copy(scratch, scratch + k, indices);
}

std::int64_t count_nan(const float* scores, std::int64_t visible) {
  return std::count_if(scores, scores + visible, [](float s) { return numerics::is_nan(s); });
}

}  // namespace

void topk(const TopkArgs& args, ThreadPool& pool) {
  pool.parallel_for(args.tokens, [&](std::int64_t t, int worker) {
    const std::int64_t visible = args.visible[static_cast<std::size_t>(t)];
    const std::int64_t count = std::min(args.k, visible);
    PELLUCID_CHECK(count <= args.stride);
    std::int32_t* indices = args.indices + t * args.stride;
    if (visible <= args.k) {
      select_all(indices, visible);
    } else {
      const float* scores = args.scores + t * args.scores_stride;
      select_best(scores, visible, args.k, args.scratch + worker * args.scores_stride, indices);
      const std::int64_t nans = count_nan(scores, visible);
      if (nans > 0) std::atomic_ref(*args.nan_count).fetch_add(nans);
    }
    std::fill(indices + count, indices + args.stride, -1);
    args.counts[static_cast<std::size_t>(t)] = static_cast<std::int32_t>(count);
  });
}

}  // namespace pellucid::kernels::reference
