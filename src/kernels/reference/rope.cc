#include <algorithm>
#include <array>
#include <cmath>

#include "kernels/reference/reference.h"

namespace pellucid::kernels::reference {
namespace {

// cos and sin are computed once per token for a tile of pairs and used by all heads.
constexpr std::int64_t kPairTile = 64;

struct Rotation {
  std::array<float, kPairTile> cos;
  std::array<float, kPairTile> sin;
};

// The angle is the f32 product that every implementation uses; at position 1e6 it is off by up to
// 0.06 rad, and a better angle would disagree with all of them (model.md 3.3).
void fill(const RopeArgs& args, std::int64_t t, std::int64_t begin, std::int64_t end,
          Rotation& rotation) {
  const auto position = static_cast<float>(args.positions[static_cast<std::size_t>(t)]);
  for (std::int64_t i = begin; i < end; ++i) {
    const float angle = position * args.inv_freq[static_cast<std::size_t>(i)];
    const auto slot = static_cast<std::size_t>(i - begin);
    rotation.cos[slot] = static_cast<float>(std::cos(static_cast<double>(angle))) * args.magnitude;
    rotation.sin[slot] = static_cast<float>(std::sin(static_cast<double>(angle))) * args.magnitude;
  }
}

void rotate(const RopeArgs& args, float* head, std::int64_t begin, std::int64_t end,
            const Rotation& rotation) {
  const bool interleaved = args.pairing == RopePairing::kInterleaved;
  const std::int64_t partner = interleaved ? 1 : args.rope_dim / 2;
  const std::int64_t step = interleaved ? 2 : 1;
  for (std::int64_t i = begin; i < end; ++i) {
    float* first = head + i * step;
    float* second = first + partner;
    const double a = *first;
    const double b = *second;
    const double c = rotation.cos[static_cast<std::size_t>(i - begin)];
    const double s = rotation.sin[static_cast<std::size_t>(i - begin)];
    *first = static_cast<float>(a * c - b * s);
    *second = static_cast<float>(a * s + b * c);
  }
}

}  // namespace

void rope(const RopeArgs& args, ThreadPool& pool) {
  const std::int64_t pairs = args.rope_dim / 2;
  pool.parallel_for(static_cast<std::int64_t>(args.positions.size()), [&](std::int64_t t) {
    Rotation rotation;
    for (std::int64_t begin = 0; begin < pairs; begin += kPairTile) {
      const std::int64_t end = std::min(begin + kPairTile, pairs);
      fill(args, t, begin, end, rotation);
      for (std::int64_t h = 0; h < args.heads; ++h) {
        rotate(args, args.x + t * args.token_stride + h * args.head_stride, begin, end, rotation);
      }
    }
  });
}

}  // namespace pellucid::kernels::reference
