#include <cmath>

#include "kernels/simd/simd.h"

namespace pellucid::kernels::simd {
namespace {

// Sums in double: the square of an f32 above 1.8e19 is infinite in f32 and the norm would be 0.
// Eight lanes in a fixed tree.
template <class Term>
double sum_lanes(std::int64_t count, const Term& term) {
  constexpr std::int64_t kSumLanes = 8;
  double lanes[kSumLanes] = {};
  std::int64_t i = 0;
  for (; i + kSumLanes <= count; i += kSumLanes) {
    for (std::int64_t lane = 0; lane < kSumLanes; ++lane) lanes[lane] += term(i + lane);
  }
  for (std::int64_t lane = 0; i < count; ++i, ++lane) lanes[lane] += term(i);
  const double low = (lanes[0] + lanes[1]) + (lanes[2] + lanes[3]);
  const double high = (lanes[4] + lanes[5]) + (lanes[6] + lanes[7]);
  return low + high;
}

}  // namespace

void rms_norm(const RmsNormArgs& args, ThreadPool& pool) {
  pool.parallel_for(args.tokens, [&](std::int64_t t) {
    const float* x = args.x + t * args.x_stride;
    float* y = args.y + t * args.y_stride;
    const double squares =
        sum_lanes(args.width, [x](std::int64_t i) { return static_cast<double>(x[i]) * x[i]; });
    const double inverse = 1.0 / std::sqrt(squares / static_cast<double>(args.width) + args.eps);
    for (std::int64_t i = 0; i < args.width; ++i) {
      y[i] = static_cast<float>(x[i] * inverse * args.weight[i]);
    }
  });
}

void layer_norm(const LayerNormArgs& args, ThreadPool& pool) {
  const auto width = static_cast<double>(args.width);
  pool.parallel_for(args.tokens, [&](std::int64_t t) {
    const float* x = args.x + t * args.x_stride;
    float* y = args.y + t * args.y_stride;
    const double mean =
        sum_lanes(args.width, [x](std::int64_t i) { return static_cast<double>(x[i]); }) / width;
    const double squares =
        sum_lanes(args.width, [x, mean](std::int64_t i) { return (x[i] - mean) * (x[i] - mean); });
    const double inverse = 1.0 / std::sqrt(squares / width + args.eps);
    for (std::int64_t i = 0; i < args.width; ++i) {
      y[i] = static_cast<float>((x[i] - mean) * inverse * args.weight[i] + args.bias[i]);
    }
  });
}

}  // namespace pellucid::kernels::simd
