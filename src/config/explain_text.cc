#include <fmt/format.h>

#include <algorithm>

#include "base/utf8.h"
#include "config/explain.h"
#include "config/kernel_plan.h"
#include "config/memory_plan.h"
#include "config/text.h"
#include "config/text_table.h"

namespace pellucid::config {
namespace {

constexpr std::size_t kTextShown = 40;  // of a free text such as the system message

std::string rejected_text(std::span<const Rejected> rejected) {
  std::vector<std::string> items;
  for (const Rejected& item : rejected)
    items.push_back(fmt::format("{} ({})", item.value, item.why));
  return join(items, "; ");
}

bool is_default(const Effective& effective) {
  return effective.source == SourceKind::kDefault && effective.typed.empty();
}

/// "argv" alone says less than where in argv.
std::string source_text(const Effective& effective) {
  return is_user(effective.source) ? effective.origin : std::string(source_name(effective.source));
}

/// With what the user typed when that was not the value: auto, or a synonym of it.
std::string reason_text(const Effective& effective) {
  std::string text = effective.reason;
  if (!effective.typed.empty() && !is_user(effective.source)) {
    text = fmt::format("typed as {}: {}", effective.typed, text);
  }
  for (const Step& step : effective.chain) {
    if (is_user(step.kind) && !step.effective && step.reason.starts_with("overridden")) {
      text += fmt::format("; {} {} {}", step.origin, step.value, step.reason);
    }
  }
  return text;
}

/// Caches are sold in powers of two.
std::string cache_size(std::int64_t bytes) {
  constexpr std::int64_t kMebi = 1 << 20;
  return bytes >= kMebi ? fmt::format("{} MiB", bytes / kMebi) : fmt::format("{} KiB", bytes >> 10);
}

std::string device_memory_text(const DeviceFacts& device) {
  if (device.memory_available < 1) return "memory not known";
  if (device.memory_total < 1) {
    return fmt::format("{} memory available", format_size(device.memory_available));
  }
  return fmt::format("{} of {} memory available", format_size(device.memory_available),
                     format_size(device.memory_total));
}

std::string head_text(const Resolution& resolution, const ExplainStyle& style) {
  const CheckpointFacts& c = resolution.facts().checkpoint;
  const DeviceFacts& d = resolution.facts().device;
  std::string model =
      fmt::format("{}: {}, {} layers", c.source, c.family, c.dims.num_hidden_layers);
  if (c.has_indexer()) model += fmt::format(", {} with an indexer", c.indexer_layers());
  if (c.mtp_layers > 0) model += fmt::format(", {} for next-token prediction", c.mtp_layers);
  model += fmt::format("; RoPE theta {} ({}), {} pairs", c.rope.theta, c.rope.type,
                       c.rope.main_interleaved ? "interleaved" : "half-split");
  if (c.has_indexer()) {
    model += fmt::format(", indexer {}", c.rope.indexer_interleaved ? "interleaved" : "half-split");
  }
  std::string device = fmt::format("{}{}: {}", d.name, d.assumed ? " (assumed)" : "", d.model);
  if (d.count > 1) device += fmt::format(", {} of them", d.count);
  if (d.kind == DeviceKind::kCpu) {
    device += fmt::format(", {} of {} CPUs", d.cpus_allowed, d.cpus_online);
    std::vector<std::string_view> features;
    for (const CpuFeature feature : d.features) features.push_back(feature_name(feature));
    if (!features.empty()) device += ", " + join(features, " ");
    if (d.l2_bytes > 0) device += fmt::format(", L2 {}", cache_size(d.l2_bytes));
    if (d.l3_bytes > 0) device += fmt::format(", L3 {}", cache_size(d.l3_bytes));
    device += fmt::format(", {} NUMA node{}", d.numa_nodes, d.numa_nodes == 1 ? "" : "s");
  } else {
    device += fmt::format(", compute capability {}.{}", d.capability_major, d.capability_minor);
  }
  device += ", " + device_memory_text(d);
  if (d.bandwidth > 0) {
    device += fmt::format(", {}/s {}", format_size(static_cast<std::int64_t>(d.bandwidth)),
                          d.bandwidth_measured ? "measured" : "by data sheet");
  }
  TextTable table(style.width);
  table.add({"model", utf8::escape_for_display(model)});
  table.add({"device", utf8::escape_for_display(device)});
  table.add({"config", resolution.hash()});
  return table.text();
}

std::string settings_text(const Resolution& resolution, const ExplainStyle& style) {
  TextTable table(style.width);
  table.add({"setting", "value", "source", "reason"});
  std::size_t hidden = 0;
  for (const Effective& effective : resolution.settings()) {
    if (!style.all && is_default(effective)) {
      ++hidden;
      continue;
    }
    table.add({std::string(effective.setting->key), shown_value(effective), source_text(effective),
               reason_text(effective)});
    if (!effective.rejected.empty()) {
      table.add({"", "", "", "not " + rejected_text(effective.rejected)});
    }
  }
  std::string text = table.text();
  if (hidden > 0)
    text += fmt::format("({} settings at their defaults: --all shows them)\n", hidden);
  return text;
}

void add_weight_rows(const Resolution& resolution, TextTable& table) {
  for (const WeightGroup& group : resolution.facts().checkpoint.weights) {
    table.add(
        {fmt::format("weights: {}", group.part), format_size(group.bytes),
         fmt::format("{}, {} matri{}{}", group.format, group.matrices,
                     group.matrices == 1 ? "x" : "ces", group.used ? ", mapped" : ", not read")});
  }
}

std::string memory_text(const Resolution& resolution, const ExplainStyle& style) {
  const MemoryPlan plan = plan_memory(resolution);
  const auto value = [&](std::string_view key) {
    return std::get<std::int64_t>(resolution.effective(key).value);
  };
  TextTable table(style.width);
  table.add({"memory", "bytes", ""});
  add_weight_rows(resolution, table);
  table.add({"weights, all that is read", format_size(plan.weight_bytes),
             fmt::format("mapped from the files; {} of norms and biases are copied",
                         format_size(plan.copied_bytes))});
  table.add({"KV per token", format_size(plan.latent_bytes_per_token + plan.index_bytes_per_token),
             plan.kv_layout});
  table.add({"KV cache", format_size(plan.kv_bytes),
             fmt::format("{} tokens in {} pages", value("kv.tokens"), plan.pages)});
  std::vector<std::string> largest;
  for (const ScratchItem& item : plan.scratch) {
    if (largest.size() < 3) {
      largest.push_back(fmt::format("{} {}", item.name, format_size(item.bytes)));
    }
  }
  table.add(
      {"scratch", format_size(plan.scratch_bytes),
       fmt::format("steps of {} tokens; most: {}", value("engine.chunk"), join(largest, ", "))});
  const Effective& budget = resolution.effective("memory.budget");
  if (const auto* const bytes = std::get_if<Bytes>(&budget.value)) {
    table.add({"budget", format_size(bytes->count),
               fmt::format("{} cached tokens fit beside the scratch",
                           plan.tokens_fitting(bytes->count))});
  } else {
    table.add({"budget", "none", budget.reason});
  }
  return table.text();
}

std::string kernels_text(const Resolution& resolution, const ExplainStyle& style) {
  TextTable table(style.width);
  table.add({"operator", "on", "kernel", "reason"});
  std::string reason;
  std::vector<Rejected> rejected;
  for (const KernelChoice& choice : plan_kernels(resolution)) {
    const bool same = choice.reason == reason;
    table.add({choice.op, choice.format.empty() ? "f32" : choice.format,
               choice.table.empty() ? "none" : choice.table, same ? "\"" : choice.reason});
    reason = choice.reason;
    rejected = choice.rejected;
  }
  std::string text = table.text();
  if (!rejected.empty()) {
    for (const std::string& line :
         wrap("rejected for all: " + rejected_text(rejected), style.width))
      text += line + "\n";
  }
  return text;
}

std::string refusals_text(const Resolution& resolution, const ExplainStyle& style) {
  if (resolution.refusals().empty()) return {};
  std::string text = "\nstart-up would refuse:\n";
  for (const Refusal& refusal : resolution.refusals()) {
    TextTable table(style.width);
    table.add({"  " + refusal.rule, utf8::escape_for_display(refusal.consequence)});
    for (const Party* party : {&refusal.one, &refusal.other}) {
      table.add({"    " + utf8::escape_for_display(party->who),
                 utf8::escape_for_display(fmt::format("{} ({})", party->says, party->source))});
    }
    for (std::size_t i = 0; i < refusal.alternatives.size(); ++i) {
      table.add({i == 0 ? "    smallest change" : "    or", refusal.alternatives[i]});
    }
    text += table.text();
  }
  return text;
}

std::string notes_text(const Resolution& resolution, const ExplainStyle& style) {
  if (resolution.notes().empty()) return {};
  TextTable table(style.width);
  for (const Note& note : resolution.notes()) {
    table.add({"  " + note.rule, utf8::escape_for_display(note.text)});
  }
  return "\nnotes:\n" + table.text();
}

}  // namespace

std::string shown_value(const Effective& effective) {
  std::string text = utf8::escape_for_display(display_value(effective.value));
  if (effective.setting->type == Type::kText && text.size() > kTextShown) {
    text = text.substr(0, kTextShown) + "...";
  }
  return text.empty() ? "\"\"" : text;
}

std::string explain_text(const Resolution& resolution, const ExplainStyle& style) {
  return head_text(resolution, style) + "\n" + settings_text(resolution, style) + "\n" +
         memory_text(resolution, style) + "\n" + kernels_text(resolution, style) +
         refusals_text(resolution, style) + notes_text(resolution, style);
}

std::string why_text(const Resolution& resolution, const Setting& setting,
                     const ExplainStyle& style) {
  const Effective& effective = resolution.effective(setting.key);
  std::string text = fmt::format("{} = {}\n", setting.key, shown_value(effective));
  for (const std::string& line :
       wrap(fmt::format("{}; {}; used by {}, fixed per {}", setting.doc, accepted(setting),
                        setting.owner, scope_name(setting.scope)),
            style.width)) {
    text += line + "\n";
  }
  TextTable table(style.width);
  table.add({"", "source", "from", "value", "reason"});
  for (const Step& step : effective.chain) {
    table.add({step.effective ? "=>" : "", std::string(source_name(step.kind)), step.origin,
               step.value.empty() ? "-" : utf8::escape_for_display(step.value), step.reason});
  }
  text += table.text();
  for (const Rejected& item : effective.rejected) {
    text += fmt::format("not {}: {}\n", item.value, item.why);
  }
  for (const Refusal& refusal : resolution.refusals()) {
    if (refusal.key != setting.key) continue;
    text += fmt::format("refused [{}]: {} against {}: {}; {}\n", refusal.rule, refusal.one.says,
                        refusal.other.who, refusal.other.says, refusal.consequence);
  }
  for (const Note& note : resolution.notes()) {
    if (note.key == setting.key) text += fmt::format("note [{}]: {}\n", note.rule, note.text);
  }
  return text;
}

std::string summary_line(const Resolution& resolution) {
  std::vector<std::string> items;
  for (const Effective& effective : resolution.settings()) {
    if (effective.source <= SourceKind::kRecommendation) continue;
    if (effective.setting->key == "memory.budget" && !is_user(effective.source)) continue;
    items.push_back(fmt::format("{}={} ({})", effective.setting->key, shown_value(effective),
                                source_text(effective)));
  }
  return fmt::format("config {}: {}", resolution.hash(), join(items, ", "));
}

}  // namespace pellucid::config
