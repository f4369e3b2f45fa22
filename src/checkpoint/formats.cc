#include "checkpoint/formats.h"

#include <array>
#include <bit>
#include <cstring>
#include <optional>
#include <vector>

#include "base/check.h"
#include "base/utf8.h"
#include "checkpoint/safetensors.h"
#include "numerics/numbers.h"

namespace pellucid::checkpoint {
namespace {

using tensor::DType;
using tensor::Element;
using tensor::Scale;

constexpr std::uint32_t bit(Part part) {
  return 1U << static_cast<unsigned>(part);
}

/// One way in which the tensors of a module make a matrix.
struct Form {
  Format format;
  std::uint32_t required;  ///< parts, as bits
  std::uint32_t optional;
  Part codes;
  DType codes_dtype;
  std::int64_t codes_per_word;  ///< columns in one element of the codes tensor
  std::optional<Part> scales;   ///< the block scales; none: one number for all, or nothing
  DType scales_dtype;
  std::optional<Part> global;
  Element element;
  Scale scale;
  std::int64_t block_rows;
  std::int64_t block_cols;  ///< 0: follows from the shape of the scales
};

constexpr std::uint32_t kW = bit(Part::kWeight);
constexpr std::uint32_t kPacked = bit(Part::kWeightPacked);
constexpr std::uint32_t kScale = bit(Part::kWeightScale);
constexpr std::uint32_t kScaleInv = bit(Part::kWeightScaleInv);
constexpr std::uint32_t kScale2 = bit(Part::kWeightScale2);
constexpr std::uint32_t kGlobal = bit(Part::kWeightGlobalScale);
constexpr std::uint32_t kShape = bit(Part::kWeightShape);
constexpr std::uint32_t kInput = bit(Part::kInputScale);
constexpr std::uint32_t kInputGlobal = bit(Part::kInputGlobalScale);

constexpr auto kNoPart = std::optional<Part>();

constexpr std::array kForms = {
    Form{Format::kBf16, kW, 0, Part::kWeight, DType::kBf16, 1, kNoPart, DType::kF32, kNoPart,
         Element::kBf16, Scale::kNone, 1, 1},
    Form{Format::kF16, kW, 0, Part::kWeight, DType::kF16, 1, kNoPart, DType::kF32, kNoPart,
         Element::kF16, Scale::kNone, 1, 1},
    Form{Format::kF32, kW, 0, Part::kWeight, DType::kF32, 1, kNoPart, DType::kF32, kNoPart,
         Element::kF32, Scale::kNone, 1, 1},
    Form{Format::kFp8Block, kW | kScaleInv, kInput, Part::kWeight, DType::kF8E4M3, 1,
         Part::kWeightScaleInv, DType::kF32, kNoPart, Element::kE4M3, Scale::kF32, 128, 128},
    Form{Format::kFp8BlockUe8m0, kW | kScaleInv, kInput, Part::kWeight, DType::kF8E4M3, 1,
         Part::kWeightScaleInv, DType::kF8E8M0, kNoPart, Element::kE4M3, Scale::kUe8m0, 128, 128},
    Form{Format::kFp8BlockUe8m0, kW | kScaleInv, kInput, Part::kWeight, DType::kF8E4M3, 1,
         Part::kWeightScaleInv, DType::kU8, kNoPart, Element::kE4M3, Scale::kUe8m0, 128, 128},
    Form{Format::kFp8Tensor, kW | kScale, kInput, Part::kWeight, DType::kF8E4M3, 1, kNoPart,
         DType::kF32, Part::kWeightScale, Element::kE4M3, Scale::kNone, 1, 1},
    Form{Format::kNvfp4ModelOpt, kW | kScale | kScale2, kInput, Part::kWeight, DType::kU8, 2,
         Part::kWeightScale, DType::kF8E4M3, Part::kWeightScale2, Element::kE2M1, Scale::kE4M3, 1,
         16},
    Form{Format::kNvfp4Packed, kPacked | kScale | kGlobal, kInputGlobal, Part::kWeightPacked,
         DType::kU8, 2, Part::kWeightScale, DType::kF8E4M3, Part::kWeightGlobalScale,
         Element::kE2M1, Scale::kE4M3, 1, 16},
    Form{Format::kInt4, kPacked | kScale | kShape, 0, Part::kWeightPacked, DType::kI32, 8,
         Part::kWeightScale, DType::kBf16, kNoPart, Element::kInt4, Scale::kBf16, 1, 0},
    Form{Format::kMxfp4, kPacked | kScale, 0, Part::kWeightPacked, DType::kU8, 2,
         Part::kWeightScale, DType::kU8, kNoPart, Element::kE2M1, Scale::kUe8m0, 1, 32},
    Form{Format::kMxfp4, kPacked | kScale, 0, Part::kWeightPacked, DType::kU8, 2,
         Part::kWeightScale, DType::kF8E8M0, kNoPart, Element::kE2M1, Scale::kUe8m0, 1, 32},
};

constexpr std::array<std::string_view, kFormatCount> kFormatNames = {
    "bf16",           "f16",          "f32",  "fp8_block", "fp8_block_ue8m0", "fp8_tensor",
    "nvfp4_modelopt", "nvfp4_packed", "int4", "mxfp4"};

/// Where errors about one module point.
struct Site {
  const Shards& shards;
  const Module& module;
  std::string_view name;

  [[nodiscard]] std::string tensor(Part part) const {
    return "tensor " + utf8::escape_for_display(name) + "." + std::string(part_name(part));
  }
  [[nodiscard]] std::string file(Part part) const {
    const TensorInfo* tensor = module.part(part);
    return tensor == nullptr ? std::string() : shards.files[tensor->shard].name();
  }
  [[nodiscard]] std::unexpected<Error> refuse(Part part, std::string rule, std::string found,
                                              std::string expected) const {
    return fail({.rule = std::move(rule),
                 .object = tensor(part),
                 .found = std::move(found),
                 .expected = std::move(expected),
                 .source = file(part)});
  }
};

Shape shape_of(std::int64_t rows, std::int64_t cols) {
  return {static_cast<std::uint64_t>(rows), static_cast<std::uint64_t>(cols)};
}

bool is_scalar(const TensorInfo& tensor) {
  return tensor.shape.empty() || (tensor.shape.size() == 1 && tensor.shape[0] == 1);
}

bool matches(const Form& form, const Module& module, std::uint32_t mask) {
  if ((mask & form.required) != form.required) return false;
  if ((mask & ~(form.required | form.optional)) != 0) return false;
  if (module.part(form.codes)->dtype != form.codes_dtype) return false;
  return !form.scales || module.part(*form.scales)->dtype == form.scales_dtype;
}

std::string parts_text(std::uint32_t mask) {
  std::string out;
  for (std::size_t i = 0; i < kPartCount; ++i) {
    if ((mask & (1U << i)) == 0) continue;
    if (!out.empty()) out += " + ";
    out += part_name(static_cast<Part>(i));
  }
  return out;
}

std::unexpected<Error> no_form(const Site& site, std::uint32_t mask) {
  std::string found;
  for (const TensorInfo* tensor : site.module.parts) {
    if (tensor == nullptr) continue;
    if (!found.empty()) found += ", ";
    found += std::string(tensor->name.substr(tensor->name.rfind('.') + 1)) + " " +
             std::string(tensor::name(tensor->dtype)) + " " + shape_text(tensor->shape);
  }
  const Part codes = (mask & kPacked) != 0 ? Part::kWeightPacked : Part::kWeight;
  const TensorInfo* weight = site.module.part(codes);
  std::string expected;
  for (const Form& form : kForms) {
    if (weight == nullptr || form.codes != codes || form.codes_dtype != weight->dtype) continue;
    const std::string option =
        parts_text(form.required) + " (" + std::string(format_name(form.format)) + ")";
    if (expected.find(option) != std::string::npos) continue;
    expected += (expected.empty() ? "" : ", or ") + option;
  }
  if (expected.empty()) expected = "a weight in BF16, F16, F32, F8_E4M3, U8 or I32";
  return site.refuse(weight == nullptr ? Part::kWeight : codes, "format", std::move(found),
                     std::move(expected));
}

Expected<void> check_codes(const Site& site, const Form& form, std::int64_t rows,
                           std::int64_t cols) {
  const TensorInfo& codes = *site.module.part(form.codes);
  const std::int64_t multiple =
      std::max(form.codes_per_word, form.block_cols == 128 ? std::int64_t{1} : form.block_cols);
  if (cols % multiple != 0) {
    return site.refuse(form.codes, "tensor_shape", std::to_string(cols) + " columns",
                       "a multiple of " + std::to_string(multiple) + " in format " +
                           std::string(format_name(form.format)));
  }
  const auto want = shape_of(rows, cols / form.codes_per_word);
  if (codes.shape == want) return {};
  return site.refuse(form.codes, "tensor_shape", shape_text(codes.shape),
                     shape_text(want) + " by the config, for " + std::to_string(rows) + " x " +
                         std::to_string(cols) + " in format " +
                         std::string(format_name(form.format)));
}

/// Columns that share a scale: the form's, or (int4) the quotient of the two shapes.
Expected<std::int64_t> block_cols(const Site& site, const Form& form, std::int64_t cols) {
  if (form.block_cols != 0 || !form.scales) return form.block_cols;
  const TensorInfo& scales = *site.module.part(*form.scales);
  const std::uint64_t groups = scales.shape.size() == 2 ? scales.shape[1] : 0;
  const auto columns = static_cast<std::uint64_t>(cols);
  const std::uint64_t group = groups != 0 && columns % groups == 0 ? columns / groups : 0;
  if (std::has_single_bit(group) && group >= 16 && group <= 256) {
    return static_cast<std::int64_t>(group);
  }
  return site.refuse(
      *form.scales, "scale_shape", shape_text(scales.shape),
      "groups of 16, 32, 64, 128 or 256 of the " + std::to_string(cols) + " columns");
}

Expected<void> check_scales(const Site& site, const Form& form, const tensor::WeightView& view) {
  if (!form.scales) return {};
  const TensorInfo& scales = *site.module.part(*form.scales);
  const std::int64_t scale_rows = (view.rows + view.block_rows - 1) / view.block_rows;
  const auto want = shape_of(scale_rows, view.scale_cols());
  if (scales.shape == want) return {};
  return site.refuse(*form.scales, "scale_shape", shape_text(scales.shape),
                     shape_text(want) + ": one scale for each " + std::to_string(view.block_rows) +
                         " x " + std::to_string(view.block_cols) + " of " +
                         std::to_string(view.rows) + " x " + std::to_string(view.cols));
}

/// A scalar must be one f32; its value is check_scalars' business.
Expected<void> check_scalar_kind(const Site& site, Part part) {
  const TensorInfo* tensor = site.module.part(part);
  if (tensor == nullptr) return {};
  if (tensor->dtype != DType::kF32) {
    return site.refuse(part, "dtype", std::string(tensor::name(tensor->dtype)), "F32");
  }
  if (!is_scalar(*tensor)) {
    return site.refuse(part, "scale_shape", shape_text(tensor->shape), "one number: [] or [1]");
  }
  return {};
}

/// int4: the shape before packing, written by the producer, must be that of the config.
Expected<void> check_weight_shape(const Site& site, std::int64_t rows, std::int64_t cols) {
  const TensorInfo* tensor = site.module.part(Part::kWeightShape);
  if (tensor == nullptr) return {};
  if (tensor->shape != Shape{2}) {
    return site.refuse(Part::kWeightShape, "weight_shape", shape_text(tensor->shape), "[2]");
  }
  std::array<std::int64_t, 2> stored{};
  if (tensor->dtype == DType::kI64) {
    std::memcpy(stored.data(), tensor->bytes.data(), sizeof(stored));
  } else if (tensor->dtype == DType::kI32) {
    std::array<std::int32_t, 2> narrow{};
    std::memcpy(narrow.data(), tensor->bytes.data(), sizeof(narrow));
    stored = {narrow[0], narrow[1]};
  } else {
    return site.refuse(Part::kWeightShape, "dtype", std::string(tensor::name(tensor->dtype)),
                       "I64 or I32");
  }
  if (stored[0] == rows && stored[1] == cols) return {};
  return site.refuse(Part::kWeightShape, "weight_shape",
                     "[" + std::to_string(stored[0]) + ", " + std::to_string(stored[1]) + "]",
                     shape_text(shape_of(rows, cols)) + " by the config");
}

float read_f32(const TensorInfo& tensor) {
  float value = 0;
  std::memcpy(&value, tensor.bytes.data(), sizeof(value));
  return value;
}

std::string float_text(float value) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.9g", static_cast<double>(value));
  return text;
}

void check_scalar_value(const Shards& shards, const TensorInfo& tensor, ProblemLog& log) {
  const float value = read_f32(tensor);
  const bool is_normal = numerics::is_finite(value) && value >= 0x1p-126F;
  if (is_normal) return;
  log.add({.tensor = std::string(tensor.name),
           .error = {.kind = ErrorKind::kNumeric,
                     .rule = "scale_value",
                     .object = "tensor " + utf8::escape_for_display(tensor.name),
                     .found = float_text(value),
                     .expected = "a positive, finite, normal number",
                     .source = shards.files[tensor.shard].name(),
                     .fix = "quantise the model again, or download this file again"}});
}

/// ModelOpt multiplies by a number far below 1 (amax / 2688), compressed-tensors divides by one far
/// above (2688 / amax): a value on the other side is the other tool's number under this tool's
/// name.
void check_side(const Shards& shards, const TensorInfo& tensor, bool divides, ProblemLog& log) {
  const float value = read_f32(tensor);
  if (!numerics::is_finite(value) || value <= 0) return;  // reported already
  if (divides ? value > 1.0F : value < 1.0F) return;
  log.add({.tensor = std::string(tensor.name),
           .error = {.rule = "scale_reciprocal",
                     .object = "tensor " + utf8::escape_for_display(tensor.name),
                     .found = float_text(value),
                     .expected = divides ? "above 1 (2688 / amax)" : "below 1 (amax / 2688)",
                     .source = shards.files[tensor.shard].name(),
                     .fix = "the value looks like the reciprocal of what the format stores"}});
}

}  // namespace

std::string_view format_name(Format format) {
  return kFormatNames[static_cast<std::size_t>(format)];
}

bool is_quantized(Format format) {
  return format != Format::kBf16 && format != Format::kF16 && format != Format::kF32;
}

Expected<ResolvedWeight> resolve_weight(const Shards& shards, const Module& module,
                                        std::string_view name, std::int64_t rows,
                                        std::int64_t cols) {
  const Site site{shards, module, name};
  const std::uint32_t mask = module.mask();
  for (const Form& form : kForms) {
    if (!matches(form, module, mask)) continue;
    PELLUCID_TRY_VOID(check_codes(site, form, rows, cols));
    ResolvedWeight out{.format = form.format, .view = {}};
    out.view.element = form.element;
    out.view.scale = form.scale;
    out.view.rows = rows;
    out.view.cols = cols;
    out.view.block_rows = form.block_rows;
    PELLUCID_TRY(out.view.block_cols, block_cols(site, form, cols));
    PELLUCID_TRY_VOID(check_scales(site, form, out.view));
    PELLUCID_TRY_VOID(check_weight_shape(site, rows, cols));
    PELLUCID_TRY_VOID(check_scalar_kind(site, Part::kInputScale));
    PELLUCID_TRY_VOID(check_scalar_kind(site, Part::kInputGlobalScale));
    out.view.codes = module.part(form.codes)->bytes.data();
    if (form.scales) out.view.scales = module.part(*form.scales)->bytes.data();
    if (form.global) {
      PELLUCID_TRY_VOID(check_scalar_kind(site, *form.global));
      out.view.global_scale = read_f32(*module.part(*form.global));
      out.view.global_divides = *form.global == Part::kWeightGlobalScale;
    }
    return out;
  }
  return no_form(site, mask);
}

void check_scalars(const Shards& shards, const Module& module, Format format, ProblemLog& log) {
  const bool per_tensor = format == Format::kFp8Tensor;
  const TensorInfo* global = module.part(Part::kWeightScale2);
  if (per_tensor) global = module.part(Part::kWeightScale);
  if (format == Format::kNvfp4Packed) global = module.part(Part::kWeightGlobalScale);
  for (const TensorInfo* scalar :
       {global, module.part(Part::kInputScale), module.part(Part::kInputGlobalScale)}) {
    if (scalar != nullptr) check_scalar_value(shards, *scalar, log);
  }
  if (format == Format::kNvfp4ModelOpt || format == Format::kNvfp4Packed) {
    check_side(shards, *global, format == Format::kNvfp4Packed, log);
  }
}

}  // namespace pellucid::checkpoint
