// `explain --as ENGINE`: what another engine would do with the model, the device and its own flags.

#include <algorithm>
#include <cctype>
#include <filesystem>

#include "cli/cli.h"
#include "cli/facts.h"
#include "cli/terminal.h"
#include "peers/peers.h"

namespace pellucid::cli {
namespace {

std::optional<config::ScaleFormat> scale_format_of(std::string_view format) {
  struct Row {
    std::string_view format;
    config::ScaleFormat scales;
  };
  using enum config::ScaleFormat;
  constexpr Row kRows[] = {{"bf16", kNone},
                           {"f16", kNone},
                           {"f32", kNone},
                           {"fp8_block", kFp32Block},
                           {"fp8_block_ue8m0", kUe8m0Block},
                           {"fp8_tensor", kPerTensorFp32},
                           {"nvfp4_modelopt", kE4m3Global},
                           {"nvfp4_packed", kE4m3Reciprocal},
                           {"mxfp4", kUe8m0Block}};
  for (const Row& row : kRows) {
    if (row.format == format) return row.scales;
  }
  return std::nullopt;
}

/// The engines' word for the quantisation of the largest quantised part.
std::string quantization_of(const config::CheckpointFacts& facts) {
  for (const config::WeightGroup& group : facts.weights) {
    if (group.format == "nvfp4_modelopt") return "modelopt_fp4";
    if (group.format == "fp8_tensor") return "modelopt_fp8";
    if (group.format.starts_with("fp8_block")) return "fp8";
    if (group.format == "nvfp4_packed" || group.format == "int4") return "compressed-tensors";
    if (group.format == "mxfp4") return "mxfp4";
  }
  return "none";
}

peers::ModelFacts peer_facts(const config::CheckpointFacts& facts) {
  peers::ModelFacts out{.architecture = facts.architecture,
                        .dtype = "bfloat16",
                        .index_topk = facts.dims.index_topk,
                        .layers = facts.dims.num_hidden_layers,
                        .indexer_layers = facts.indexer_layers(),
                        .attention_heads = facts.dims.num_attention_heads,
                        .quantization = quantization_of(facts),
                        .parts = {},
                        .kv_scales = facts.kv_scales,
                        .kv_cache_quant = ""};
  for (const config::WeightGroup& group : facts.weights) {
    const auto scales = scale_format_of(group.format);
    if (group.used && scales) out.parts.push_back({.part = group.part, .scales = *scales});
  }
  std::string claim = facts.kv_cache_claim;
  std::ranges::transform(claim, claim.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  if (claim.empty()) out.kv_cache_quant = "none";
  if (claim.find("fp8") != std::string::npos || claim == "float 8") out.kv_cache_quant = "fp8";
  if (claim.find("fp4") != std::string::npos) out.kv_cache_quant = "nvfp4";
  return out;
}

/// A directory, else the name of a well-known checkpoint.
Expected<peers::ModelFacts> model_facts(const std::string& model) {
  if (!std::filesystem::is_directory(model)) {
    if (const peers::ModelFacts* known = peers::known_model(model)) return *known;
  }
  auto checkpoint = read_checkpoint_facts(model);
  if (checkpoint) return peer_facts(checkpoint->facts);
  Error error = std::move(checkpoint).error();
  if (error.rule == "directory_missing") {
    error.fix = "name a directory, or a model that is described in the program:";
    for (const std::string_view name : peers::known_model_names()) {
      error.fix += " " + std::string(name);
    }
  }
  return fail(std::move(error));
}

Expected<void> check_flags(const ExplainFlags& flags) {
  const auto refuse = [](std::string object, std::string expected) {
    return fail({.rule = "setting_conflict",
                 .object = std::move(object) + " with --as",
                 .expected = std::move(expected),
                 .source = "command line"});
  };
  if (!flags.model) return refuse("no model", "a model directory or a name such as GLM-5-NVFP4");
  if (!flags.settings.uses.empty()) {
    return refuse(flags.settings.uses.front().name, "that engine's own flags after --");
  }
  if (flags.why) return refuse("--why", "the whole prediction, which shows every origin");
  if (flags.all) return refuse("--all", "the whole prediction, which shows every setting");
  if (flags.measure) return refuse("--measure", "a device that is assumed");
  if (flags.over && flags.what_if) return refuse("--over and --what-if", "one of them");
  if (!flags.diff.empty()) return refuse("--diff", "--what-if");
  return {};
}

template <class Result>
void print(const Result& result, bool as_json) {
  if (as_json) {
    write_out(json::dump(peers::to_json(result), {.indent = 2, .key_separator = ": "}) + "\n");
  } else {
    write_out(terminal_safe(peers::to_text(result)));
  }
}

}  // namespace

Expected<int> explain_peer_command(const ExplainFlags& flags) {
  PELLUCID_TRY_VOID(check_flags(flags));
  PELLUCID_TRY(peers::PeerQuery query, peers::parse_target(*flags.as));
  if (flags.device != "host") {
    PELLUCID_TRY(query.device, peers::parse_device(flags.device));
  }
  PELLUCID_TRY(query.model, model_facts(*flags.model));
  query.flags = flags.peer_flags;
  query.environment = flags.peer_environment;
  if (flags.over) {
    PELLUCID_TRY(const peers::DateRange days, peers::parse_date_range(*flags.over));
    PELLUCID_TRY(const auto points, peers::timeline(query, days.first, days.last));
    print(std::span<const peers::TimelinePoint>(points), flags.json);
    return kOk;
  }
  if (flags.what_if) {
    PELLUCID_TRY(const peers::Difference difference, peers::what_if(query, *flags.what_if));
    print(difference, flags.json);
    return kOk;
  }
  PELLUCID_TRY(const peers::Prediction prediction, peers::predict(query));
  print(prediction, flags.json);
  const bool sound = prediction.outside.empty() && prediction.contradictions.empty() &&
                     prediction.refusals.empty();
  return sound ? kOk : kProblems;
}

}  // namespace pellucid::cli
