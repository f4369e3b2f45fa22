#include <limits>

#include "kernels/decode_element.h"
#include "kernels/reference/reference.h"

namespace pellucid::kernels::reference {
namespace {

double score_of(const IndexerScoresArgs& args, std::int64_t t, std::int64_t j) {
  const std::byte* key = args.keys.row(j);
  const float* weights = args.weights + t * args.index_n_heads;
  double score = 0;
  for (std::int64_t h = 0; h < args.index_n_heads; ++h) {
    const float* q = args.q + (t * args.index_n_heads + h) * args.index_head_dim;
    double dot = 0;
    for (std::int64_t d = 0; d < args.index_head_dim; ++d) {
      dot += static_cast<double>(q[d]) * decode_row_element(args.keys.element, key, d);
    }
    // Written so that NaN stays: it is not below zero.
    const double relu = dot < 0 ? 0.0 : dot;
    score += weights[h] * relu;
  }
  return score;
}

}  // namespace

void indexer_scores(const IndexerScoresArgs& args, ThreadPool& pool) {
  constexpr float kMasked = -std::numeric_limits<float>::infinity();
  pool.parallel_for(args.tokens, [&](std::int64_t t) {
    float* scores = args.scores + t * args.scores_stride;
    const std::int64_t visible = args.visible[static_cast<std::size_t>(t)];
    for (std::int64_t j = 0; j < args.scores_stride; ++j) {
      scores[j] = j < visible ? static_cast<float>(score_of(args, t, j)) : kMasked;
    }
  });
}

}  // namespace pellucid::kernels::reference
