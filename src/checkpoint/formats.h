#pragma once
// The weight formats of model.md section 5: which tensors of a module make which format. The
// tensors decide; what the config claims is compared afterwards (quant_claim.h).
//
// Rules: "format" (the tensors of the module are of no known format), "dtype", "tensor_shape",
// "scale_shape", "weight_shape", and of check_scalars() "scale_value", "scale_reciprocal".

#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.h"
#include "checkpoint/modules.h"
#include "checkpoint/problem.h"
#include "checkpoint/shards.h"
#include "tensor/weight.h"

namespace pellucid::checkpoint {

enum class Format {
  kBf16,
  kF16,
  kF32,
  kFp8Block,       ///< E4M3, f32 scale of each 128 x 128 block
  kFp8BlockUe8m0,  ///< the same with the scale stored as a power of two
  kFp8Tensor,      ///< E4M3, one f32 scale
  kNvfp4ModelOpt,  ///< E2M1, E4M3 scale of 16, times weight_scale_2
  kNvfp4Packed,    ///< E2M1, E4M3 scale of 16, divided by weight_global_scale (compressed-tensors)
  kInt4,           ///< 4-bit integers, bf16 scale of each group (pack-quantized)
  kMxfp4,          ///< E2M1, power-of-two scale of 32
};
inline constexpr std::size_t kFormatCount = 10;

/// "bf16", "fp8_block", "nvfp4_modelopt": the id in reports.
[[nodiscard]] std::string_view format_name(Format format);
/// False for the three plain floating-point formats.
[[nodiscard]] bool is_quantized(Format format);

struct ResolvedWeight {
  Format format = Format::kBf16;
  tensor::WeightView view;
};

/// The matrix [rows, cols] that the tensors of `module` make. `name` and the files of `shards` go
/// into errors.
[[nodiscard]] Expected<ResolvedWeight> resolve_weight(const Shards& shards, const Module& module,
                                                      std::string_view name, std::int64_t rows,
                                                      std::int64_t cols);

/// Checks the scalars of a resolved module: global and input scales finite, positive and normal,
/// and a global scale on the side of 1 that its convention puts it on (model.md section 5.4: a
/// reciprocal mix-up loads without a sound and computes nonsense).
void check_scalars(const Shards& shards, const Module& module, Format format, ProblemLog& log);

}  // namespace pellucid::checkpoint
