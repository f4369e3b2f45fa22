#include "checkpoint/modules.h"

#include <optional>

namespace pellucid::checkpoint {
namespace {

constexpr std::array<std::string_view, kPartCount> kPartNames = {
    "weight",         "weight_packed",       "weight_scale", "weight_scale_inv",
    "weight_scale_2", "weight_global_scale", "weight_shape", "weight_zero_point",
    "input_scale",    "input_global_scale"};

std::optional<std::size_t> part_index(std::string_view suffix) {
  for (std::size_t i = 0; i < kPartNames.size(); ++i) {
    if (kPartNames[i] == suffix) return i;
  }
  return std::nullopt;
}

}  // namespace

std::string_view part_name(Part part) {
  return kPartNames[static_cast<std::size_t>(part)];
}

std::uint32_t Module::mask() const {
  std::uint32_t out = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (parts[i] != nullptr) out |= 1U << i;
  }
  return out;
}

ModuleTable::ModuleTable(const Shards& shards) {
  modules_.reserve(shards.tensors.size());
  for (const TensorInfo& tensor : shards.tensors) {
    const std::string_view name = tensor.name;
    const std::size_t dot = name.rfind('.');
    if (dot == std::string_view::npos) continue;
    const auto part = part_index(name.substr(dot + 1));
    if (part) modules_[name.substr(0, dot)].parts[*part] = &tensor;
  }
}

const Module* ModuleTable::find(std::string_view name) const {
  const auto it = modules_.find(name);
  return it == modules_.end() ? nullptr : &it->second;
}

}  // namespace pellucid::checkpoint
