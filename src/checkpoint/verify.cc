#include "checkpoint/verify.h"

#include <algorithm>

#include "base/utf8.h"
#include "checkpoint/safetensors.h"

namespace pellucid::checkpoint {
namespace {

using tensor::DType;

std::string layer_prefix(const ModelConfig& config, std::int64_t layer) {
  return config.tensor_prefix + "model.layers." + std::to_string(layer) + ".";
}

class Verifier {
 public:
  explicit Verifier(Loaded& loaded)
      : loaded_(loaded), config_(*loaded.config), consumed_(loaded.shards.tensors.size()) {}

  void run() {
    find_facts();
    check_schedule();
    check_fused_experts();
    loaded_.expected = expected_tensors(config_, loaded_.facts);
    loaded_.weights.reserve(loaded_.expected.size());
    for (std::uint32_t i = 0; i < loaded_.expected.size(); ++i) {
      const ExpectedTensor& expected = loaded_.expected[i];
      if (expected.is_linear) {
        check_linear(i, expected);
      } else {
        check_vector(expected);
      }
    }
    report_unconsumed();
  }

 private:
  void log(const ExpectedTensor& expected, Error error, std::string tensor) {
    const bool is_mtp = expected.layer >= config_.num_hidden_layers;
    loaded_.log.add({.severity = is_mtp ? Severity::kWarning : Severity::kError,
                     .tensor = std::move(tensor),
                     .error = std::move(error)});
  }

  /// MTP layers and indexers are what the files hold; a schedule that says otherwise is reported
  /// once instead of once for each tensor.
  void find_facts() {
    LayerFacts& facts = loaded_.facts;
    for (const TensorInfo& tensor : loaded_.shards.tensors) {
      const std::int64_t behind = layer_of(tensor.name) - config_.num_hidden_layers;
      if (behind < 0 || behind >= config_.num_nextn_predict_layers) continue;
      facts.mtp_layers = std::max(facts.mtp_layers, behind + 1);
    }
    for (std::int64_t i = 0; i < config_.num_hidden_layers; ++i) {
      const std::string wk = layer_prefix(config_, i) + "self_attn.indexer.wk";
      const bool there = config_.has_indexer() && loaded_.shards.table.find_module(wk) != nullptr;
      // Absence proves nothing when a shard is missing: then the schedule counts.
      const bool scheduled = config_.layer_has_indexer[static_cast<std::size_t>(i)];
      facts.has_indexer.push_back(there || (loaded_.shards.incomplete && scheduled));
    }
    const auto layers = static_cast<std::size_t>(config_.num_hidden_layers + facts.mtp_layers);
    facts.has_indexer.resize(layers, config_.has_indexer());
  }

  void check_schedule() {
    for (std::size_t i = 0; i < config_.layer_has_indexer.size(); ++i) {
      const bool scheduled = config_.layer_has_indexer[i];
      if (scheduled == loaded_.facts.has_indexer[i]) continue;
      schedule_differs_ = true;
      const std::string tensor =
          layer_prefix(config_, static_cast<std::int64_t>(i)) + "self_attn.indexer.wk.weight";
      loaded_.log.add(
          {.tensor = tensor,
           .place = "layer " + std::to_string(i),
           .error = {.rule = "indexer_schedule",
                     .object = "layer " + std::to_string(i) + " indexer",
                     .found = scheduled ? "no tensor " + tensor : "tensor " + tensor,
                     .expected = scheduled ? "an indexer: the config says full"
                                           : "none: the config says shared",
                     .source = "config.json",
                     .fix = "compare indexer_types, index_topk_freq and index_skip_topk_offset "
                            "with the tensors"}});
    }
  }

  void check_fused_experts() {
    for (const TensorInfo& tensor : loaded_.shards.tensors) {
      const bool fused =
          tensor.shape.size() == 3 && (tensor.name.ends_with(".mlp.experts.gate_up_proj") ||
                                       tensor.name.ends_with(".mlp.experts.down_proj"));
      if (!fused) continue;
      fused_experts_ = true;
      consumed_[index_of(tensor)] = true;
      loaded_.log.add({.tensor = std::string(tensor.name),
                       .error = {.kind = ErrorKind::kUnsupported,
                                 .rule = "fused_experts",
                                 .object = "tensor " + utf8::escape_for_display(tensor.name),
                                 .found = "all experts in one tensor " + shape_text(tensor.shape),
                                 .expected = "one matrix for each expert, as released",
                                 .source = file_of(tensor),
                                 .fix = "save the model with its original tensor names"}});
    }
  }

  void check_linear(std::uint32_t index, const ExpectedTensor& expected) {
    const Module* module = loaded_.shards.table.find_module(expected.name);
    if (module == nullptr) {
      report_missing(expected, expected.name + ".weight");
      return;
    }
    for (const TensorInfo* part : module->parts) {
      if (part != nullptr) consumed_[index_of(*part)] = true;
    }
    const auto resolved =
        resolve_weight(loaded_.shards, *module, expected.name, expected.rows, expected.cols);
    if (!resolved) {
      std::string tensor = resolved.error().object;
      if (tensor.starts_with("tensor ")) tensor.erase(0, 7);
      log(expected, resolved.error(), std::move(tensor));
      return;
    }
    check_scalars(loaded_.shards, *module, resolved->format, loaded_.log);
    loaded_.weights.push_back({.expected = index, .format = resolved->format, .module = module});
  }

  void check_vector(const ExpectedTensor& expected) {
    const TensorInfo* tensor = loaded_.shards.find(expected.name);
    if (tensor == nullptr) {
      report_missing(expected, expected.name);
      return;
    }
    consumed_[index_of(*tensor)] = true;
    const std::string object = "tensor " + utf8::escape_for_display(tensor->name);
    if (tensor->shape != Shape{static_cast<std::uint64_t>(expected.rows)}) {
      log(expected,
          {.rule = "tensor_shape",
           .object = object,
           .found = shape_text(tensor->shape),
           .expected = "[" + std::to_string(expected.rows) + "] by the config",
           .source = file_of(*tensor)},
          std::string(tensor->name));
      return;
    }
    if (tensor->dtype == DType::kBf16 || tensor->dtype == DType::kF32 ||
        tensor->dtype == DType::kF16) {
      return;
    }
    log(expected,
        {.rule = "dtype",
         .object = object,
         .found = std::string(tensor::name(tensor->dtype)),
         .expected = "BF16, F32 or F16",
         .source = file_of(*tensor)},
        std::string(tensor->name));
  }

  void report_missing(const ExpectedTensor& expected, const std::string& tensor) {
    if (expected.is_optional || loaded_.shards.incomplete) return;
    if (expected.is_routed && fused_experts_) return;
    log(expected,
        {.kind = ErrorKind::kNotFound,
         .rule = "tensor_missing",
         .object = "tensor " + utf8::escape_for_display(tensor),
         .found = "nothing",
         .expected = shape_text({{static_cast<std::uint64_t>(expected.rows),
                                  static_cast<std::uint64_t>(expected.cols)}}) +
                     " by the config",
         .source = utf8::escape_for_display(loaded_.directory.path().string())},
        tensor);
  }

  /// The layer in the name of a tensor of the model; -1 when there is none.
  [[nodiscard]] std::int64_t layer_of(std::string_view name) const {
    if (!name.starts_with(layers_prefix_)) return -1;
    name.remove_prefix(layers_prefix_.size());
    std::int64_t layer = 0;
    std::size_t digits = 0;
    while (digits < name.size() && digits < 6 && name[digits] >= '0' && name[digits] <= '9') {
      layer = layer * 10 + (name[digits] - '0');
      ++digits;
    }
    return digits == 0 ? -1 : layer;
  }

  /// A layer that the config does not declare, directly behind the last: left over from training.
  [[nodiscard]] bool is_mtp_tensor(std::string_view name) const {
    const std::int64_t declared = std::max<std::int64_t>(config_.num_nextn_predict_layers, 1);
    const std::int64_t behind = layer_of(name) - config_.num_hidden_layers;
    return behind >= 0 && behind < declared;
  }

  [[nodiscard]] static bool is_indexer_tensor(std::string_view name) {
    return name.find(".self_attn.indexer.") != std::string_view::npos;
  }

  void report_unconsumed() {
    const auto& tensors = loaded_.shards.tensors;
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      if (consumed_[i] || is_ignorable(tensors[i].name)) continue;
      if (schedule_differs_ && is_indexer_tensor(tensors[i].name)) continue;
      const bool mtp = is_mtp_tensor(tensors[i].name);
      loaded_.log.add({.severity = mtp ? Severity::kWarning : Severity::kError,
                       .tensor = std::string(tensors[i].name),
                       .error = {.rule = mtp ? "mtp_tensor" : "unconsumed_tensor",
                                 .object = "tensor " + utf8::escape_for_display(tensors[i].name),
                                 .found = "a tensor that a " + config_.model_type +
                                          " of this config does not have",
                                 .expected = "none",
                                 .source = file_of(tensors[i])}});
    }
  }

  [[nodiscard]] std::size_t index_of(const TensorInfo& tensor) const {
    return static_cast<std::size_t>(&tensor - loaded_.shards.tensors.data());
  }
  [[nodiscard]] const std::string& file_of(const TensorInfo& tensor) const {
    return loaded_.shards.files[tensor.shard].name();
  }

  Loaded& loaded_;
  const ModelConfig& config_;
  std::vector<bool> consumed_;
  std::string layers_prefix_ = config_.tensor_prefix + "model.layers.";
  bool fused_experts_ = false;
  bool schedule_differs_ = false;
};

Problem claim_problem(Severity severity, const QuantClaim& claim, std::string tensor,
                      std::string found) {
  return {.severity = severity,
          .tensor = tensor,
          .error = {.rule = "format_claim",
                    .object = tensor.empty() ? "quantisation" : "tensor " + std::move(tensor),
                    .found = std::move(found),
                    .expected = claim.text + ", as the config claims",
                    .source = claim.source,
                    .fix = "the tensors decide; correct the config"}};
}

std::string weight_tensor(const Loaded& loaded, const CheckedWeight& weight) {
  const Module& module = *weight.module;
  const TensorInfo* codes = module.part(Part::kWeight);
  if (codes == nullptr) codes = module.part(Part::kWeightPacked);
  return codes == nullptr ? loaded.expected[weight.expected].name : std::string(codes->name);
}

/// Each claim against the formats that were found, each difference once, with the first tensor.
void check_claim(Loaded& loaded, const QuantClaim& claim) {
  std::array<const CheckedWeight*, kFormatCount> first{};
  for (const CheckedWeight& weight : loaded.weights) {
    auto& slot = first[static_cast<std::size_t>(weight.format)];
    if (slot == nullptr) slot = &weight;
  }
  bool any_claimed = false;
  for (std::size_t i = 0; i < kFormatCount; ++i) {
    const auto format = static_cast<Format>(i);
    if (first[i] == nullptr || !is_quantized(format)) continue;
    if (claim.allows(format)) {
      any_claimed = true;
      continue;
    }
    loaded.log.add(claim_problem(Severity::kError, claim, weight_tensor(loaded, *first[i]),
                                 std::string(format_name(format))));
  }
  if (!any_claimed && !loaded.shards.incomplete) {
    loaded.log.add(
        claim_problem(Severity::kWarning, claim, "", "no module in a format of that name"));
  }
}

void check_int4_group(Loaded& loaded, const QuantClaim& claim) {
  if (!claim.int4_group_size) return;
  for (const CheckedWeight& weight : loaded.weights) {
    if (weight.format != Format::kInt4) continue;
    const ExpectedTensor& expected = loaded.expected[weight.expected];
    const TensorInfo& scales = *weight.module->part(Part::kWeightScale);
    const auto group = expected.cols / static_cast<std::int64_t>(scales.shape[1]);
    if (group == *claim.int4_group_size) continue;
    Problem problem = claim_problem(Severity::kError, claim, std::string(scales.name),
                                    "groups of " + std::to_string(group) + " columns");
    problem.error.rule = "group_size_claim";
    problem.error.expected = "groups of " + std::to_string(*claim.int4_group_size);
    loaded.log.add(std::move(problem));
  }
}

void check_unclaimed(Loaded& loaded) {
  for (const CheckedWeight& weight : loaded.weights) {
    if (!is_quantized(weight.format)) continue;
    QuantClaim none;
    none.source = "config.json";
    none.text = "no quantisation";
    loaded.log.add(claim_problem(Severity::kWarning, none, weight_tensor(loaded, weight),
                                 std::string(format_name(weight.format))));
    return;
  }
}

}  // namespace

bool is_ignorable(std::string_view name) {
  return name.ends_with("rotary_emb.inv_freq") || name.starts_with("vision_tower.") ||
         name.starts_with("mm_projector.") || name.ends_with(".k_scale") ||
         name.ends_with(".v_scale");
}

void verify(Loaded& loaded) {
  if (!loaded.config || loaded.shards.tensors.empty()) return;
  Verifier(loaded).run();
  for (const QuantClaim& claim : loaded.claims) {
    check_claim(loaded, claim);
    check_int4_group(loaded, claim);
  }
  if (loaded.claims.empty()) check_unclaimed(loaded);
}

}  // namespace pellucid::checkpoint
