// The two written forms of an inspection: JSON for programs, text for people.

#include <cstdio>

#include "checkpoint/inspect.h"

namespace pellucid::checkpoint {
namespace {

template <class List>
json::Array array_of(const List& list) {
  json::Array out;
  for (const auto& item : list) out.emplace_back(item);
  return out;
}

json::Array schedule_json(const ModelConfig& config) {
  json::Array out;
  for (const bool full : config.layer_has_indexer) out.emplace_back(full ? "full" : "shared");
  return out;
}

json::Value rope_json(const RopeConfig& rope) {
  json::Object out = {
      {"source", rope.source}, {"theta", rope.theta}, {"type", rope.yarn ? "yarn" : "default"}};
  if (!rope.yarn) return out;
  const json::Object yarn = {
      {"factor", rope.factor},
      {"original_max_position_embeddings", rope.original_max_position_embeddings},
      {"beta_fast", rope.beta_fast},
      {"beta_slow", rope.beta_slow},
      {"mscale", rope.mscale},
      {"mscale_all_dim", rope.mscale_all_dim},
      {"softmax_scale_multiplier", rope.softmax_scale_multiplier()}};
  out.insert(out.end(), yarn.begin(), yarn.end());
  return out;
}

json::Value model_json(const Inspection& i) {
  const ModelConfig& c = *i.config;
  return json::Object{{"family", std::string(family_name(c.family))},
                      {"architecture", c.architecture},
                      {"num_hidden_layers", c.num_hidden_layers},
                      {"hidden_size", c.hidden_size},
                      {"vocab_size", c.vocab_size},
                      {"max_position_embeddings", c.max_position_embeddings},
                      {"n_routed_experts", c.n_routed_experts},
                      {"num_experts_per_tok", c.num_experts_per_tok},
                      {"index_topk", c.index_topk},
                      {"softmax_scale", c.softmax_scale()},
                      {"rope", rope_json(c.rope)},
                      {"indexer_schedule", c.has_indexer() ? schedule_json(c) : json::Array{}},
                      {"eos_token_ids", array_of(c.eos_token_ids)},
                      {"num_nextn_predict_layers", c.num_nextn_predict_layers},
                      {"unread_keys", array_of(c.unread_keys)}};
}

json::Value problem_json(const Problem& problem) {
  return json::Object{{"severity", std::string(severity_name(problem.severity))},
                      {"rule", problem.error.rule},
                      {"tensor", problem.tensor},
                      {"place", problem.place},
                      {"source", problem.error.source},
                      {"found", problem.error.found},
                      {"expected", problem.error.expected},
                      {"text", problem.error.to_string()}};
}

json::Array formats_json(const Inspection& i) {
  json::Array out;
  for (const FormatUse& use : i.formats) {
    out.emplace_back(json::Object{{"format", use.format},
                                  {"weights", use.weights},
                                  {"tensors", use.tensors},
                                  {"bytes", use.bytes}});
  }
  return out;
}

std::string grouped(std::uint64_t value) {
  std::string digits = std::to_string(value);
  for (std::size_t i = digits.size(); i > 3;) {
    i -= 3;
    digits.insert(i, 1, ',');
  }
  return digits;
}

std::string short_number(double value) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.10g", value);
  return text;
}

/// "0-2, 6, 10": runs of layers.
std::string ranges(const std::vector<std::int64_t>& layers) {
  std::string out;
  for (std::size_t i = 0; i < layers.size();) {
    std::size_t end = i + 1;
    while (end < layers.size() && layers[end] == layers[end - 1] + 1) ++end;
    if (!out.empty()) out += ", ";
    out += std::to_string(layers[i]);
    if (end - i > 1) out += "-" + std::to_string(layers[end - 1]);
    i = end;
  }
  return out;
}

class Text {
 public:
  void line(std::string_view label, const std::string& value) {
    out_ += label;
    out_.append(label.size() < kColumn ? kColumn - label.size() : 1, ' ');
    out_ += value + "\n";
  }
  void raw(const std::string& text) { out_ += text + "\n"; }
  [[nodiscard]] std::string take() { return std::move(out_); }

 private:
  static constexpr std::size_t kColumn = 14;
  std::string out_;
};

std::string rope_text(const RopeConfig& rope) {
  std::string out = "theta " + short_number(rope.theta);
  out += rope.yarn
             ? ", yarn factor " + short_number(rope.factor) + " from " +
                   grouped(static_cast<std::uint64_t>(rope.original_max_position_embeddings)) +
                   " positions, softmax scale times " +
                   short_number(rope.softmax_scale_multiplier())
             : ", no scaling";
  return out + " (" + rope.source + ")";
}

void write_model(const Inspection& i, Text& text) {
  const ModelConfig& c = *i.config;
  text.line("family", std::string(family_name(c.family)) + " (" + c.architecture + ")");
  std::string parameters =
      grouped(i.parameters) + ", " + grouped(i.parameters_active) + " active per token";
  if (i.parameters_mtp > 0) parameters += "; MTP " + grouped(i.parameters_mtp);
  text.line("parameters", parameters);
  text.line("layers", std::to_string(c.num_hidden_layers) + ", hidden " +
                          std::to_string(c.hidden_size) + ", " +
                          std::to_string(c.n_routed_experts) + " experts, " +
                          std::to_string(c.num_experts_per_tok) + " per token");
  text.line("rope", rope_text(c.rope));
  if (c.has_indexer()) {
    text.line("indexer", "top " + std::to_string(c.index_topk) + ", in " +
                             std::to_string(i.indexer_layers.size()) +
                             " layers: " + ranges(i.indexer_layers));
  } else {
    text.line("indexer", "none: dense attention");
  }
  if (c.num_nextn_predict_layers == 0 && i.mtp_layers == 0) {
    text.line("mtp", "none");
  } else {
    text.line("mtp", i.mtp_layers > 0
                         ? std::to_string(i.mtp_layers) + " layer present"
                         : std::string("declared by the config, absent from the files"));
  }
}

void write_files(const Inspection& i, Text& text) {
  text.line("files", grouped(i.shards) + " with " + grouped(i.tensors) + " tensors, " +
                         grouped(i.file_bytes) + " bytes");
  for (const FormatUse& use : i.formats) {
    text.line("  " + use.format, grouped(use.weights) + " weights in " + grouped(use.tensors) +
                                     " tensors, " + grouped(use.bytes) + " bytes");
  }
  text.line("quantisation",
            i.quantization_claim.empty() ? "nothing claimed" : i.quantization_claim);
  if (!i.kv_cache_claim.empty()) text.line("kv cache", i.kv_cache_claim + " (claimed)");
  if (i.deep) text.line("deep scan", grouped(i.scanned_bytes) + " bytes read");
  if (i.power_of_two_scales) {
    text.line("fp8 scales", *i.power_of_two_scales ? "all powers of two" : "not all powers of two");
  }
  for (const std::string& name : i.ignored_files) text.line("ignored", name);
}

}  // namespace

json::Value to_json(const Inspection& i) {
  json::Array problems;
  for (const Problem& problem : i.problems) problems.push_back(problem_json(problem));
  json::Object counts;
  for (const auto& [rule, count] : i.problem_counts) counts.emplace_back(rule, json::Value(count));
  return json::Object{
      {"path", i.path},
      {"status", i.exit_status()},
      {"loadable", i.loadable},
      {"deep", i.deep},
      {"model", i.config ? model_json(i) : json::Value()},
      {"parameters",
       json::Object{
           {"main", i.parameters}, {"active", i.parameters_active}, {"mtp", i.parameters_mtp}}},
      {"files",
       json::Object{{"shards", i.shards}, {"tensors", i.tensors}, {"bytes", i.file_bytes}}},
      {"formats", formats_json(i)},
      {"quantization_claim", i.quantization_claim},
      {"kv_cache_claim", i.kv_cache_claim},
      {"indexer_layers", array_of(i.indexer_layers)},
      {"mtp_layers", i.mtp_layers},
      {"power_of_two_scales",
       i.power_of_two_scales ? json::Value(*i.power_of_two_scales) : json::Value()},
      {"scanned_bytes", i.scanned_bytes},
      {"ignored_files", array_of(i.ignored_files)},
      {"problems", std::move(problems)},
      {"problem_counts", std::move(counts)}};
}

std::string to_text(const Inspection& i) {
  Text text;
  text.line("checkpoint", i.path);
  if (i.config) write_model(i, text);
  write_files(i, text);
  for (const Problem& problem : i.problems) {
    text.line(std::string(severity_name(problem.severity)), problem.error.to_string());
  }
  for (const auto& [rule, count] : i.problem_counts) {
    if (count <= ProblemLog::kKeptPerRule) continue;
    text.raw(grouped(count) + " problems of rule " + rule + " in all");
  }
  const int status = i.exit_status();
  text.line("verdict", status == 0   ? "clean"
                       : status == 1 ? "loads, with problems"
                                     : "unusable: loading is refused");
  return text.take();
}

}  // namespace pellucid::checkpoint
