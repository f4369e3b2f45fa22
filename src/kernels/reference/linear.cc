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

void linear(const LinearArgs& args, ThreadPool& pool) {
  pool.parallel_for(args.weight.rows, [&](std::int64_t n) {
    for (std::int64_t t = 0; t < args.tokens; ++t) {
      const float* x = args.x + t * args.x_stride;
      double sum = 0;
      for (std::int64_t k = 0; k < args.weight.cols; ++k) {
        sum += static_cast<double>(x[k]) * decode_element(args.weight, n, k);
      }
      args.y[t * args.y_stride + n] = static_cast<float>(sum);
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
    for (std::int64_t l = 0; l < rank; ++l) {
      double sum = 0;
      for (std::int64_t n = 0; n < args.nope_dim; ++n) {
        sum += static_cast<double>(q[n]) * decode_element(args.kv_b, first_row + n, l);
      }
      args.q_latent[task * rank + l] = static_cast<float>(sum);
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
      double sum = 0;
      for (std::int64_t l = 0; l < rank; ++l) {
        sum += static_cast<double>(latent[l]) * decode_element(args.kv_b, first_row + v, l);
      }
      args.out[task * args.v_dim + v] = static_cast<float>(sum);
    }
  });
}

}  // namespace pellucid::kernels::reference
