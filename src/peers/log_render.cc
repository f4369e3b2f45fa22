#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>

#include "base/utf8.h"
#include "peers/log_reader.h"
#include "peers/render_json.h"

namespace pellucid::peers {
namespace {

using Out = std::back_insert_iterator<std::string>;

std::string shown(std::string_view text) {
  return utf8::escape_for_display(text);
}
std::string value_text(std::string_view value) {
  return value.empty() ? std::string("(none)") : shown(value);
}

/// A dump of arguments has hundreds of values; these are the ones that decide numerics and memory.
bool is_worth_a_row(const ObservedSetting& s) {
  constexpr std::array<std::string_view, 22> kNames{"model_path",
                                                    "model",
                                                    "dtype",
                                                    "quantization",
                                                    "kv_cache_dtype",
                                                    "attention_backend",
                                                    "prefill_attention_backend",
                                                    "decode_attention_backend",
                                                    "nsa_prefill_backend",
                                                    "nsa_decode_backend",
                                                    "page_size",
                                                    "block_size",
                                                    "moe_runner_backend",
                                                    "moe_backend",
                                                    "fp8_gemm_runner_backend",
                                                    "fp4_gemm_runner_backend",
                                                    "tp_size",
                                                    "dp_size",
                                                    "pp_size",
                                                    "speculative_algorithm",
                                                    "max_running_requests",
                                                    "chunked_prefill_size"};
  if (s.sightings.size() > 1 || s.effective().evidence >= Evidence::kDecided) return true;
  return !s.effective().value.empty() && std::ranges::find(kNames, s.name) != kNames.end();
}

void print_setting(const ObservedSetting& s, std::size_t width, Out out) {
  const Sighting& now = s.effective();
  fmt::format_to(out, "  {:<{}}  {}  ({}, line {})", shown(s.name), width, value_text(now.value),
                 evidence_name(now.evidence), now.line);
  for (std::size_t i = s.sightings.size() - 1; i-- > 0;) {
    const Sighting& before = s.sightings[i];
    if (before.value == now.value) continue;
    fmt::format_to(out, "; was {} ({}, line {})", value_text(before.value),
                   evidence_name(before.evidence), before.line);
  }
  if (!s.caution.empty()) fmt::format_to(out, "; caution: {}", s.caution);
  fmt::format_to(out, "\n");
}

void print_settings(const LogReport& r, Out out) {
  std::size_t width = 0;
  for (const ObservedSetting& s : r.settings) {
    if (is_worth_a_row(s)) width = std::max(width, s.name.size());
  }
  if (width == 0) return;
  fmt::format_to(out, "\nsettings, as effective\n");
  for (const ObservedSetting& s : r.settings) {
    if (is_worth_a_row(s)) print_setting(s, width, out);
  }
  if (r.engine == LogEngine::kSglang) {
    fmt::format_to(out,
                   "  (SGLang prints its arguments after changing them: what was typed is not in "
                   "the log)\n");
  }
}

void print_overrides(const LogReport& r, Out out) {
  if (!r.overrides.empty()) fmt::format_to(out, "\nother lines that say something was changed\n");
  for (const OverrideLine& o : r.overrides) {
    fmt::format_to(out, "  line {}: {}\n", o.line, shown(o.text));
  }
  if (r.overrides_beyond > 0) fmt::format_to(out, "  and {} more\n", r.overrides_beyond);
}

void print_pool(const LogReport& r, Out out) {
  if (!r.pool) return;
  const ObservedPool& p = *r.pool;
  fmt::format_to(out, "\nKV pool (line {})\n  {} tokens, {:.2f} GiB", p.line, p.tokens,
                 p.bytes / (1024.0 * 1024.0 * 1024.0));
  if (p.bytes_per_token_layer) {
    fmt::format_to(out, ": {:.1f} bytes per token and layer over {} layers (from {})",
                   *p.bytes_per_token_layer, *p.layers, shown(p.layers_source));
  }
  fmt::format_to(out, "\n");
  if (!p.match) return;
  const config::KvLayout& layout = config::kv_layout(p.match->layout);
  fmt::format_to(out, "  = {}-byte rows ({}){}\n", layout.bytes_per_token, layout.name,
                 p.match->with_indexer
                     ? fmt::format(" + {:.1f} bytes of indexer rows",
                                   p.match->expected_bytes - layout.bytes_per_token)
                     : std::string());
}

void print_contradictions(const LogReport& r, Out out) {
  if (!r.contradictions.empty()) fmt::format_to(out, "\ncontradictions\n");
  for (const config::Contradiction& c : r.contradictions) {
    fmt::format_to(out, "  [{}] {} {}; {} {}\n", c.rule, shown(c.one.who), shown(c.one.says),
                   shown(c.other.who), shown(c.other.says));
    fmt::format_to(out, "    from    {}\n    and     {}\n", shown(c.one.source),
                   shown(c.other.source));
    fmt::format_to(out, "    so      {}\n    change  {}\n", shown(c.consequence), shown(c.fix));
  }
  if (!r.unknowns.empty()) fmt::format_to(out, "\nnot known\n");
  for (const std::string& u : r.unknowns) fmt::format_to(out, "  {}\n", shown(u));
}

void print_crash(const LogReport& r, Out out) {
  const CrashSign* cause = r.cause();
  if (cause == nullptr) return;
  fmt::format_to(out, "\ncrash\n  [{}] line {}: {}\n", cause->id, cause->first_line,
                 shown(cause->meaning));
  fmt::format_to(out, "    {}\n", shown(cause->text));
  if (r.engine == LogEngine::kSglang && r.decode_lines == 0) {
    fmt::format_to(out, "    no decode batch was logged before the end\n");
  }
  for (const CrashSign& sign : r.crashes) {
    if (&sign == cause) continue;
    fmt::format_to(out, "  {} [{}] line {}, {} times: {}\n", sign.consequence ? "then" : "also",
                   sign.id, sign.first_line, sign.count, shown(sign.meaning));
  }
}

void print_asserts(const LogReport& r, Out out) {
  if (!r.asserts.empty()) fmt::format_to(out, "\nCUDA asserts, folded\n");
  for (const AssertGroup& g : r.asserts) {
    fmt::format_to(out, "  {} x {}:{} `{}` (first at line {})\n", g.count, shown(g.file),
                   shown(g.line), shown(g.condition), g.first_line);
  }
  if (r.asserts_beyond > 0) fmt::format_to(out, "  {} x of further kinds\n", r.asserts_beyond);
}

json::Array settings_json(const LogReport& r) {
  json::Array out;
  for (const ObservedSetting& s : r.settings) {
    json::Array sightings;
    for (const Sighting& seen : s.sightings) {
      sightings.push_back(json::Object{{"evidence", evidence_name(seen.evidence)},
                                       {"value", valid_json_text(seen.value)},
                                       {"line", seen.line},
                                       {"text", valid_json_text(seen.text)}});
    }
    json::Object row{{"name", valid_json_text(s.name)},
                     {"value", valid_json_text(s.effective().value)},
                     {"sightings", std::move(sightings)}};
    if (!s.caution.empty()) row.emplace_back("caution", s.caution);
    if (s.truncated) row.emplace_back("truncated", true);
    out.push_back(std::move(row));
  }
  return out;
}

json::Value pool_json(const std::optional<ObservedPool>& p) {
  if (!p) return {};
  json::Object out{{"line", p->line}, {"tokens", p->tokens}, {"bytes", p->bytes}};
  if (p->bytes_per_token_layer) {
    out.emplace_back("layers", *p->layers);
    out.emplace_back("layers_source", valid_json_text(p->layers_source));
    out.emplace_back("bytes_per_token_layer", *p->bytes_per_token_layer);
  }
  if (p->match) {
    out.emplace_back("layout", config::kv_layout(p->match->layout).name);
    out.emplace_back("with_indexer", p->match->with_indexer);
  }
  return out;
}

json::Array noise_json(const LogReport& r) {
  json::Array out;
  for (const Noise& n : r.noise) {
    out.push_back(json::Object{
        {"id", n.id}, {"why", n.why}, {"first_line", n.first_line}, {"count", n.count}});
  }
  return out;
}

json::Array crashes_json(const LogReport& r) {
  json::Array out;
  for (const CrashSign& c : r.crashes) {
    out.push_back(json::Object{{"id", c.id},
                               {"meaning", c.meaning},
                               {"cause", &c == r.cause()},
                               {"consequence", c.consequence},
                               {"first_line", c.first_line},
                               {"count", c.count},
                               {"text", valid_json_text(c.text)}});
  }
  return out;
}

json::Array overrides_json(const LogReport& r) {
  json::Array out;
  for (const OverrideLine& o : r.overrides) {
    out.push_back(json::Object{{"line", o.line}, {"text", valid_json_text(o.text)}});
  }
  return out;
}

json::Array asserts_json(const LogReport& r) {
  json::Array out;
  for (const AssertGroup& g : r.asserts) {
    out.push_back(json::Object{{"file", valid_json_text(g.file)},
                               {"line", valid_json_text(g.line)},
                               {"condition", valid_json_text(g.condition)},
                               {"first_line", g.first_line},
                               {"count", g.count}});
  }
  return out;
}

json::Array expectations_json(const LogReport& r) {
  json::Array out;
  for (const Expectation& e : r.expectations) {
    out.push_back(json::Object{{"key", valid_json_text(e.key)},
                               {"value", valid_json_text(e.value)},
                               {"outcome", outcome_name(e.outcome)},
                               {"found", valid_json_text(e.found)},
                               {"line", e.line}});
  }
  return out;
}

}  // namespace

std::string to_text(const LogReport& r) {
  std::string text;
  Out out(text);
  if (r.engine == LogEngine::kUnknown) {
    fmt::format_to(out,
                   "no engine was recognised: no line reads as one of SGLang, vLLM or "
                   "llama.cpp\n");
  }
  fmt::format_to(out, "{} log, {} lines", engine_name(r.engine), r.lines);
  if (!r.date.empty()) fmt::format_to(out, ", from {}", r.date);
  if (r.cut_lines > 0) fmt::format_to(out, ", {} cut at the limit", r.cut_lines);
  fmt::format_to(out, "; {}\n",
                 r.ready ? fmt::format("ready at line {} (one warm-up answered, or "
                                       "was skipped)",
                                       r.ready_line)
                         : std::string("not ready"));
  for (const Expectation& e : r.expectations) {
    fmt::format_to(out, "expect {}={}: {}", shown(e.key), shown(e.value), outcome_name(e.outcome));
    if (e.outcome == Outcome::kUnknown) fmt::format_to(out, " so far");
    if (e.outcome != Outcome::kUnknown) {
      fmt::format_to(out, " ({} at line {})", shown(e.found), e.line);
    }
    fmt::format_to(out, "\n");
  }
  print_contradictions(r, out);
  print_settings(r, out);
  print_overrides(r, out);
  print_pool(r, out);
  print_crash(r, out);
  print_asserts(r, out);
  if (!r.noise.empty()) fmt::format_to(out, "\nnoise\n");
  for (const Noise& n : r.noise) {
    fmt::format_to(out, "  line {}, {} times: {}\n", n.first_line, n.count, n.why);
  }
  return text;
}

json::Value to_json(const LogReport& r) {
  json::Array unknowns;
  for (const std::string& u : r.unknowns) unknowns.push_back(valid_json_text(u));
  return json::Object{{"schema", "pellucid.log_report.v1"},
                      {"engine", engine_name(r.engine)},
                      {"lines", r.lines},
                      {"cut_lines", r.cut_lines},
                      {"date", r.date},
                      {"architecture", valid_json_text(r.architecture)},
                      {"ready", r.ready},
                      {"prefill_lines", r.prefill_lines},
                      {"decode_lines", r.decode_lines},
                      {"expectations", expectations_json(r)},
                      {"contradictions", contradictions_json(r.contradictions)},
                      {"unknowns", std::move(unknowns)},
                      {"settings", settings_json(r)},
                      {"overrides", overrides_json(r)},
                      {"overrides_beyond", r.overrides_beyond},
                      {"pool", pool_json(r.pool)},
                      {"crashes", crashes_json(r)},
                      {"asserts", asserts_json(r)},
                      {"asserts_beyond", r.asserts_beyond},
                      {"noise", noise_json(r)}};
}

}  // namespace pellucid::peers
