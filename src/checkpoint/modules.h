#pragma once
// Tensors grouped by the module they belong to: "X.weight", "X.weight_scale", ... under "X". One
// pass over all names, so that deciding the format of 60,000 modules needs one lookup each.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <unordered_map>

#include "checkpoint/shards.h"

namespace pellucid::checkpoint {

enum class Part : std::uint8_t {
  kWeight,
  kWeightPacked,
  kWeightScale,
  kWeightScaleInv,
  kWeightScale2,
  kWeightGlobalScale,
  kWeightShape,
  kWeightZeroPoint,
  kInputScale,
  kInputGlobalScale,
};
inline constexpr std::size_t kPartCount = 10;

/// The last component of the tensor's name: "weight_scale".
[[nodiscard]] std::string_view part_name(Part part);

struct Module {
  std::array<const TensorInfo*, kPartCount> parts{};

  [[nodiscard]] const TensorInfo* part(Part p) const { return parts[static_cast<std::size_t>(p)]; }
  /// Bit i: part i is there.
  [[nodiscard]] std::uint32_t mask() const;
};

class ModuleTable {
 public:
  /// The table refers to the tensors of `shards`, which must stay where they are.
  explicit ModuleTable(const Shards& shards);

  /// Null when no tensor of a weight belongs to that module.
  [[nodiscard]] const Module* find(std::string_view name) const;

 private:
  std::unordered_map<std::string_view, Module> modules_;
};

}  // namespace pellucid::checkpoint
