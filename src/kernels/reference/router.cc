#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <span>

#include "base/check.h"
#include "kernels/reference/reference.h"
#include "numerics/numbers.h"

namespace pellucid::kernels::reference {
namespace {

using PerExpert = std::array<float, kRouteExpertsMax>;

// Order of selection: value descending, then index ascending. NaN comes first, so that a NaN logit
// is always selected and its NaN weight reaches the output instead of vanishing.
bool precedes(float a, std::int64_t index_a, float b, std::int64_t index_b) {
  const bool nan_a = numerics::is_nan(a);
  const bool nan_b = numerics::is_nan(b);
  if (nan_a != nan_b) return nan_a;
  if (!nan_a && a != b) return a > b;
  return index_a < index_b;
}

// The first in the order of selection among those that come after `previous` (-1: the first of
// all). The order is total, so repeated calls enumerate without a list of what was taken.
std::int64_t next_best(std::span<const float> values, std::int64_t previous) {
  std::int64_t best = -1;
  for (std::int64_t i = 0; i < std::ssize(values); ++i) {
    const float value = values[static_cast<std::size_t>(i)];
    if (previous >= 0 &&
        !precedes(values[static_cast<std::size_t>(previous)], previous, value, i)) {
      continue;
    }
    if (best < 0 || precedes(value, i, values[static_cast<std::size_t>(best)], best)) best = i;
  }
  return best;
}

void sigmoid_scores(std::span<const float> logits, std::span<float> scores) {
  std::transform(logits.begin(), logits.end(), scores.begin(), [](float logit) {
    return static_cast<float>(1.0 / (1.0 + std::exp(-static_cast<double>(logit))));
  });
}

void softmax_scores(std::span<const float> logits, std::span<float> scores) {
  double maximum = -std::numeric_limits<double>::infinity();
  for (const float logit : logits) maximum = logit > maximum ? logit : maximum;
  double sum = 0;
  for (const float logit : logits) sum += std::exp(logit - maximum);
  std::transform(logits.begin(), logits.end(), scores.begin(),
                 [&](float logit) { return static_cast<float>(std::exp(logit - maximum) / sum); });
}

float group_score(GroupScore kind, std::span<const float> choice) {
  const std::int64_t first = next_best(choice, -1);
  const float largest = choice[static_cast<std::size_t>(first)];
  if (kind == GroupScore::kMax) return largest;
  const std::int64_t second = next_best(choice, first);
  return second < 0 ? largest : largest + choice[static_cast<std::size_t>(second)];
}

// Sets the choice scores of all but the best `topk_group` groups to -inf. Not to 0, as old code
// does: a surviving group may hold only negative scores (model.md 3.6).
void mask_groups(const RouteArgs& args, std::span<float> choice) {
  PELLUCID_CHECK(args.n_group > 0 && args.experts % args.n_group == 0);
  const auto groups = static_cast<std::size_t>(args.n_group);
  const std::size_t size = choice.size() / groups;
  PerExpert scores;
  std::array<bool, kRouteExpertsMax> kept{};
  for (std::size_t g = 0; g < groups; ++g) {
    scores[g] = group_score(args.group_score, choice.subspan(g * size, size));
  }
  std::int64_t group = -1;
  for (std::int64_t i = 0; i < std::min(args.topk_group, args.n_group); ++i) {
    group = next_best({scores.data(), groups}, group);
    kept[static_cast<std::size_t>(group)] = true;
  }
  for (std::size_t e = 0; e < choice.size(); ++e) {
    if (!kept[e / size]) choice[e] = -std::numeric_limits<float>::infinity();
  }
}

void weigh(const RouteArgs& args, std::span<const float> scores, const std::int32_t* ids,
           float* weights) {
  const bool softmax = args.scoring == ScoringFunc::kSoftmax;
  const bool normalise = args.norm_topk_prob && (!softmax || args.top_k > 1);
  const double scaling = softmax && normalise ? 1.0 : args.routed_scaling_factor;
  double sum = 0;
  for (std::int64_t s = 0; s < args.top_k; ++s) sum += scores[static_cast<std::size_t>(ids[s])];
  const double divisor = normalise ? sum + 1e-20 : 1.0;
  for (std::int64_t s = 0; s < args.top_k; ++s) {
    const double score = scores[static_cast<std::size_t>(ids[s])];
    weights[s] = static_cast<float>(score / divisor * scaling);
  }
}

void route_token(const RouteArgs& args, std::int64_t t) {
  const auto experts = static_cast<std::size_t>(args.experts);
  const std::span<const float> logits(args.logits + t * args.experts, experts);
  PerExpert score_buffer;
  PerExpert choice_buffer;
  const std::span<float> scores(score_buffer.data(), experts);
  const std::span<float> choice(choice_buffer.data(), experts);
  switch (args.scoring) {
    case ScoringFunc::kSigmoid:
      sigmoid_scores(logits, scores);
      break;
    case ScoringFunc::kSoftmax:
      softmax_scores(logits, scores);
      break;
  }
  for (std::size_t e = 0; e < experts; ++e) {
    choice[e] = args.bias == nullptr ? scores[e] : scores[e] + args.bias[e];
  }
  if (args.group_score != GroupScore::kNone) mask_groups(args, choice);
  std::int32_t* ids = args.expert_ids + t * args.top_k;
  std::int64_t expert = -1;
  for (std::int64_t s = 0; s < args.top_k; ++s) {
    expert = next_best(choice, expert);
    ids[s] = static_cast<std::int32_t>(expert);
  }
  weigh(args, scores, ids, args.weights + t * args.top_k);
}

}  // namespace

void route(const RouteArgs& args, ThreadPool& pool) {
  PELLUCID_CHECK(args.experts <= kRouteExpertsMax);
  PELLUCID_CHECK(args.top_k >= 1 && args.top_k <= args.experts);
  pool.parallel_for(args.tokens, [&](std::int64_t t) { route_token(args, t); });
}

}  // namespace pellucid::kernels::reference
