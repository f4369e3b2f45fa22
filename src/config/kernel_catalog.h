#pragma once
// The operator tables of this build as data: what each needs of a CPU and which weight formats it
// takes. The code is in room kernels, which this room does not know; a test of the command line
// holds the two against each other.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/facts.h"

namespace pellucid::config {

struct KernelTable {
  std::string_view name;
  std::span<const CpuFeature> needs;
  std::string_view description;
};

/// In ascending order of speed.
[[nodiscard]] std::span<const KernelTable> kernel_tables();
[[nodiscard]] std::span<const std::string_view> kernel_table_names();
[[nodiscard]] const KernelTable* find_kernel_table(std::string_view name);

/// What `device` lacks to run `table`: names of CPU features, or the backend. Empty: it runs.
[[nodiscard]] std::vector<std::string> missing_for(const KernelTable& table,
                                                   const DeviceFacts& device);

/// The fastest table that `device` runs, or null.
[[nodiscard]] const KernelTable* fastest_table(const DeviceFacts& device);

/// Weight formats (ids as the checkpoint room names them) that the operators decode.
[[nodiscard]] std::span<const std::string_view> supported_formats();

}  // namespace pellucid::config
