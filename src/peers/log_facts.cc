#include "peers/log_facts.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <vector>

#include "base/utf8.h"
#include "peers/condition.h"
#include "peers/log_line.h"

namespace pellucid::peers {
namespace {

constexpr double kGib = 1024.0 * 1024.0 * 1024.0;

double decimal(std::string_view text) {
  double out = 0;
  std::from_chars(text.data(), text.data() + text.size(), out);
  return out;
}

std::string effective(const LogReport& report, std::string_view name) {
  const ObservedSetting* s = report.find(name);
  return s == nullptr ? std::string() : s->effective().value;
}

bool has_value(const std::string& value) {
  return !value.empty() && value != "auto" && value != "None";
}

bool is_version_char(char c) {
  return (c >= '0' && c <= '9') || c == '.';
}

struct Geometry {
  std::int64_t layers;
  std::int64_t indexer_layers;
  std::string source;
};

const ModelFacts* model_of(const LogReport& report) {
  for (const std::string_view name : {"model_path", "model", "served_model_name"}) {
    if (const ModelFacts* model = model_in_path(effective(report, name))) return model;
  }
  return nullptr;
}

/// Every geometry that the log allows: an architecture alone leaves GLM-5 and GLM-5.2 open.
std::vector<Geometry> geometries(const LogReport& report, const LogOptions& options) {
  if (options.layers) {
    return {{*options.layers, options.indexer_layers.value_or(*options.layers), "given"}};
  }
  const ModelFacts* model = model_of(report);
  if (model != nullptr) return {{*model->layers, *model->indexer_layers, "the model's name"}};
  if (report.architecture == "GlmMoeDsaForCausalLM") {
    return {{78, 78, report.architecture}, {78, 21, report.architecture}};
  }
  if (report.architecture == "DeepseekV32ForCausalLM") return {{61, 61, report.architecture}};
  if (report.architecture == "DeepseekV3ForCausalLM") return {{61, 0, report.architecture}};
  return {};
}

bool is_quantised_dtype(std::string_view dtype) {
  return dtype.starts_with("fp8") || dtype.starts_with("fp4") || dtype == "nvfp4";
}

void check_dtype_against_pool(LogReport& report) {
  const ObservedSetting* dtype = report.find("kv_cache_dtype");
  if (dtype == nullptr || !has_value(dtype->effective().value) || !report.pool->match) return;
  const bool quantised = is_quantised_dtype(dtype->effective().value);
  const config::KvLayout& layout = config::kv_layout(report.pool->match->layout);
  if (quantised != (layout.id == config::KvLayoutId::kBf16)) return;
  report.contradictions.push_back(
      {.rule = "kv_dtype",
       .one = {"log", "says KV dtype " + dtype->effective().value,
               fmt::format("line {}", dtype->effective().line)},
       .other = {"KV pool",
                 fmt::format("has {}-byte rows ({})", layout.bytes_per_token, layout.name),
                 fmt::format("line {}", report.pool->line)},
       .consequence = "the setting that was printed is not the one in effect",
       .fix = "trust the pool, and look for the line that changed the dtype"});
}

/// What the engine of that day reads and assumes, given the values that the log shows.
Expected<Prediction> predict_from_log(const LogReport& report) {
  PeerQuery query{.engine = "sglang",
                  .at = report.date,
                  .device = {},
                  .model = {},
                  .flags = {},
                  .environment = {}};
  if (const ModelFacts* model = model_of(report)) query.model = *model;
  if (query.model.architecture.empty()) query.model.architecture = report.architecture;
  if (query.model.architecture == "GlmMoeDsaForCausalLM" && !query.model.index_topk) {
    query.model.index_topk = 2048;
  }
  constexpr std::array<std::string_view, 6> kFlags{
      "kv_cache_dtype",           "attention_backend",   "prefill_attention_backend",
      "decode_attention_backend", "nsa_prefill_backend", "nsa_decode_backend"};
  for (const std::string_view name : kFlags) {
    const std::string value = effective(report, name);
    if (!has_value(value)) continue;
    std::string flag = "--" + std::string(name);
    for (char& c : flag) c = c == '_' ? '-' : c;
    query.flags.push_back(flag + "=" + value);
  }
  return predict(query);
}

std::string lines_of(const LogReport& report, std::string_view setting) {
  const ObservedSetting* s = report.find(setting);
  if (s == nullptr) return {};
  return fmt::format("{} = {}, line {}", setting, s->effective().value, s->effective().line);
}

std::vector<config::KvRowUser> readers_of(const Prediction& prediction, const LogReport& report) {
  std::vector<config::KvRowUser> out;
  for (const std::string_view phase : {"prefill", "decode"}) {
    const PredictedSetting* s = prediction.find(fmt::format("kv_read_layout.{}", phase));
    if (s == nullptr || !s->covered) continue;
    const auto layout = config::kv_layout_by_name(s->value);
    if (!layout) continue;
    out.push_back(
        {fmt::format("{} reader", phase), *layout,
         fmt::format("{} ({}; {})", s->origin, s->reason, lines_of(report, "attention_backend")),
         s->fix});
  }
  const bool same = out.size() == 2 && out[0].layout == out[1].layout && out[0].fix == out[1].fix;
  if (!same) return out;
  out[1].who = "reader of prefill and decode";
  return {out[1]};
}

void check_rows_in_log(LogReport& report) {
  const Expected<Prediction> prediction = predict_from_log(report);
  if (!prediction) {
    report.unknowns.push_back("readers of the KV rows: " + prediction.error().to_string());
    return;
  }
  const std::vector<config::KvRowUser> readers = readers_of(*prediction, report);
  if (readers.empty()) {
    const PredictedSetting* s = prediction->find("kv_read_layout.decode");
    report.unknowns.push_back(
        fmt::format("readers of the KV rows: {}", s == nullptr ? "not an MLA model" : s->reason));
    return;
  }
  const config::KvRowUser writer{
      "KV pool",
      report.pool->match->layout,
      fmt::format("line {}: {:.1f} bytes per token and layer", report.pool->line,
                  *report.pool->bytes_per_token_layer),
      {}};
  for (config::Contradiction& c : config::check_kv_rows(writer, readers)) {
    report.contradictions.push_back(std::move(c));
  }
}

void check_pool(LogReport& report) {
  const auto unknown = [&](std::string why) { report.unknowns.push_back(std::move(why)); };
  if (!report.pool) return unknown("layout of the KV rows: no pool line yet");
  if (!report.pool->bytes_per_token_layer) {
    return unknown("layout of the KV rows: the number of layers is not known");
  }
  if (!report.pool->match) {
    return unknown(
        fmt::format("layout of the KV rows: no known layout has {:.1f} bytes per token and layer",
                    *report.pool->bytes_per_token_layer));
  }
  check_dtype_against_pool(report);
  if (report.engine != LogEngine::kSglang) {
    return unknown(fmt::format("readers of the KV rows: not known for {} from its log",
                               engine_name(report.engine)));
  }
  check_rows_in_log(report);
}

void check_scales_in_log(LogReport& report) {
  if (const ObservedSetting* s = report.find("deep_gemm_scale_format")) {
    report.contradictions.push_back(
        {.rule = "scale_format",
         .one = {"checkpoint", "holds scales that are not ue8m0",
                 fmt::format("line {}", s->effective().line)},
         .other = {"DeepGEMM wrapper", "assumes ue8m0 per block scales",
                   fmt::format("line {}", s->effective().line)},
         .consequence = "wherever DeepGEMM is called, scales lose their mantissa bits: results are "
                        "wrong, or NaN",
         .fix = "set SGLANG_ENABLE_JIT_DEEPGEMM=0; --fp8-gemm-backend does not govern every call"});
  }
  const ObservedSetting* scale = report.find("kv_scale");
  if (scale == nullptr) return;
  const config::KvScaleUse use{.kv_dtype = effective(report, "kv_cache_dtype"),
                               .dtype_source = lines_of(report, "kv_cache_dtype"),
                               .quantised = true,
                               .scales_in_checkpoint = false,
                               .fix = ""};
  if (auto found = config::check_kv_scales(use)) {
    found->other.source = fmt::format("line {}", scale->effective().line);
    report.contradictions.push_back(*std::move(found));
  }
}

}  // namespace

std::optional<ObservedPool> parse_sglang_pool(std::string_view message) {
  const auto tokens = scan(message, "KV Cache is allocated.");
  const auto count = scan(message, "#tokens: %d");
  if (!tokens || !count) return std::nullopt;
  ObservedPool out;
  std::int64_t number = 0;
  if (!parse_integer((*count)[0], number) || number <= 0) return std::nullopt;
  out.tokens = static_cast<std::uint64_t>(number);
  if (const auto whole = scan(message, "KV size: %f GB")) {
    out.bytes = decimal((*whole)[0]) * kGib;
  } else if (const auto halves = scan(message, "K size: %f GB, V size: %f GB")) {
    out.bytes = (decimal((*halves)[0]) + decimal((*halves)[1])) * kGib;
  }
  if (!(out.bytes > 0)) return std::nullopt;
  return out;
}

const ModelFacts* model_in_path(std::string_view path) {
  constexpr std::array<std::string_view, 8> kLongestFirst{
      "GLM-5.2-NVFP4", "DeepSeek-V3.2", "GLM-5-NVFP4", "DeepSeek-V3",
      "GLM-5-FP8",     "GLM-5.2",       "Kimi-K2",     "GLM-5"};
  for (const std::string_view name : kLongestFirst) {
    const std::size_t at = path.find(name);
    if (at == std::string_view::npos) continue;
    const std::size_t end = at + name.size();
    // "GLM-5" is not in "GLM-5.3", nor "DeepSeek-V3" in "DeepSeek-V3.1": other geometries, perhaps.
    if (end < path.size() && is_version_char(path[end])) continue;
    return known_model(name);
  }
  return nullptr;
}

void infer_pool_layout(ObservedPool& pool, const LogReport& report, const LogOptions& options) {
  std::int64_t ranks = 1;
  const std::string pp = effective(report, "pp_size");
  if (has_value(pp) && (!parse_integer(pp, ranks) || ranks < 1)) return;
  for (const Geometry& g : geometries(report, options)) {
    // With pipeline ranks of unequal depth the line does not say which rank printed it.
    if (g.layers < 1 || g.indexer_layers < 0 || g.layers % ranks != 0) continue;
    const std::int64_t layers = g.layers / ranks;
    const double per_layer =
        pool.bytes / static_cast<double>(pool.tokens) / static_cast<double>(layers);
    const auto match = config::infer_kv_layout(per_layer, g.layers, g.indexer_layers);
    const bool better =
        match && (!pool.match || match->relative_difference < pool.match->relative_difference);
    if (pool.bytes_per_token_layer && !better) continue;
    pool.layers = layers;
    pool.layers_source = g.source;
    pool.bytes_per_token_layer = per_layer;
    pool.match = match;
  }
}

void check_log(LogReport& report, const LogOptions& options) {
  if (report.pool) infer_pool_layout(*report.pool, report, options);
  check_pool(report);
  check_scales_in_log(report);
}

}  // namespace pellucid::peers
