#pragma once
// Contracts between two sides that must agree: who writes a KV row and who reads it, which scales a
// checkpoint holds and which a kernel assumes. Each check is a pure function of both sides; a
// disagreement is a Contradiction that names both, what follows from it, and the smallest change
// that ends it. Our own resolution and the predictions for other engines use the same checks.
//
// Nothing here decides a setting; an agreement and a fact that nobody knows both yield nothing.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace pellucid::config {

/// One side of a contract.
struct Party {
  std::string who;     ///< "KV pool", "flashinfer decode reader", "checkpoint"
  std::string says;    ///< "656-byte rows (fp8_ds_mla)"
  std::string source;  ///< setting, rule or file from which this is known
};

struct Contradiction {
  std::string rule;  ///< stable id: "kv_layout", "scale_format", "kv_scales", "head_dim", ...
  Party one;
  Party other;
  std::string consequence;
  std::string fix;  ///< smallest change that ends the contradiction
};

// ---- KV rows. model.md section 6: sizes per token and layer, kv_lora_rank 512, rope 64.

enum class KvLayoutId {
  kBf16,          ///< 1152 bytes: 512 latent + 64 rope, bf16
  kFp8DsMla,      ///< 656 bytes: 512 e4m3, 4 fp32 scales, 64 bf16 rope
  kFp8PerTensor,  ///< 576 bytes: 576 e4m3, one fp32 scale outside the cache
  kNvfp4,         ///< 416 bytes: 512 e2m1, 32 e4m3 scales, 64 bf16 rope, global scale outside
};

struct KvField {
  std::string_view name;
  std::uint32_t offset_bytes;
  std::uint32_t size_bytes;
  std::string_view format;
};

struct KvLayout {
  KvLayoutId id;
  std::string_view name;
  std::uint32_t bytes_per_token;  ///< of one layer
  std::span<const KvField> fields;
};

/// Row of the DSA indexer's key cache per token and indexer layer: 128 e4m3 + one fp32 scale.
inline constexpr std::uint32_t kIndexerBytesPerToken = 132;

[[nodiscard]] std::span<const KvLayout> kv_layouts();
[[nodiscard]] const KvLayout& kv_layout(KvLayoutId id);
[[nodiscard]] std::optional<KvLayoutId> kv_layout_by_name(std::string_view name);

/// A measured pool size explained as rows of one layout.
struct KvLayoutMatch {
  KvLayoutId layout;
  bool with_indexer;           ///< the 132-byte indexer rows are part of the measured size
  double expected_bytes;       ///< per token and layer
  double relative_difference;  ///< |measured - expected| / expected
};

/// The layout whose row size explains `bytes_per_token_layer` within 0.75 % (the page of padding
/// and the two decimals of a log line are below 0.1 %; the closest two candidates differ by 2 %).
/// `indexer_layers` of `layers` own an indexer row; both must be >= 1 and >= 0.
[[nodiscard]] std::optional<KvLayoutMatch> infer_kv_layout(double bytes_per_token_layer,
                                                           std::int64_t layers,
                                                           std::int64_t indexer_layers);

/// One user of the KV rows: the writer or a reader.
struct KvRowUser {
  std::string who;
  KvLayoutId layout;
  std::string source;
  std::string fix;  ///< change that would make this reader agree; empty: a general one is given
};

/// Every reader must expect the layout that the writer writes. Rule "kv_layout".
[[nodiscard]] std::vector<Contradiction> check_kv_rows(const KvRowUser& writer,
                                                       std::span<const KvRowUser> readers);

// ---- Scales.

enum class ScaleFormat {
  kNone,            ///< unquantised
  kPerTensorFp32,   ///< one fp32 per tensor or output channel
  kFp32Block,       ///< fp32 per 128x128 or 1x128 block
  kUe8m0Block,      ///< powers of two per block
  kE4m3Global,      ///< e4m3 per 16 + fp32 global scale, value = code * scale * global
  kE4m3Reciprocal,  ///< e4m3 per 16 + fp32 reciprocal global, value = code * scale / global
};

[[nodiscard]] std::string_view scale_format_name(ScaleFormat format);

struct ScaleUse {
  std::string who;
  ScaleFormat format;
  std::string source;
};

/// The kernel must assume the format that the tensors hold. An unquantised tensor agrees with any
/// kernel: it never reaches it. Rule "scale_format".
[[nodiscard]] std::optional<Contradiction> check_scale_format(const ScaleUse& tensors,
                                                              const ScaleUse& kernel,
                                                              std::string_view fix);

/// An 8-bit or 4-bit KV cache whose values are scaled by calibrated per-layer scales, and a
/// checkpoint that has none, so that 1.0 is used. Rule "kv_scales".
struct KvScaleUse {
  std::string kv_dtype;
  std::string dtype_source;
  bool quantised = false;
  std::optional<bool> scales_in_checkpoint;  ///< unknown yields nothing
  std::string fix;
};
[[nodiscard]] std::optional<Contradiction> check_kv_scales(const KvScaleUse& use);

// ---- Shapes.

/// `heads` divide over `ranks`, and `head_dim` is one that the kernel has. Rule "head_dim".
struct HeadUse {
  std::string kernel;
  std::int64_t heads = 0;
  std::int64_t ranks = 1;
  std::int64_t head_dim = 0;
  std::span<const std::int64_t> supported_head_dims;  ///< empty: any
  std::string source;
};
[[nodiscard]] std::optional<Contradiction> check_heads(const HeadUse& use);

/// The reduction dimension K of a sharded weight, per rank, is a multiple of the kernel's block.
/// A padded scale column otherwise holds stale bytes. Rule "k_alignment".
struct KUse {
  std::string tensor;
  std::int64_t k = 0;
  std::int64_t ranks = 1;
  std::int64_t alignment = 1;
  std::string kernel;
  std::string source;
};
[[nodiscard]] std::optional<Contradiction> check_k_alignment(const KUse& use);

/// The product of `extents` fits the index type of the kernel (INT32_MAX by default). Rule
/// "index_range".
struct IndexUse {
  std::string kernel;
  std::string expression;  ///< "n_kv * n_ubatch"
  std::span<const std::uint64_t> extents;
  std::uint64_t index_max = 2147483647;
  std::string source;
  std::string fix;
};
[[nodiscard]] std::optional<Contradiction> check_index_range(const IndexUse& use);

}  // namespace pellucid::config
