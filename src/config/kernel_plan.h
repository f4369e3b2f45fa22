#pragma once
// Which kernel runs each operator, for each weight format of the checkpoint, and which other tables
// were rejected and why.

#include <string>
#include <vector>

#include "config/resolution.h"

namespace pellucid::config {

struct KernelChoice {
  std::string op = {};       ///< of kernels/ops.h: "linear"
  std::string format = {};   ///< of its weights or rows; empty: works on f32 activations
  std::string used_by = {};  ///< parts of the model
  std::string table = {};    ///< empty: no kernel
  std::string reason = {};
  std::vector<Rejected> rejected = {};
};

[[nodiscard]] std::vector<KernelChoice> plan_kernels(const Resolution& resolution);

}  // namespace pellucid::config
