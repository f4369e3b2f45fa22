#include "checkpoint/modules.h"

#include <algorithm>

namespace pellucid::checkpoint {
namespace {

constexpr std::array<std::string_view, kPartCount> kPartNames = {
    "weight",         "weight_packed",       "weight_scale", "weight_scale_inv",
    "weight_scale_2", "weight_global_scale", "weight_shape", "weight_zero_point",
    "input_scale",    "input_global_scale"};

/// kPartCount when it is none.
std::size_t part_index(std::string_view suffix) {
  const auto it = std::find(kPartNames.begin(), kPartNames.end(), suffix);
  return static_cast<std::size_t>(it - kPartNames.begin());
}

struct Name {
  std::string_view module;
  std::size_t part;  ///< kPartCount: the name is not that of a part of a module
};

Name split(std::string_view name) {
  const std::size_t dot = name.rfind('.');
  if (dot == std::string_view::npos) return {.module = {}, .part = kPartCount};
  return {.module = name.substr(0, dot), .part = part_index(name.substr(dot + 1))};
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

TensorTable::TensorTable(std::span<const TensorInfo> tensors,
                         std::vector<const TensorInfo*>& repeated) {
  ids_.reserve(tensors.size() / 2);  // a quantised module has 2 to 4 tensors
  modules_.reserve(tensors.size() / 2);
  std::string_view last_name;
  Module* last = nullptr;
  for (const TensorInfo& tensor : tensors) {
    const Name name = split(tensor.name);
    if (name.part == kPartCount) {
      if (!others_.emplace(tensor.name, &tensor).second) repeated.push_back(&tensor);
      continue;
    }
    if (last == nullptr || name.module != last_name) {
      const auto id = static_cast<std::uint32_t>(modules_.size());
      const auto [it, is_new] = ids_.try_emplace(name.module, id);
      last = is_new ? &modules_.emplace_back() : &modules_[it->second];
      last_name = name.module;
    }
    const TensorInfo*& slot = last->parts[name.part];
    if (slot != nullptr) {
      repeated.push_back(&tensor);
      continue;
    }
    slot = &tensor;
  }
  size_ = tensors.size() - repeated.size();
}

const Module* TensorTable::find_module(std::string_view name) const {
  const auto it = ids_.find(name);
  return it == ids_.end() ? nullptr : &modules_[it->second];
}

const TensorInfo* TensorTable::find(std::string_view name) const {
  return Reader(*this).find(name);
}

const TensorInfo* TensorTable::Reader::find(std::string_view full_name) {
  const Name name = split(full_name);
  if (name.part == kPartCount) {
    const auto it = table_.others_.find(full_name);
    return it == table_.others_.end() ? nullptr : it->second;
  }
  if (module_ == nullptr || name.module != module_name_) {
    module_ = table_.find_module(name.module);
    module_name_ = name.module;
  }
  return module_ == nullptr ? nullptr : module_->parts[name.part];
}

}  // namespace pellucid::checkpoint
