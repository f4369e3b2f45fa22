#include <cmath>

#include "kernels/reference/reference.h"

namespace pellucid::kernels::reference {

void rms_norm(const RmsNormArgs& args, ThreadPool& pool) {
  pool.parallel_for(args.tokens, [&](std::int64_t t) {
    const float* x = args.x + t * args.x_stride;
    float* y = args.y + t * args.y_stride;
    double squares = 0;
    for (std::int64_t i = 0; i < args.width; ++i) squares += static_cast<double>(x[i]) * x[i];
    const double mean = squares / static_cast<double>(args.width);
    const double inverse = 1.0 / std::sqrt(mean + args.eps);
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
    double sum = 0;
    for (std::int64_t i = 0; i < args.width; ++i) sum += x[i];
    const double mean = sum / width;
    double squares = 0;
    for (std::int64_t i = 0; i < args.width; ++i) squares += (x[i] - mean) * (x[i] - mean);
    const double inverse = 1.0 / std::sqrt(squares / width + args.eps);
    for (std::int64_t i = 0; i < args.width; ++i) {
      y[i] = static_cast<float>((x[i] - mean) * inverse * args.weight[i] + args.bias[i]);
    }
  });
}

}  // namespace pellucid::kernels::reference
