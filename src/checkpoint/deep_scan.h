#pragma once
// The payload part of an inspection: every weight and every scale of every tensor.
//
// Rules: "nonfinite_weight", "nonfinite_scale", "zero_scale", "negative_scale", "scale_fmt" (scales
// that are claimed to be powers of two and are not), "file_changed".

#include <cstdint>
#include <functional>
#include <optional>

#include "checkpoint/loaded.h"

namespace pellucid::checkpoint {

/// Called now and then with the bytes done so far and the total.
using ScanProgress = std::function<void(std::uint64_t done, std::uint64_t total)>;

struct DeepScan {
  std::uint64_t bytes = 0;
  /// Whether all FP8 block scales are powers of two; nullopt when there are none in f32.
  std::optional<bool> power_of_two_scales;
};

/// kAll: weights and scales. kBlockScales: scales of blocks only, a ninth of the bytes of NVFP4
/// weights; one bad byte there spoils 16 to 16,384 weights.
enum class ScanScope { kAll, kBlockScales };

/// Scans the tensors of `loaded` in that scope; findings go to its log.
DeepScan deep_scan(Loaded& loaded, ScanScope scope, const ScanProgress& progress);

}  // namespace pellucid::checkpoint
