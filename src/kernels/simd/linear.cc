#include <algorithm>

#include "kernels/simd/dense.h"
#include "kernels/simd/simd.h"

namespace pellucid::kernels::simd {

void embed(const MicroKernels& micro, const EmbedArgs& args, ThreadPool& pool) {
  const std::int64_t hidden = args.table.cols;
  pool.parallel_for(static_cast<std::int64_t>(args.ids.size()), [&](std::int64_t t) {
    const WeightRow row = weight_row(args.table, args.ids[static_cast<std::size_t>(t)]);
    micro.decode(row, 0, hidden, args.out + t * hidden);
  });
}

void linear(const MicroKernels& micro, const LinearArgs& args, ThreadPool& pool) {
  const std::int64_t rows = args.weight.rows;
  const std::int64_t block = rows_per_task(args.weight.cols, args.tokens);
  pool.parallel_for((rows + block - 1) / block, [&](std::int64_t task) {
    const std::int64_t first = task * block;
    multiply(micro, {.weight = &args.weight,
                     .first_row = first,
                     .rows = std::min(block, rows - first),
                     .slots = nullptr,
                     .count = args.tokens,
                     .x = args.x,
                     .x_stride = args.x_stride,
                     .x_divisor = 1,
                     .y = args.y + first,
                     .y_stride = args.y_stride});
  });
}

void swiglu(const MicroKernels& micro, const SwigluArgs& args, ThreadPool& pool) {
  constexpr std::int64_t kBlock = 4096;
  pool.parallel_for((args.count + kBlock - 1) / kBlock, [&](std::int64_t task) {
    const std::int64_t begin = task * kBlock;
    micro.swiglu(args.gate + begin, args.up + begin, std::min(kBlock, args.count - begin),
                 args.y + begin);
  });
}

// The latent is the sum over the nope rows of W_UK, in ascending order; a tile of a row is decoded
// once and used by all tokens.
void absorb_query(const MicroKernels& micro, const AbsorbQueryArgs& args, ThreadPool& pool) {
  const std::int64_t rank = args.kv_b.cols;
  const std::int64_t tiles = (rank + kTileColumns - 1) / kTileColumns;
  pool.parallel_for(args.heads * tiles, [&](std::int64_t task) {
    const std::int64_t h = task / tiles;
    const std::int64_t begin = task % tiles * kTileColumns;
    const std::int64_t count = std::min(kTileColumns, rank - begin);
    const auto latent = [&](std::int64_t t) {
      return args.q_latent + (t * args.heads + h) * rank + begin;
    };
    for (std::int64_t t = 0; t < args.tokens; ++t) std::fill_n(latent(t), count, 0.0F);
    alignas(64) float tile[kTileColumns];
    for (std::int64_t n = 0; n < args.nope_dim; ++n) {
      const std::int64_t row = h * (args.nope_dim + args.v_dim) + n;
      micro.decode(weight_row(args.kv_b, row), begin, count, tile);
      for (std::int64_t t = 0; t < args.tokens; ++t) {
        const float q = args.q[t * args.q_token_stride + h * args.q_head_stride + n];
        micro.axpy(q, tile, count, latent(t));
      }
    }
  });
}

void project_value(const MicroKernels& micro, const ProjectValueArgs& args, ThreadPool& pool) {
  const std::int64_t rank = args.kv_b.cols;
  const std::int64_t block = std::min(args.v_dim, rows_per_task(rank, args.tokens));
  const std::int64_t blocks = (args.v_dim + block - 1) / block;
  pool.parallel_for(args.heads * blocks, [&](std::int64_t task) {
    const std::int64_t h = task / blocks;
    const std::int64_t v = task % blocks * block;
    multiply(micro, {.weight = &args.kv_b,
                     .first_row = h * (args.nope_dim + args.v_dim) + args.nope_dim + v,
                     .rows = std::min(block, args.v_dim - v),
                     .slots = nullptr,
                     .count = args.tokens,
                     .x = args.o_latent + h * rank,
                     .x_stride = args.heads * rank,
                     .x_divisor = 1,
                     .y = args.out + h * args.v_dim + v,
                     .y_stride = args.heads * args.v_dim});
  });
}

}  // namespace pellucid::kernels::simd
