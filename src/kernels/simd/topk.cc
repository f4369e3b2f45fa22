#include <algorithm>
#include <atomic>
#include <bit>
#include <numeric>

#include "base/check.h"
#include "kernels/simd/simd.h"
#include "numerics/numbers.h"

namespace pellucid::kernels::simd {
namespace {

// An integer that grows with the score: both zeros give the same key, NaN that of -inf.
std::uint32_t key_of(float score) {
  constexpr std::uint32_t kKeyOfNegativeInfinity = 0x007FFFFFU;
  if (numerics::is_nan(score)) return kKeyOfNegativeInfinity;
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(score + 0.0F);  // -0 becomes +0
  return (bits >> 31) != 0 ? ~bits : bits | 0x80000000U;
}

struct Threshold {
  std::uint32_t key;      // of the k-th best score
  std::int64_t at_least;  // how many scores with exactly this key are selected
};

// The key of the k-th best by radix selection: three passes over the scores, from the upper bits
// down, each counting the digit of the keys that agree with the digits found so far.
Threshold find_threshold(const float* scores, std::int64_t visible, std::int64_t k) {
  constexpr int kShifts[] = {21, 10, 0};
  constexpr int kDigitBits[] = {11, 11, 10};
  std::uint32_t prefix = 0;
  std::uint32_t prefix_mask = 0;
  std::int64_t wanted = k;
  for (int pass = 0; pass < 3; ++pass) {
    std::int32_t counts[2048] = {};
    const std::uint32_t digit_mask = (1U << kDigitBits[pass]) - 1;
    for (std::int64_t j = 0; j < visible; ++j) {
      const std::uint32_t key = key_of(scores[j]);
      if ((key & prefix_mask) == prefix) ++counts[(key >> kShifts[pass]) & digit_mask];
    }
    std::uint32_t digit = digit_mask;
    for (; counts[digit] < wanted; --digit) wanted -= counts[digit];
    prefix |= digit << kShifts[pass];
    prefix_mask |= digit_mask << kShifts[pass];
  }
  return {prefix, wanted};
}

void select_best(const float* scores, std::int64_t visible, std::int64_t k, std::int32_t* indices) {
  const Threshold threshold = find_threshold(scores, visible, k);
  std::int64_t ties_left = threshold.at_least;
  for (std::int64_t j = 0; j < visible; ++j) {
    const std::uint32_t key = key_of(scores[j]);
    if (key < threshold.key) continue;
    if (key == threshold.key && ties_left-- <= 0) continue;
    *indices++ = static_cast<std::int32_t>(j);
  }
}

void add_nan_count(const float* scores, std::int64_t visible, std::int64_t& total) {
  const std::int64_t nans =
      std::count_if(scores, scores + visible, [](float s) { return numerics::is_nan(s); });
  if (nans > 0) std::atomic_ref(total).fetch_add(nans);
}

}  // namespace

void topk(const TopkArgs& args, ThreadPool& pool) {
  pool.parallel_for(args.tokens, [&](std::int64_t t) {
    const std::int64_t visible = args.visible[static_cast<std::size_t>(t)];
    const std::int64_t count = std::min(args.k, visible);
    PELLUCID_CHECK(count <= args.stride);
    std::int32_t* indices = args.indices + t * args.stride;
    if (visible <= args.k) {
      std::iota(indices, indices + count, 0);
    } else if (count > 0) {
      const float* scores = args.scores + t * args.scores_stride;
      select_best(scores, visible, count, indices);
      add_nan_count(scores, visible, *args.nan_count);
    }
    std::fill(indices + count, indices + args.stride, -1);
    args.counts[static_cast<std::size_t>(t)] = static_cast<std::int32_t>(count);
  });
}

}  // namespace pellucid::kernels::simd
