#include "kernels/reference/reference.h"

namespace pellucid::kernels {

const OpTable& reference_ops() {
  static constexpr OpTable kTable = {
      .name = "reference",
      .embed = reference::embed,
      .linear = reference::linear,
      .rms_norm = reference::rms_norm,
      .layer_norm = reference::layer_norm,
      .rope = reference::rope,
      .swiglu = reference::swiglu,
      .add = reference::add,
      .store_rows = reference::store_rows,
      .load_rows = reference::load_rows,
      .absorb_query = reference::absorb_query,
      .project_value = reference::project_value,
      .absorbed_attention = reference::absorbed_attention,
      .expanded_attention = reference::expanded_attention,
      .indexer_scores = reference::indexer_scores,
      .topk = reference::topk,
      .route = reference::route,
      .moe = reference::moe,
  };
  return kTable;
}

}  // namespace pellucid::kernels
