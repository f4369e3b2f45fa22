#include <fmt/format.h>

#include <algorithm>

#include "base/utf8.h"
#include "peers/evaluation.h"

namespace pellucid::peers {
namespace {

config::KvScaleUse kv_scale_use(const PredictedSetting& scale, const Prediction& prediction,
                                const ModelFacts& model) {
  config::KvScaleUse use;
  const PredictedSetting* dtype = prediction.find("kv_cache_dtype");
  use.quantised = scale.covered && scale.value == "1.0";
  use.scales_in_checkpoint = model.kv_scales;
  use.fix = scale.fix;
  if (dtype != nullptr) use.kv_dtype = dtype->value;
  if (dtype != nullptr) use.dtype_source = dtype->origin;
  return use;
}

std::optional<config::KvRowUser> row_user(const Prediction& prediction, std::string_view setting,
                                          std::string who) {
  const PredictedSetting* s = prediction.find(setting);
  if (s == nullptr || !s->covered) return std::nullopt;
  const std::optional<config::KvLayoutId> layout = config::kv_layout_by_name(s->value);
  if (!layout) return std::nullopt;
  return config::KvRowUser{std::move(who), *layout, fmt::format("{} ({})", s->origin, s->reason),
                           s->fix};
}

/// One reader for both phases where they agree, so that one cause is one contradiction.
std::vector<config::KvRowUser> row_readers(const Prediction& prediction) {
  auto prefill = row_user(prediction, "kv_read_layout.prefill", "prefill reader");
  auto decode = row_user(prediction, "kv_read_layout.decode", "decode reader");
  if (prefill && decode && prefill->layout == decode->layout && prefill->fix == decode->fix) {
    decode->who = "reader of prefill and decode";
    prefill.reset();
  }
  std::vector<config::KvRowUser> out;
  if (prefill) out.push_back(*std::move(prefill));
  if (decode) out.push_back(*std::move(decode));
  return out;
}

void check_rows(const Prediction& prediction, std::vector<config::Contradiction>& out) {
  const auto writer = row_user(prediction, "kv_pool_layout", "KV pool");
  if (!writer) return;
  std::vector<config::Contradiction> found =
      config::check_kv_rows(*writer, row_readers(prediction));
  std::ranges::move(found, std::back_inserter(out));
}

// Only e4m3 scales are checked against DeepGEMM: fp32 block scales may be requantised at load, and
// what happens then is outside the packs.
void check_scales(const Prediction& prediction, const ModelFacts& model,
                  std::vector<config::Contradiction>& out) {
  const PredictedSetting* kernel = prediction.find("deep_gemm_scale_format");
  if (kernel == nullptr || !kernel->covered || kernel->value != "ue8m0") return;
  using enum config::ScaleFormat;
  for (const config::ScaleFormat format : {kE4m3Global, kE4m3Reciprocal}) {
    std::string parts;
    for (const QuantPart& part : model.parts) {
      if (part.scales == format) parts += (parts.empty() ? "" : ", ") + part.part;
    }
    if (parts.empty()) continue;
    const auto found = config::check_scale_format(
        {fmt::format("checkpoint ({})", parts), format,
         model.source.empty() ? "checkpoint tensors" : model.source},
        {"DeepGEMM wrapper", kUe8m0Block, fmt::format("{} ({})", kernel->origin, kernel->reason)},
        kernel->fix);
    if (found) out.push_back(*found);
  }
}

/// Attention heads are dealt out whole, unless attention is data parallel.
void check_tensor_parallel(const Prediction& prediction, const ModelFacts& model,
                           std::vector<config::Contradiction>& out) {
  for (const std::string_view name : {"tp_size", "tensor_parallel_size"}) {
    const PredictedSetting* size = prediction.find(name);
    std::int64_t ranks = 0;
    if (size == nullptr || !size->covered || !parse_integer(size->value, ranks)) continue;
    const PredictedSetting* data_parallel = prediction.find("enable_dp_attention");
    const bool shared = data_parallel == nullptr || data_parallel->value != "true";
    const std::int64_t heads = model.attention_heads.value_or(0);
    if (ranks >= 1 && (!shared || heads % ranks == 0)) continue;
    out.push_back({.rule = "tensor_parallel",
                   .one = {std::string(name), fmt::format("is {}", ranks), size->origin},
                   .other = {"attention",
                             ranks < 1 ? std::string("needs at least one rank")
                                       : fmt::format("has {} heads, no multiple of it", heads),
                             model.source.empty() ? "config.json" : model.source},
                   .consequence = "the heads cannot be dealt out to the ranks: it would not start",
                   .fix = "say a size that divides the number of heads"});
  }
}

Date newest(const Pack& pack) {
  return std::ranges::max(pack.dates, {}, &DateRange::last).last;
}

}  // namespace

std::string_view source_name(Source source) {
  switch (source) {
    case Source::kUser:
      return "user";
    case Source::kRule:
      return "rule";
    case Source::kDefault:
      return "default";
  }
  return "default";
}

const PredictedSetting* Prediction::find(std::string_view name) const {
  const auto found = std::ranges::find(settings, name, &PredictedSetting::name);
  return found == settings.end() ? nullptr : &*found;
}

std::vector<config::Contradiction> check_contracts(const Prediction& prediction,
                                                   const ModelFacts& model) {
  std::vector<config::Contradiction> out;
  check_rows(prediction, out);
  check_scales(prediction, model, out);
  check_tensor_parallel(prediction, model, out);
  if (const PredictedSetting* scale = prediction.find("kv_scale")) {
    const auto found = config::check_kv_scales(kv_scale_use(*scale, prediction, model));
    if (found) out.push_back(*found);
  }
  return out;
}

Expected<Target> find_target(const PeerQuery& query) {
  const Pack* pack = find_pack(query.engine);
  if (pack == nullptr) {
    std::vector<std::string> names;
    std::string list;
    for (const Pack& p : packs()) {
      names.push_back(p.engine);
      list += (list.empty() ? "" : ", ") + p.engine;
    }
    const std::string near = nearest(query.engine, names);
    return fail({.kind = ErrorKind::kNotFound,
                 .rule = "peer_engine",
                 .object = "engine",
                 .found = utf8::escape_for_display(query.engine.substr(0, 100)),
                 .expected = "one of " + list,
                 .fix = near.empty() ? "" : "did you mean " + near + "?"});
  }
  if (query.at.empty()) return Target{pack, newest(*pack)};
  if (looks_like_date(query.at)) {
    PELLUCID_TRY(const Date date, parse_date(query.at));
    return Target{pack, date};
  }
  const auto version = std::ranges::find(pack->versions, query.at, &VersionDef::name);
  if (version == pack->versions.end()) return Target{pack, std::nullopt};
  return Target{pack, version->date};
}

Expected<PeerQuery> parse_target(std::string_view text) {
  PeerQuery query;
  const std::size_t at = text.find('@');
  query.engine = text.substr(0, at);
  if (at != std::string_view::npos) query.at = text.substr(at + 1);
  if (at != std::string_view::npos && query.at.empty()) {
    return fail({.kind = ErrorKind::kInvalid,
                 .rule = "peer_date",
                 .object = "engine",
                 .found = utf8::escape_for_display(text.substr(0, 100)),
                 .expected = "a date or version after @"});
  }
  PELLUCID_TRY([[maybe_unused]] const Target target, find_target(query));
  return query;
}

Expected<Prediction> predict(const PeerQuery& query) {
  PELLUCID_TRY(const Target target, find_target(query));
  const Pack& pack = *target.pack;
  PELLUCID_TRY(const ParsedFlags flags,
               parse_flags(pack, query.flags, target.date.value_or(newest(pack))));
  PELLUCID_TRY(const std::vector<Variable> variables, parse_environment(query.environment));
  Evaluation evaluation(pack, query, target.date);
  evaluation.take_environment(variables);
  evaluation.take_flags(flags);
  evaluation.run_rules();
  return std::move(evaluation).finish();
}

}  // namespace pellucid::peers
