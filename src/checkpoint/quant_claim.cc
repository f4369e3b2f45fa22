#include "checkpoint/quant_claim.h"

#include <algorithm>
#include <array>

#include "base/utf8.h"
#include "checkpoint/key_reader.h"

namespace pellucid::checkpoint {
namespace {

struct NamedFormats {
  std::string_view name;
  std::vector<Format> formats;
};

const std::vector<NamedFormats>& modelopt_algorithms() {
  static const std::vector<NamedFormats> rows = {
      {"NVFP4", {Format::kNvfp4ModelOpt}},
      {"W4A16_NVFP4", {Format::kNvfp4ModelOpt}},
      {"FP8", {Format::kFp8Tensor}},
      {"MIXED_PRECISION", {Format::kNvfp4ModelOpt, Format::kFp8Tensor}},
  };
  return rows;
}

const std::vector<NamedFormats>& compressed_tensors_formats() {
  static const std::vector<NamedFormats> rows = {
      {"nvfp4-pack-quantized", {Format::kNvfp4Packed}},
      {"pack-quantized", {Format::kInt4}},
      {"mxfp4-pack-quantized", {Format::kMxfp4}},
      {"float-quantized", {Format::kFp8Tensor}},
      {"mixed-precision",
       {Format::kNvfp4Packed, Format::kInt4, Format::kMxfp4, Format::kFp8Tensor}},
  };
  return rows;
}

Expected<std::vector<Format>> look_up(const KeyReader& keys, std::string_view key,
                                      const std::string& name,
                                      const std::vector<NamedFormats>& rows) {
  std::string known;
  for (const NamedFormats& row : rows) {
    if (row.name == name) return row.formats;
    known += (known.empty() ? "" : ", ") + std::string(row.name);
  }
  return keys.refuse(key, "\"" + utf8::escape_for_display(name) + "\"", "one of " + known,
                     ErrorKind::kUnsupported);
}

/// Which modules are quantised, who made them, how activations were to be treated: the tensors say
/// the first, nothing here uses the rest.
void take_unused(KeyReader& keys) {
  for (const std::string_view key :
       {"ignore", "modules_to_not_convert", "exclude_modules", "quantized_layers", "targets",
        "producer", "activation_scheme", "quantization_status", "global_compression_ratio",
        "sparsity_config", "transform_config", "version", "format", "group_size"}) {
    keys.take(key);
  }
}

/// Bits and group size of the weights in config_groups; the only numbers there that change how
/// codes are read.
Expected<void> read_group(KeyReader& groups, std::string_view name, const std::string& prefix,
                          std::string_view source, QuantClaim& claim) {
  PELLUCID_TRY(const json::Object* group, groups.optional_object(name));
  if (group == nullptr) return {};
  const std::string path = prefix + std::string(name) + ".";
  KeyReader group_keys(*group, path, source);
  PELLUCID_TRY(const json::Object* weights, group_keys.optional_object("weights"));
  if (weights == nullptr) return {};
  KeyReader keys(*weights, path + "weights.", source);
  PELLUCID_TRY(const auto bits, keys.optional_integer("num_bits", {.min = 1, .max = 32}));
  PELLUCID_TRY(const auto type, keys.optional_string("type"));
  PELLUCID_TRY(const auto group_size,
               keys.optional_integer("group_size", {.min = -1, .max = 1 << 20}));
  PELLUCID_TRY(const auto symmetric, keys.optional_boolean("symmetric"));
  if (type && *type == "int" && bits && *bits != 4) {
    return keys.refuse("num_bits", std::to_string(*bits), "4 for integer weights",
                       ErrorKind::kUnsupported);
  }
  if (symmetric && !*symmetric) {
    return keys.refuse("symmetric", "false", "true: zero points are not supported",
                       ErrorKind::kUnsupported);
  }
  if (type && *type == "int" && group_size) claim.int4_group_size = group_size;
  return {};
}

Expected<void> read_groups(KeyReader& keys, const std::string& prefix, std::string_view source,
                           QuantClaim& claim) {
  PELLUCID_TRY(const json::Object* groups, keys.optional_object("config_groups"));
  if (groups == nullptr) return {};
  const std::string path = prefix + "config_groups.";
  KeyReader group_keys(*groups, path, source);
  for (const auto& [name, value] : *groups) {
    PELLUCID_TRY_VOID(read_group(group_keys, name, path, source, claim));
  }
  return {};
}

Expected<void> read_kv_scheme(KeyReader& keys, const std::string& prefix, std::string_view source,
                              QuantClaim& claim) {
  PELLUCID_TRY(const json::Object* scheme, keys.optional_object("kv_cache_scheme"));
  if (scheme == nullptr) return {};
  KeyReader scheme_keys(*scheme, prefix + "kv_cache_scheme.", source);
  PELLUCID_TRY(const auto bits, scheme_keys.integer("num_bits", {.min = 1, .max = 32}));
  PELLUCID_TRY(const auto type, scheme_keys.optional_string("type"));
  claim.kv_cache = utf8::escape_for_display(type.value_or("number")) + " " + std::to_string(bits);
  return {};
}

Expected<void> read_fp8(KeyReader& keys, QuantClaim& claim) {
  claim.formats = {Format::kFp8Block, Format::kFp8BlockUe8m0};
  PELLUCID_TRY(const auto fmt, keys.optional_string("fmt"));
  if (fmt && *fmt != "e4m3") {
    return keys.refuse("fmt", "\"" + *fmt + "\"", "\"e4m3\"", ErrorKind::kUnsupported);
  }
  PELLUCID_TRY(const auto scale_fmt, keys.optional_string("scale_fmt"));
  if (scale_fmt && *scale_fmt != "ue8m0") {
    return keys.refuse("scale_fmt", "\"" + *scale_fmt + "\"", "\"ue8m0\"", ErrorKind::kUnsupported);
  }
  claim.power_of_two_scales = scale_fmt.has_value();
  const json::Value* block = keys.take("weight_block_size");
  if (block == nullptr) {
    claim.formats = {Format::kFp8Tensor};
    claim.text += " per tensor";
    return {};
  }
  if (*block != json::Value(json::Array{json::Value(128), json::Value(128)})) {
    return keys.refuse("weight_block_size", json::dump(*block).substr(0, 80), "[128, 128]",
                       ErrorKind::kUnsupported);
  }
  claim.text += " 128x128";
  return {};
}

Expected<void> read_modelopt(KeyReader& keys, QuantClaim& claim) {
  PELLUCID_TRY(const auto algorithm, keys.optional_string("quant_algo"));
  if (!algorithm) {
    return keys.refuse("quant_algo", "nothing", "the algorithm", ErrorKind::kNotFound);
  }
  claim.text += " " + utf8::escape_for_display(*algorithm);
  PELLUCID_TRY(claim.formats, look_up(keys, "quant_algo", *algorithm, modelopt_algorithms()));
  return {};
}

Expected<void> read_by_method(KeyReader& keys, const std::string& method, QuantClaim& claim) {
  if (method == "fp8") return read_fp8(keys, claim);
  if (method == "modelopt" || method == "modelopt_fp4") return read_modelopt(keys, claim);
  if (method == "compressed-tensors") {
    PELLUCID_TRY(const auto format, keys.optional_string("format"));
    claim.text += " " + utf8::escape_for_display(format.value_or("without format"));
    PELLUCID_TRY(claim.formats,
                 look_up(keys, "format", format.value_or(""), compressed_tensors_formats()));
    return {};
  }
  return keys.refuse("quant_method", "\"" + utf8::escape_for_display(method) + "\"",
                     "fp8, modelopt or compressed-tensors", ErrorKind::kUnsupported);
}

}  // namespace

bool QuantClaim::allows(Format format) const {
  return std::find(formats.begin(), formats.end(), format) != formats.end();
}

Expected<QuantClaim> read_quantization_config(const json::Object& object, std::string prefix,
                                              std::string_view source) {
  KeyReader keys(object, prefix, source);
  QuantClaim claim;
  claim.source = std::string(source) + " quantization_config";
  PELLUCID_TRY(auto method, keys.optional_string("quant_method"));
  if (!method) {
    // Some ModelOpt files leave the method out; the algorithm then names the tool.
    PELLUCID_TRY(const auto algorithm, keys.optional_string("quant_algo"));
    if (!algorithm) {
      return keys.refuse("quant_method", "nothing", "the method", ErrorKind::kNotFound);
    }
    method = "modelopt";
  }
  claim.text = utf8::escape_for_display(*method);
  PELLUCID_TRY_VOID(read_by_method(keys, *method, claim));
  PELLUCID_TRY_VOID(read_groups(keys, prefix, source, claim));
  PELLUCID_TRY_VOID(read_kv_scheme(keys, prefix, source, claim));
  PELLUCID_TRY(const auto kv_algorithm, keys.optional_string("kv_cache_quant_algo"));
  if (kv_algorithm) claim.kv_cache = utf8::escape_for_display(*kv_algorithm);
  take_unused(keys);
  claim.unread_keys = keys.unread();
  return claim;
}

Expected<QuantClaim> read_hf_quant_config(const json::Value& value, std::string_view source) {
  const json::Value* inner = value.is_object() ? value.find("quantization") : nullptr;
  if (inner == nullptr || !inner->is_object()) {
    return fail({.rule = "config.quantization",
                 .object = "quantization",
                 .found = "nothing",
                 .expected = "an object",
                 .source = std::string(source)});
  }
  KeyReader keys(inner->object(), "quantization.", source);
  QuantClaim claim;
  claim.source = std::string(source);
  claim.text = "modelopt";
  PELLUCID_TRY_VOID(read_modelopt(keys, claim));
  PELLUCID_TRY(const auto kv, keys.optional_string("kv_cache_quant_algo"));
  if (kv) claim.kv_cache = utf8::escape_for_display(*kv);
  PELLUCID_TRY(const auto group, keys.optional_integer("group_size", {.min = 1, .max = 1 << 20}));
  if (group && *group != 16 && claim.allows(Format::kNvfp4ModelOpt)) {
    return keys.refuse("group_size", std::to_string(*group), "16", ErrorKind::kUnsupported);
  }
  take_unused(keys);
  claim.unread_keys = keys.unread();
  return claim;
}

}  // namespace pellucid::checkpoint
