#pragma once
// All tensors by name, grouped by the module they belong to: "X.weight", "X.weight_scale", ...
// under "X". A checkpoint of 240,000 tensors has 60,000 modules, and names come in groups: one
// lookup in the table for each group instead of one for each tensor.

#include <array>
#include <boost/unordered/unordered_flat_map.hpp>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "checkpoint/checkpoint.h"

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

class TensorTable {
 public:
  TensorTable() = default;
  /// The table refers to `tensors`, which must stay where they are, and to their names. Of tensors
  /// of one name it has the first; the others are appended to `repeated`.
  TensorTable(std::span<const TensorInfo> tensors, std::vector<const TensorInfo*>& repeated);

  /// Null when absent. Names are full names.
  [[nodiscard]] const TensorInfo* find(std::string_view name) const;
  /// Null when no tensor of a weight belongs to that module.
  [[nodiscard]] const Module* find_module(std::string_view name) const;
  /// Number of different names.
  [[nodiscard]] std::size_t size() const { return size_; }

  /// find() for names of which many in a row are of one module, as in a sorted list.
  class Reader {
   public:
    explicit Reader(const TensorTable& table) : table_(table) {}
    [[nodiscard]] const TensorInfo* find(std::string_view name);

   private:
    const TensorTable& table_;
    std::string_view module_name_;
    const Module* module_ = nullptr;
  };

 private:
  /// Index into modules_. std::hash takes 8 bytes at a time, boost::hash one.
  boost::unordered_flat_map<std::string_view, std::uint32_t, std::hash<std::string_view>> ids_;
  std::vector<Module> modules_;
  /// Names whose last component is no part.
  std::unordered_map<std::string_view, const TensorInfo*> others_;
  std::size_t size_ = 0;
};

}  // namespace pellucid::checkpoint
