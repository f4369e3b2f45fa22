#include <algorithm>
#include <array>

#include "kernels/decode_element.h"
#include "kernels/reference/reference.h"

namespace pellucid::kernels::reference {

void embed(const EmbedArgs& args, ThreadPool& pool) {
  const std::int64_t hidden = args.table.cols;
  pool.parallel_for(static_cast<std::int64_t>(args.ids.size()), [&](std::int64_t t) {
    const std::int64_t id = args.ids[static_cast<std::size_t>(t)];
    for (std::int64_t c = 0; c < hidden; ++c) {
      args.out[t * hidden + c] = decode_element(args.table, id, c);
    }
  });
}

namespace {

// Decoding costs more than multiplying: a tile of a weight row is decoded once for a group of
// tokens. Each token's sum still runs over k in ascending order.
constexpr std::int64_t kTileCols = 256;
constexpr std::int64_t kTileTokens = 64;

void dot_tokens(const LinearArgs& args, std::int64_t n, std::int64_t first, std::int64_t count) {
  std::array<double, kTileTokens> sums{};
  std::array<float, kTileCols> tile;
  for (std::int64_t k = 0; k < args.weight.cols; k += kTileCols) {
    const std::int64_t cols = std::min(kTileCols, args.weight.cols - k);
    decode_columns(args.weight, n, k, cols, tile.data());
    for (std::int64_t t = 0; t < count; ++t) {
      const float* x = args.x + (first + t) * args.x_stride + k;
      double sum = sums[static_cast<std::size_t>(t)];
      for (std::int64_t c = 0; c < cols; ++c) {
        sum += static_cast<double>(x[c]) * tile[static_cast<std::size_t>(c)];
      }
      sums[static_cast<std::size_t>(t)] = sum;
    }
  }
  for (std::int64_t t = 0; t < count; ++t) {
    args.y[(first + t) * args.y_stride + n] = static_cast<float>(sums[static_cast<std::size_t>(t)]);
  }
}

}  // namespace

float dot_weight_row(const tensor::WeightView& weight, std::int64_t row, const float* x) {
  std::array<float, kTileCols> tile;
  double sum = 0;
  for (std::int64_t k = 0; k < weight.cols; k += kTileCols) {
    const std::int64_t cols = std::min(kTileCols, weight.cols - k);
    decode_columns(weight, row, k, cols, tile.data());
    for (std::int64_t c = 0; c < cols; ++c) {
      sum += static_cast<double>(x[k + c]) * tile[static_cast<std::size_t>(c)];
    }
  }
  return static_cast<float>(sum);
}

void linear(const LinearArgs& args, ThreadPool& pool) {
  pool.parallel_for(args.weight.rows, [&](std::int64_t n) {
    for (std::int64_t t = 0; t < args.tokens; t += kTileTokens) {
      dot_tokens(args, n, t, std::min(kTileTokens, args.tokens - t));
    }
  });
}

void absorb_query(const AbsorbQueryArgs& args, ThreadPool& pool) {
  const std::int64_t rank = args.kv_b.cols;
  pool.parallel_for(args.tokens * args.heads, [&](std::int64_t task) {
    const std::int64_t t = task / args.heads;
    const std::int64_t h = task % args.heads;
    const float* q = args.q + t * args.q_token_stride + h * args.q_head_stride;
    const std::int64_t first_row = h * (args.nope_dim + args.v_dim);
    for (std::int64_t l = 0; l < rank; l += kTileCols) {
      const std::int64_t cols = std::min(kTileCols, rank - l);
      std::array<double, kTileCols> sums{};
      std::array<float, kTileCols> tile;
      for (std::int64_t n = 0; n < args.nope_dim; ++n) {
        decode_columns(args.kv_b, first_row + n, l, cols, tile.data());
        for (std::int64_t c = 0; c < cols; ++c) {
          const auto i = static_cast<std::size_t>(c);
          sums[i] += static_cast<double>(q[n]) * tile[i];
        }
      }
      std::copy_n(sums.begin(), cols, args.q_latent + task * rank + l);
    }
  });
}

void project_value(const ProjectValueArgs& args, ThreadPool& pool) {
  const std::int64_t rank = args.kv_b.cols;
  pool.parallel_for(args.tokens * args.heads, [&](std::int64_t task) {
    const std::int64_t h = task % args.heads;
    const float* latent = args.o_latent + task * rank;
    const std::int64_t first_row = h * (args.nope_dim + args.v_dim) + args.nope_dim;
    for (std::int64_t v = 0; v < args.v_dim; ++v) {
      args.out[task * args.v_dim + v] = dot_weight_row(args.kv_b, first_row + v, latent);
    }
  });
}

}  // namespace pellucid::kernels::reference
