#include "config/contracts.h"

#include <fmt/format.h>

#include <array>
#include <cmath>

#include "base/check.h"
#include "base/checked.h"

namespace pellucid::config {
namespace {

// model.md sections 6.1 to 6.4.
constexpr std::array kBf16Fields{KvField{"c_kv", 0, 1024, "bf16"},
                                 KvField{"k_rope", 1024, 128, "bf16"}};
constexpr std::array kFp8DsMlaFields{KvField{"c_kv", 0, 512, "e4m3"},
                                     KvField{"scales", 512, 16, "fp32 per 128 channels"},
                                     KvField{"k_rope", 528, 128, "bf16"}};
constexpr std::array kFp8PerTensorFields{KvField{"c_kv", 0, 512, "e4m3"},
                                         KvField{"k_rope", 512, 64, "e4m3"}};
constexpr std::array kNvfp4Fields{KvField{"c_kv", 0, 256, "e2m1"},
                                  KvField{"scales", 256, 32, "e4m3 per 16 channels"},
                                  KvField{"k_rope", 288, 128, "bf16"}};

constexpr std::array kLayouts{
    KvLayout{KvLayoutId::kBf16, "bf16", 1152, kBf16Fields},
    KvLayout{KvLayoutId::kFp8DsMla, "fp8_ds_mla", 656, kFp8DsMlaFields},
    KvLayout{KvLayoutId::kFp8PerTensor, "fp8_per_tensor", 576, kFp8PerTensorFields},
    KvLayout{KvLayoutId::kNvfp4, "nvfp4", 416, kNvfp4Fields},
};

std::string row_text(KvLayoutId id) {
  const KvLayout& layout = kv_layout(id);
  return fmt::format("{}-byte rows ({})", layout.bytes_per_token, layout.name);
}

// What a reader does with the bytes that it takes for something else.
std::string misread_text(KvLayoutId written, KvLayoutId read) {
  if (written == KvLayoutId::kFp8DsMla && read == KvLayoutId::kFp8PerTensor) {
    return "the reader takes the first 512 codes without their scales, and the bytes of fp32 "
           "scales "
           "and bf16 rope as e4m3 numbers; 0x7f and 0xff among them are NaN: attention over cached "
           "tokens is NaN or garbage from the first decode step on";
  }
  return fmt::format(
      "the reader takes {}-byte rows apart as if they were {} bytes: attention over "
      "cached tokens is NaN or garbage",
      kv_layout(written).bytes_per_token, kv_layout(read).bytes_per_token);
}

}  // namespace

std::span<const KvLayout> kv_layouts() {
  return kLayouts;
}

const KvLayout& kv_layout(KvLayoutId id) {
  for (const KvLayout& layout : kLayouts) {
    if (layout.id == id) return layout;
  }
  PELLUCID_CHECK(false && "every KvLayoutId has a row in kLayouts");
}

std::optional<KvLayoutId> kv_layout_by_name(std::string_view name) {
  for (const KvLayout& layout : kLayouts) {
    if (layout.name == name) return layout.id;
  }
  return std::nullopt;
}

std::optional<KvLayoutMatch> infer_kv_layout(double bytes_per_token_layer, std::int64_t layers,
                                             std::int64_t indexer_layers) {
  PELLUCID_CHECK(layers >= 1 && indexer_layers >= 0);
  if (!std::isfinite(bytes_per_token_layer)) return std::nullopt;
  constexpr double kTolerance = 0.0075;
  const double indexer = static_cast<double>(kIndexerBytesPerToken) *
                         static_cast<double>(indexer_layers) / static_cast<double>(layers);
  std::optional<KvLayoutMatch> best;
  for (const KvLayout& layout : kLayouts) {
    for (const bool with_indexer : {false, true}) {
      if (with_indexer && indexer_layers == 0) continue;
      const double expected = layout.bytes_per_token + (with_indexer ? indexer : 0.0);
      const double difference = std::abs(bytes_per_token_layer - expected) / expected;
      if (difference > kTolerance) continue;
      if (best && best->relative_difference <= difference) continue;
      best = KvLayoutMatch{layout.id, with_indexer, expected, difference};
    }
  }
  return best;
}

std::vector<Contradiction> check_kv_rows(const KvRowUser& writer,
                                         std::span<const KvRowUser> readers) {
  std::vector<Contradiction> out;
  for (const KvRowUser& reader : readers) {
    if (reader.layout == writer.layout) continue;
    out.push_back({.rule = "kv_layout",
                   .one = {writer.who, "writes " + row_text(writer.layout), writer.source},
                   .other = {reader.who, "reads " + row_text(reader.layout), reader.source},
                   .consequence = misread_text(writer.layout, reader.layout),
                   .fix = reader.fix.empty()
                              ? fmt::format("choose a reader of {} rows, or a KV dtype whose rows "
                                            "both sides share (bf16)",
                                            kv_layout(writer.layout).name)
                              : reader.fix});
  }
  return out;
}

std::string_view scale_format_name(ScaleFormat format) {
  switch (format) {
    case ScaleFormat::kNone:
      return "none";
    case ScaleFormat::kPerTensorFp32:
      return "fp32 per tensor";
    case ScaleFormat::kFp32Block:
      return "fp32 per block";
    case ScaleFormat::kUe8m0Block:
      return "ue8m0 per block";
    case ScaleFormat::kE4m3Global:
      return "e4m3 per 16 with fp32 global";
    case ScaleFormat::kE4m3Reciprocal:
      return "e4m3 per 16 with reciprocal fp32 global";
  }
  PELLUCID_CHECK(false && "every ScaleFormat has a name");
}

std::optional<Contradiction> check_scale_format(const ScaleUse& tensors, const ScaleUse& kernel,
                                                std::string_view fix) {
  if (tensors.format == ScaleFormat::kNone || tensors.format == kernel.format) return std::nullopt;
  const std::string_view held = scale_format_name(tensors.format);
  const std::string_view assumed = scale_format_name(kernel.format);
  std::string consequence =
      kernel.format == ScaleFormat::kUe8m0Block
          ? fmt::format(
                "{} scales keep mantissa bits that a ue8m0 reader drops or takes for "
                "something else: results are wrong by up to a factor of two, or NaN",
                held)
          : fmt::format("{} scales read as {}: results are wrong, or NaN", held, assumed);
  return Contradiction{
      .rule = "scale_format",
      .one = {tensors.who, fmt::format("holds {} scales", held), tensors.source},
      .other = {kernel.who, fmt::format("assumes {} scales", assumed), kernel.source},
      .consequence = std::move(consequence),
      .fix = std::string(fix)};
}

std::optional<Contradiction> check_kv_scales(const KvScaleUse& use) {
  if (!use.quantised || use.scales_in_checkpoint.value_or(true)) return std::nullopt;
  return Contradiction{
      .rule = "kv_scales",
      .one = {"KV cache", fmt::format("stores {}, scaled by a factor per layer", use.kv_dtype),
              use.dtype_source},
      .other = {"checkpoint", "has no KV scales, so 1.0 is used", "checkpoint tensors"},
      .consequence =
          "values beyond +-448 saturate and small ones lose bits wherever a kernel "
          "relies on the per-layer factor: accuracy drops without a fault",
      .fix = use.fix.empty() ? "use bf16 KV, or calibrate KV scales into the checkpoint" : use.fix};
}

std::optional<Contradiction> check_heads(const HeadUse& use) {
  PELLUCID_CHECK(use.ranks >= 1);
  if (use.heads % use.ranks != 0) {
    return Contradiction{.rule = "head_dim",
                         .one = {"checkpoint", fmt::format("has {} heads", use.heads), use.source},
                         .other = {use.kernel, fmt::format("splits them over {} ranks", use.ranks),
                                   "tensor parallel size"},
                         .consequence = "the last rank gets a fraction of a head",
                         .fix = fmt::format("use a rank count that divides {}", use.heads)};
  }
  if (use.supported_head_dims.empty()) return std::nullopt;
  std::string supported;
  for (const std::int64_t dim : use.supported_head_dims) {
    if (dim == use.head_dim) return std::nullopt;
    supported += fmt::format("{}{}", supported.empty() ? "" : ", ", dim);
  }
  return Contradiction{
      .rule = "head_dim",
      .one = {"checkpoint", fmt::format("has head dim {}", use.head_dim), use.source},
      .other = {use.kernel, fmt::format("supports head dims {}", supported), "kernel"},
      .consequence = "the kernel reads beside the head or refuses to launch",
      .fix = "choose a kernel that has this head dim"};
}

std::optional<Contradiction> check_k_alignment(const KUse& use) {
  PELLUCID_CHECK(use.ranks >= 1 && use.alignment >= 1);
  const bool divides = use.k % use.ranks == 0;
  if (divides && (use.k / use.ranks) % use.alignment == 0) return std::nullopt;
  const std::string per_rank =
      divides ? fmt::format("{} per rank", use.k / use.ranks) : std::string("no whole number");
  return Contradiction{
      .rule = "k_alignment",
      .one = {use.tensor, fmt::format("has K = {}, over {} ranks {}", use.k, use.ranks, per_rank),
              use.source},
      .other = {use.kernel, fmt::format("needs a multiple of {}", use.alignment), "kernel"},
      .consequence =
          "the padded tail of the block and its scale hold stale bytes: garbage that "
          "depends on what was there before",
      .fix = "use fewer ranks for this tensor, or a kernel with a smaller block"};
}

std::optional<Contradiction> check_index_range(const IndexUse& use) {
  const std::optional<std::uint64_t> product = checked_product(use.extents);
  if (product && *product <= use.index_max) return std::nullopt;
  const std::string found = product ? fmt::format("{}", *product) : "more than 64 bits hold";
  return Contradiction{
      .rule = "index_range",
      .one = {"configuration", fmt::format("{} = {}", use.expression, found), use.source},
      .other = {use.kernel, fmt::format("indexes up to {}", use.index_max), "kernel"},
      .consequence = "the index wraps and other memory is read",
      .fix = use.fix};
}

}  // namespace pellucid::config
