#include <algorithm>
#include <array>

#include "kernels/ops.h"
#include "kernels/simd/simd.h"

namespace pellucid::kernels {
namespace {

struct Tables {
  std::array<const OpTable*, 3> list{};
  std::size_t count = 0;
};

Tables make_tables() {
  Tables tables;
  for (const OpTable* table : {&reference_ops(), &simd::generic_ops(), simd::avx2_ops()}) {
    if (table != nullptr) tables.list[tables.count++] = table;
  }
  return tables;
}

}  // namespace

std::span<const OpTable* const> available_ops() {
  static const Tables kTables = make_tables();
  return {kTables.list.data(), kTables.count};
}

const OpTable* find_ops(std::string_view name) {
  const auto tables = available_ops();
  const auto found = std::find_if(tables.begin(), tables.end(),
                                  [&](const OpTable* table) { return table->name == name; });
  return found == tables.end() ? nullptr : *found;
}

// The products of gate and up for every slot, and beside them first the results of up, then those
// of down.
std::int64_t moe_scratch_floats(std::int64_t tokens, std::int64_t top_k, std::int64_t hidden,
                                std::int64_t inter) {
  return tokens * top_k * (inter + std::max(hidden, inter));
}

// Slots sorted by expert, the active experts, and where each expert's slots begin.
std::int64_t moe_scratch_ints(std::int64_t tokens, std::int64_t top_k, std::int64_t experts) {
  return tokens * top_k + 2 * experts + 1;
}

}  // namespace pellucid::kernels
