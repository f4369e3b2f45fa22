// The objects of docs/formats/explain-json.md.

#include "config/explain.h"
#include "config/kernel_plan.h"
#include "config/memory_plan.h"

namespace pellucid::config {
namespace {

struct ToJson {
  json::Value operator()(const Auto&) const { return nullptr; }
  json::Value operator()(bool v) const { return v; }
  json::Value operator()(std::int64_t v) const { return v; }
  json::Value operator()(double v) const { return v; }
  json::Value operator()(const Bytes& v) const { return v.count; }
  json::Value operator()(const std::string& v) const { return v; }
  json::Value operator()(const TextList& v) const { return strings(v); }

  template <class Range>
  static json::Value strings(const Range& items) {
    json::Array out;
    for (const auto& item : items) out.emplace_back(std::string(item));
    return out;
  }
};

json::Value rejected_json(std::span<const Rejected> rejected) {
  json::Array out;
  for (const Rejected& item : rejected) {
    out.push_back(json::Object{{"value", item.value}, {"why", item.why}});
  }
  return out;
}

json::Value setting_json(const Effective& effective) {
  json::Array chain;
  for (const Step& step : effective.chain) {
    chain.push_back(json::Object{{"source", source_name(step.kind)},
                                 {"origin", step.origin},
                                 {"value", step.value.empty() ? json::Value() : step.value},
                                 {"reason", step.reason},
                                 {"effective", step.effective}});
  }
  return json::Object{{"key", effective.setting->key},
                      {"value", std::visit(ToJson{}, effective.value)},
                      {"typed", effective.typed.empty() ? json::Value() : effective.typed},
                      {"unit", effective.setting->unit},
                      {"source", source_name(effective.source)},
                      {"origin", effective.origin},
                      {"reason", effective.reason},
                      {"rejected", rejected_json(effective.rejected)},
                      {"chain", std::move(chain)}};
}

json::Value model_json(const CheckpointFacts& c) {
  json::Array indexers;
  for (const bool owns : c.layer_has_indexer) indexers.emplace_back(owns);
  json::Array eos;
  for (const std::int64_t id : c.eos_token_ids) eos.emplace_back(id);
  json::Array weights;
  for (const WeightGroup& group : c.weights) {
    weights.push_back(json::Object{{"part", group.part},
                                   {"format", group.format},
                                   {"matrices", group.matrices},
                                   {"bytes", group.bytes},
                                   {"used", group.used}});
  }
  return json::Object{{"source", c.source},
                      {"family", c.family},
                      {"architecture", c.architecture},
                      {"layers", c.dims.num_hidden_layers},
                      {"layer_has_indexer", std::move(indexers)},
                      {"mtp_layers", c.mtp_layers},
                      {"max_position_embeddings", c.dims.max_position_embeddings},
                      {"rope", json::Object{{"theta", c.rope.theta},
                                            {"type", c.rope.type},
                                            {"factor", c.rope.factor},
                                            {"source", c.rope.source},
                                            {"interleaved", c.rope.main_interleaved},
                                            {"indexer_interleaved", c.rope.indexer_interleaved}}},
                      {"tensors", c.tensors},
                      {"weights", std::move(weights)},
                      {"eos_token_ids", std::move(eos)},
                      {"unread_keys", ToJson::strings(c.unread_keys)}};
}

json::Value device_json(const DeviceFacts& d) {
  std::vector<std::string_view> features;
  for (const CpuFeature feature : d.features) features.push_back(feature_name(feature));
  json::Object out = {{"name", d.name},
                      {"model", d.model},
                      {"assumed", d.assumed},
                      {"kind", d.kind == DeviceKind::kCpu ? "cpu" : "cuda"},
                      {"count", d.count},
                      {"memory_total", d.memory_total},
                      {"memory_available", d.memory_available},
                      {"bandwidth", d.bandwidth},
                      {"bandwidth_measured", d.bandwidth_measured}};
  if (d.kind == DeviceKind::kCuda) {
    out.emplace_back("capability_major", d.capability_major);
    out.emplace_back("capability_minor", d.capability_minor);
    return out;
  }
  out.emplace_back("cpus_online", d.cpus_online);
  out.emplace_back("cpus_allowed", d.cpus_allowed);
  out.emplace_back("numa_nodes", d.numa_nodes);
  out.emplace_back("l1d_bytes", d.l1d_bytes);
  out.emplace_back("l2_bytes", d.l2_bytes);
  out.emplace_back("l3_bytes", d.l3_bytes);
  out.emplace_back("features", ToJson::strings(features));
  return out;
}

json::Value memory_json(const Resolution& resolution) {
  const MemoryPlan plan = plan_memory(resolution);
  const auto* const budget = std::get_if<Bytes>(&resolution.effective("memory.budget").value);
  json::Array scratch;
  for (const ScratchItem& item : plan.scratch) {
    scratch.push_back(json::Object{{"name", item.name}, {"bytes", item.bytes}});
  }
  return json::Object{
      {"weight_bytes", plan.weight_bytes},
      {"copied_bytes", plan.copied_bytes},
      {"kv_layout", plan.kv_layout},
      {"latent_bytes_per_token", plan.latent_bytes_per_token},
      {"index_bytes_per_token", plan.index_bytes_per_token},
      {"page_bytes", plan.page_bytes},
      {"pages", plan.pages},
      {"kv_bytes", plan.kv_bytes},
      {"scratch_bytes", plan.scratch_bytes},
      {"scratch", std::move(scratch)},
      {"budget_bytes", budget == nullptr ? json::Value() : budget->count},
      {"tokens_fitting", budget == nullptr ? json::Value() : plan.tokens_fitting(budget->count)}};
}

json::Value kernels_json(const Resolution& resolution) {
  json::Array out;
  for (const KernelChoice& choice : plan_kernels(resolution)) {
    out.push_back(json::Object{{"op", choice.op},
                               {"format", choice.format},
                               {"used_by", choice.used_by},
                               {"table", choice.table.empty() ? json::Value() : choice.table},
                               {"reason", choice.reason},
                               {"rejected", rejected_json(choice.rejected)}});
  }
  return out;
}

json::Value party_json(const Party& party) {
  return json::Object{{"who", party.who}, {"says", party.says}, {"source", party.source}};
}

}  // namespace

json::Value explain_json(const Resolution& resolution) {
  json::Array settings;
  for (const Effective& effective : resolution.settings()) {
    settings.push_back(setting_json(effective));
  }
  json::Array refusals;
  for (const Refusal& refusal : resolution.refusals()) {
    refusals.push_back(json::Object{{"rule", refusal.rule},
                                    {"key", refusal.key},
                                    {"one", party_json(refusal.one)},
                                    {"other", party_json(refusal.other)},
                                    {"consequence", refusal.consequence},
                                    {"alternatives", ToJson::strings(refusal.alternatives)}});
  }
  json::Array notes;
  for (const Note& note : resolution.notes()) {
    notes.push_back(json::Object{{"rule", note.rule}, {"key", note.key}, {"text", note.text}});
  }
  return json::Object{{"format", 1},
                      {"config_hash", resolution.hash()},
                      {"accepted", resolution.refusals().empty()},
                      {"model", model_json(resolution.facts().checkpoint)},
                      {"device", device_json(resolution.facts().device)},
                      {"settings", std::move(settings)},
                      {"memory", memory_json(resolution)},
                      {"kernels", kernels_json(resolution)},
                      {"refusals", std::move(refusals)},
                      {"notes", std::move(notes)}};
}

json::Value differences_json(std::span<const Difference> differences) {
  json::Array out;
  for (const Difference& difference : differences) {
    out.push_back(json::Object{{"what", difference.what},
                               {"before", difference.before},
                               {"after", difference.after},
                               {"reason", difference.reason}});
  }
  return out;
}

json::Value what_if_json(const WhatIf& result) {
  return json::Object{{"format", 1},
                      {"change", result.change},
                      {"accepted", result.accepted},
                      {"changes_nothing", result.differences.empty()},
                      {"reason", result.why_nothing},
                      {"differences", differences_json(result.differences)}};
}

}  // namespace pellucid::config
