#pragma once
// A weight matrix as it lies in a checkpoint: codes, optional block scales, optional global scale.
// One description for every format of model.md section 5:
//
//   W[r, c] = decode(code[r, c]) * decode(scale[r / block_rows, c / block_cols]) * global
//
//   format                     element  scale   block        global
//   BF16, F32                  bf16/f32 none    -            1
//   FP8 128x128                e4m3     f32     128 x 128    1
//   FP8 per tensor             e4m3     none    -            weight_scale
//   NVFP4 ModelOpt             e2m1     e4m3    1 x 16       weight_scale_2
//   NVFP4 compressed-tensors   e2m1     e4m3    1 x 16       1 / weight_global_scale
//   INT4 pack-quantized        int4     bf16    1 x group    1
//   MXFP4                      e2m1     ue8m0   1 x 32       1
//
// Packed 4-bit codes: byte b of a row holds column 2b in bits 0-3 and column 2b+1 in bits 4-7 (for
// int4 the little-endian int32 words of the file give the same order). int4 values are nibble - 8.
//
// A view owns nothing; pointers may be unaligned (safetensors promises no alignment).

#include <cstddef>
#include <cstdint>

namespace pellucid::tensor {

enum class Element { kF32, kF16, kBf16, kE4M3, kE2M1, kInt4 };
enum class Scale { kNone, kF32, kBf16, kE4M3, kUe8m0 };

struct WeightView {
  Element element = Element::kBf16;
  Scale scale = Scale::kNone;
  std::int64_t rows = 0;              ///< out features
  std::int64_t cols = 0;              ///< in features
  std::int64_t block_rows = 1;        ///< rows that share a scale
  std::int64_t block_cols = 1;        ///< columns that share a scale
  const std::byte* codes = nullptr;   ///< row-major, rows * row_bytes()
  const std::byte* scales = nullptr;  ///< row-major [ceil(rows/block_rows), scale_cols()]
  float global_scale = 1.0F;
  /// compressed-tensors stores the reciprocal: the value is divided by global_scale.
  bool global_divides = false;

  [[nodiscard]] std::int64_t row_bytes() const;  ///< bytes of codes in one row
  [[nodiscard]] std::int64_t scale_cols() const { return (cols + block_cols - 1) / block_cols; }
  [[nodiscard]] std::int64_t scale_bytes() const;  ///< bytes of one scale
  /// Codes and scales together.
  [[nodiscard]] std::int64_t total_bytes() const;
  [[nodiscard]] bool empty() const { return codes == nullptr; }
};

}  // namespace pellucid::tensor
