#include "kernels/reference/reference.h"
#include "kernels/simd/simd.h"

namespace pellucid::kernels::simd {
namespace {

// An entry of the table: the op with the micro-kernels of one target bound to it.
template <const MicroKernels& (*kMicro)(), auto kOp>
struct Entry;

template <const MicroKernels& (*kMicro)(), class Args,
          void (*kOp)(const MicroKernels&, const Args&, ThreadPool&)>
struct Entry<kMicro, kOp> {
  static void run(const Args& args, ThreadPool& pool) { kOp(kMicro(), args, pool); }
};

// Rope, routing and the copies of rows are a few operations per token in double: the reference is
// fast enough, and one implementation selects the same experts in every table.
template <const MicroKernels& (*kMicro)()>
constexpr OpTable make_table(std::string_view name) {
  return {
      .name = name,
      .embed = Entry<kMicro, embed>::run,
      .linear = Entry<kMicro, linear>::run,
      .rms_norm = rms_norm,
      .layer_norm = layer_norm,
      .rope = reference::rope,
      .swiglu = Entry<kMicro, swiglu>::run,
      .add = reference::add,
      .store_rows = reference::store_rows,
      .load_rows = reference::load_rows,
      .absorb_query = Entry<kMicro, absorb_query>::run,
      .project_value = Entry<kMicro, project_value>::run,
      .absorbed_attention = Entry<kMicro, absorbed_attention>::run,
      .expanded_attention = Entry<kMicro, expanded_attention>::run,
      .indexer_scores = Entry<kMicro, indexer_scores>::run,
      .topk = topk,
      .route = reference::route,
      .moe = Entry<kMicro, moe>::run,
  };
}

const MicroKernels& avx2_micro_present() {
  return *avx2_micro();
}

bool cpu_has_avx2() {
#if defined(__x86_64__)
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
         __builtin_cpu_supports("f16c");
#else
  return false;
#endif
}

}  // namespace

const OpTable& generic_ops() {
  static constexpr OpTable kTable = make_table<generic_micro>("generic");
  return kTable;
}

const OpTable* avx2_ops() {
  static constexpr OpTable kTable = make_table<avx2_micro_present>("avx2");
  if (!cpu_has_avx2() || avx2_micro() == nullptr) return nullptr;
  return &kTable;
}

}  // namespace pellucid::kernels::simd
