#include "config/kernel_plan.h"

#include <fmt/format.h>

#include <algorithm>

#include "config/kernel_catalog.h"
#include "config/text.h"

namespace pellucid::config {
namespace {

/// The operator that multiplies by the weights of a part.
std::string_view op_of_part(std::string_view part) {
  if (part == "routed experts") return "moe";
  return part == "embeddings" ? "embed" : "linear";
}

class KernelPlanner {
 public:
  explicit KernelPlanner(const Resolution& resolution) : resolution_(resolution) {
    const Effective& kernels = resolution.effective("engine.kernels");
    const DeviceFacts& device = resolution.facts().device;
    for (const KernelTable& table : kernel_tables()) {
      const auto missing = missing_for(table, device);
      const bool chosen = format_value(kernels.value) == table.name;
      if (chosen && missing.empty()) {
        table_ = table.name;
        continue;
      }
      rejected_.push_back({std::string(table.name), why_not(missing, kernels)});
    }
    reason_ = table_.empty() ? no_kernel_reason(device)
                             : fmt::format("{} ({})", find_kernel_table(table_)->description,
                                           source_name(kernels.source));
  }

  void add(std::string_view op, std::string_view format, std::string_view used_by) {
    const auto same = std::ranges::find_if(
        choices_, [&](const KernelChoice& c) { return c.op == op && c.format == format; });
    if (same != choices_.end()) {
      same->used_by += fmt::format(", {}", used_by);
      return;
    }
    choices_.push_back({.op = std::string(op),
                        .format = std::string(format),
                        .used_by = std::string(used_by),
                        .table = table_,
                        .reason = reason_,
                        .rejected = rejected_});
  }

  void add_weights() {
    const auto supported = supported_formats();
    for (const WeightGroup& group : resolution_.facts().checkpoint.weights) {
      if (!group.used) continue;
      add(op_of_part(group.part), group.format, group.part);
      if (std::ranges::find(supported, group.format) != supported.end()) continue;
      KernelChoice& choice = choices_.back();
      choice.table.clear();
      choice.reason = fmt::format("no kernel: no table decodes {}", group.format);
    }
  }

  std::vector<KernelChoice> take() { return std::move(choices_); }

 private:
  static std::string why_not(const std::vector<std::string>& missing, const Effective& kernels) {
    if (!missing.empty()) return fmt::format("missing: {}", join(missing, ", "));
    if (is_user(kernels.source)) return fmt::format("{} says otherwise", kernels.origin);
    return "slower";
  }

  static std::string no_kernel_reason(const DeviceFacts& device) {
    if (device.kind == DeviceKind::kCuda) {
      return fmt::format(
          "no kernel: needs a CUDA kernel for compute capability {}.{}; missing: "
          "cuda backend",
          device.capability_major, device.capability_minor);
    }
    return "no kernel: the table asked for does not run on this CPU";
  }

  const Resolution& resolution_;
  std::string table_;
  std::string reason_;
  std::vector<Rejected> rejected_;
  std::vector<KernelChoice> choices_;
};

}  // namespace

std::vector<KernelChoice> plan_kernels(const Resolution& resolution) {
  KernelPlanner planner(resolution);
  planner.add_weights();
  const std::string rows = format_value(resolution.effective("kv.dtype").value) + " rows";
  planner.add("store_rows", rows, "latents and indexer keys, the writer of the cache");
  if (format_value(resolution.effective("attention.form").value) == "expanded") {
    planner.add("load_rows", rows, "attention");
    planner.add("expanded_attention", "", "attention");
  } else {
    planner.add("absorb_query, project_value", "", "attention");
    planner.add("absorbed_attention", rows, "attention");
  }
  if (format_value(resolution.effective("attention.scope").value) == "sparse") {
    planner.add("indexer_scores", rows, "selection");
    planner.add("topk", "", "selection");
  }
  if (resolution.facts().checkpoint.dims.n_routed_experts > 0) planner.add("route", "", "router");
  planner.add("rms_norm, rope, swiglu, add", "", "every layer");
  return planner.take();
}

}  // namespace pellucid::config
