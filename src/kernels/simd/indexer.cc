#include <algorithm>
#include <limits>

#include "kernels/simd/row_finder.h"
#include "kernels/simd/simd.h"

namespace pellucid::kernels::simd {
namespace {

// Heads that share one pass over a key; a multiple of the three that `dot` takes together.
constexpr std::int64_t kHeadGroup = 24;

float score_key(const MicroKernels& micro, const IndexerScoresArgs& args, std::int64_t t,
                const std::byte* key) {
  const float* weights = args.weights + t * args.index_n_heads;
  const float* queries = args.q + t * args.index_n_heads * args.index_head_dim;
  float score = 0;
  for (std::int64_t first = 0; first < args.index_n_heads; first += kHeadGroup) {
    const std::int64_t heads = std::min(kHeadGroup, args.index_n_heads - first);
    const float* q[kHeadGroup];
    alignas(64) float lanes[kHeadGroup * kLanes];
    float dots[kHeadGroup];
    for (std::int64_t h = 0; h < heads; ++h) q[h] = queries + (first + h) * args.index_head_dim;
    std::fill_n(lanes, heads * kLanes, 0.0F);
    micro.dot(args.keys.element, key, q, 0, heads, args.index_head_dim, lanes);
    micro.reduce(lanes, heads, dots);
    for (std::int64_t h = 0; h < heads; ++h) {
      // Written so that NaN stays: it is not below zero.
      const float relu = dots[h] < 0 ? 0.0F : dots[h];
      score += weights[first + h] * relu;
    }
  }
  return score;
}

}  // namespace

void indexer_scores(const MicroKernels& micro, const IndexerScoresArgs& args, ThreadPool& pool) {
  const RowFinder keys(args.keys);
  const std::int64_t chunks = (args.scores_stride + kChunkPositions - 1) / kChunkPositions;
  pool.parallel_for(args.tokens * chunks, [&](std::int64_t task) {
    const std::int64_t t = task / chunks;
    const std::int64_t begin = task % chunks * kChunkPositions;
    const std::int64_t end = std::min(begin + kChunkPositions, args.scores_stride);
    const std::int64_t visible = args.visible[static_cast<std::size_t>(t)];
    float* scores = args.scores + t * args.scores_stride;
    for (std::int64_t j = begin; j < std::min(end, visible); ++j) {
      scores[j] = score_key(micro, args, t, keys.row(j));
    }
    for (std::int64_t j = std::max(begin, visible); j < end; ++j) {
      scores[j] = -std::numeric_limits<float>::infinity();
    }
  });
}

}  // namespace pellucid::kernels::simd
