#include "base/check.h"
#include "kernels/reference/reference.h"

namespace pellucid::kernels::reference {
// gate, up and their product are rounded to f32, as if linear and swiglu had been called; the sum
// over the slots is in double.
void moe(const MoeArgs& args, ThreadPool& pool) {
  if (args.tokens == 0) return;
  const std::int64_t hidden = args.down[0].rows;
  const std::int64_t inter = args.gate[0].rows;
  pool.parallel_for(args.tokens * args.top_k, [&](std::int64_t slot) {
    const auto expert = static_cast<std::size_t>(args.expert_ids[slot]);
    PELLUCID_CHECK(expert < args.gate.size());
    const float* x = args.x + (slot / args.top_k) * hidden;
    float* product = args.scratch + slot * inter;
    for (std::int64_t i = 0; i < inter; ++i) {
      const float gate = dot_weight_row(args.gate[expert], i, x);
      const float up = dot_weight_row(args.up[expert], i, x);
      product[i] = static_cast<float>(silu(gate) * up);
    }
  });
  pool.parallel_for(args.tokens, [&](std::int64_t t) {
    for (std::int64_t n = 0; n < hidden; ++n) {
      double sum = 0;
      for (std::int64_t s = t * args.top_k; s < (t + 1) * args.top_k; ++s) {
        const auto expert = static_cast<std::size_t>(args.expert_ids[s]);
        const float out = dot_weight_row(args.down[expert], n, args.scratch + s * inter);
        sum += static_cast<double>(args.weights[s]) * out;
      }
      args.out[t * hidden + n] = static_cast<float>(sum);
    }
  });
}

}  // namespace pellucid::kernels::reference
