#include "config/kernel_catalog.h"

#include <algorithm>
#include <array>

namespace pellucid::config {
namespace {

constexpr std::array<CpuFeature, 3> kAvx2Needs = {CpuFeature::kAvx2, CpuFeature::kFma,
                                                  CpuFeature::kF16c};

constexpr std::array<KernelTable, 3> kTables = {{
    {"reference", {}, "scalar, double accumulation: the definition of every operator"},
    {"generic", {}, "8 lanes of f32, vectorised by the compiler for the baseline CPU"},
    {"avx2", kAvx2Needs, "8 lanes of f32, AVX2 and FMA"},
}};

constexpr std::array<std::string_view, kTables.size()> kNames = {kTables[0].name, kTables[1].name,
                                                                 kTables[2].name};

constexpr std::array<std::string_view, 10> kFormats = {
    "bf16",           "f16",          "f32",  "fp8_block", "fp8_block_ue8m0", "fp8_tensor",
    "nvfp4_modelopt", "nvfp4_packed", "int4", "mxfp4"};

}  // namespace

std::span<const KernelTable> kernel_tables() {
  return kTables;
}

std::span<const std::string_view> kernel_table_names() {
  return kNames;
}

const KernelTable* find_kernel_table(std::string_view name) {
  const auto found = std::ranges::find(kTables, name, &KernelTable::name);
  return found == kTables.end() ? nullptr : &*found;
}

std::vector<std::string> missing_for(const KernelTable& table, const DeviceFacts& device) {
  if (device.kind == DeviceKind::kCuda) return {"cuda backend"};
  std::vector<std::string> missing;
  for (const CpuFeature feature : table.needs) {
    if (!device.has(feature)) missing.emplace_back(feature_name(feature));
  }
  return missing;
}

const KernelTable* fastest_table(const DeviceFacts& device) {
  const KernelTable* best = nullptr;
  for (const KernelTable& table : kTables) {
    if (missing_for(table, device).empty()) best = &table;
  }
  return best;
}

std::span<const std::string_view> supported_formats() {
  return kFormats;
}

}  // namespace pellucid::config
