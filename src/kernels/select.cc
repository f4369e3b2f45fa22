#include <algorithm>
#include <array>

#include "kernels/ops.h"

namespace pellucid::kernels {

std::span<const OpTable* const> available_ops() {
  static const std::array<const OpTable*, 1> kTables = {&reference_ops()};
  return kTables;
}

const OpTable* find_ops(std::string_view name) {
  const auto tables = available_ops();
  const auto found = std::find_if(tables.begin(), tables.end(),
                                  [&](const OpTable* table) { return table->name == name; });
  return found == tables.end() ? nullptr : *found;
}

std::int64_t moe_scratch_floats(std::int64_t tokens, std::int64_t top_k, std::int64_t hidden,
                                std::int64_t inter) {
  return tokens * top_k * (hidden + inter);
}

std::int64_t moe_scratch_ints(std::int64_t tokens, std::int64_t top_k, std::int64_t experts) {
  return tokens * top_k + 2 * experts + 1;
}

}  // namespace pellucid::kernels
