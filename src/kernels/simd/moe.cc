#include <algorithm>

#include "base/check.h"
#include "kernels/simd/dense.h"
#include "kernels/simd/simd.h"

namespace pellucid::kernels::simd {
namespace {

// The slots (token * top_k + rank) of each expert, so that a weight row is decoded once for all
// tokens that were routed to its expert.
struct Groups {
  std::int32_t* active;  // experts with at least one slot
  std::int32_t* begins;  // [experts + 1] into `slots`
  std::int32_t* slots;   // sorted by expert, ascending within one
  std::int64_t count;    // of active experts
};

// Counting sort into the caller's scratch: active [experts], begins [experts + 1], slots.
Groups group_by_expert(const MoeArgs& args, std::int64_t experts) {
  const std::int64_t total = args.tokens * args.top_k;
  Groups groups{args.int_scratch, args.int_scratch + experts, args.int_scratch + 2 * experts + 1,
                0};
  std::fill_n(groups.begins, experts + 1, 0);
  for (std::int64_t s = 0; s < total; ++s) {
    PELLUCID_CHECK(args.expert_ids[s] >= 0 && args.expert_ids[s] < experts);
    ++groups.begins[args.expert_ids[s] + 1];
  }
  for (std::int64_t e = 0; e < experts; ++e) {
    if (groups.begins[e + 1] > 0) groups.active[groups.count++] = static_cast<std::int32_t>(e);
    groups.begins[e + 1] += groups.begins[e];
  }
  for (std::int64_t s = 0; s < total; ++s) {
    groups.slots[groups.begins[args.expert_ids[s]]++] = static_cast<std::int32_t>(s);
  }
  // Each begin now is the begin of the next expert.
  for (std::int64_t e = experts; e > 0; --e) groups.begins[e] = groups.begins[e - 1];
  groups.begins[0] = 0;
  return groups;
}

// Runs body(expert, slots, slot count, first row, rows) for every active expert and row block.
template <class Body>
void for_each_block(const Groups& groups, std::int64_t rows, std::int64_t block, ThreadPool& pool,
                    const Body& body) {
  const std::int64_t blocks = (rows + block - 1) / block;
  pool.parallel_for(groups.count * blocks, [&](std::int64_t task) {
    const std::int32_t expert = groups.active[task / blocks];
    const std::int64_t first = task % blocks * block;
    const std::int32_t begin = groups.begins[expert];
    body(static_cast<std::size_t>(expert), groups.slots + begin,
         static_cast<std::int64_t>(groups.begins[expert + 1] - begin), first,
         std::min(block, rows - first));
  });
}

}  // namespace

void moe(const MicroKernels& micro, const MoeArgs& args, ThreadPool& pool) {
  if (args.tokens == 0) return;
  const std::int64_t hidden = args.down[0].rows;
  const std::int64_t inter = args.gate[0].rows;
  const std::int64_t total = args.tokens * args.top_k;
  const Groups groups = group_by_expert(args, static_cast<std::int64_t>(args.gate.size()));
  const std::int64_t tokens_per_expert = (total + groups.count - 1) / groups.count;
  float* product = args.scratch;                 // [total, inter]
  float* second = args.scratch + total * inter;  // [total, inter], then [total, hidden]

  for_each_block(groups, inter, rows_per_task(hidden, tokens_per_expert), pool,
                 [&](std::size_t expert, const std::int32_t* slots, std::int64_t count,
                     std::int64_t first, std::int64_t rows) {
                   RowsTimesTokens job{.weight = &args.gate[expert],
                                       .first_row = first,
                                       .rows = rows,
                                       .slots = slots,
                                       .count = count,
                                       .x = args.x,
                                       .x_stride = hidden,
                                       .x_divisor = args.top_k,
                                       .y = product + first,
                                       .y_stride = inter};
                   multiply(micro, job);
                   job.weight = &args.up[expert];
                   job.y = second + first;
                   multiply(micro, job);
                   for (std::int64_t i = 0; i < count; ++i) {
                     float* gate = product + slots[i] * inter + first;
                     micro.swiglu(gate, second + slots[i] * inter + first, rows, gate);
                   }
                 });
  for_each_block(groups, hidden, rows_per_task(inter, tokens_per_expert), pool,
                 [&](std::size_t expert, const std::int32_t* slots, std::int64_t count,
                     std::int64_t first, std::int64_t rows) {
                   multiply(micro, {.weight = &args.down[expert],
                                    .first_row = first,
                                    .rows = rows,
                                    .slots = slots,
                                    .count = count,
                                    .x = product,
                                    .x_stride = inter,
                                    .x_divisor = 1,
                                    .y = second + first,
                                    .y_stride = hidden});
                 });
  pool.parallel_for(args.tokens, [&](std::int64_t t) {
    float* out = args.out + t * hidden;
    std::fill_n(out, hidden, 0.0F);
    for (std::int64_t s = t * args.top_k; s < (t + 1) * args.top_k; ++s) {
      micro.axpy(args.weights[s], second + s * hidden, hidden, out);
    }
  });
}

}  // namespace pellucid::kernels::simd
