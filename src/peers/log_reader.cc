#include "peers/log_reader.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <map>

#include "base/utf8.h"
#include "peers/condition.h"
#include "peers/log_facts.h"
#include "peers/log_line.h"
#include "peers/log_shapes.h"

namespace pellucid::peers {
namespace {

constexpr std::size_t kSettingsMax = 1024;
constexpr std::size_t kSightingsMax = 64;
constexpr std::size_t kValueBytesMax = 300;
constexpr std::size_t kAssertGroupsMax = 64;
constexpr std::size_t kOverridesMax = 64;

std::string cut(std::string_view text) {
  return std::string(text.substr(0, kValueBytesMax));
}

struct AssertParts {
  std::string_view file;
  std::string_view line;
  std::string_view condition;
};

/// "FILE:LINE: KERNEL: block: [..], thread: [..] Assertion `COND` failed." COND may hold
/// back-ticks.
std::optional<AssertParts> parse_assert(std::string_view text) {
  constexpr std::string_view kOpen = "Assertion `";
  const std::size_t open = text.find(kOpen);
  const std::size_t close = text.rfind("` failed");
  if (open == std::string_view::npos || close == std::string_view::npos) return std::nullopt;
  const std::size_t from = open + kOpen.size();
  if (close < from) return std::nullopt;
  AssertParts out{{}, {}, text.substr(from, close - from)};
  const std::size_t extension = text.find(".cu");
  const std::size_t colon = extension < open ? text.find(':', extension) : std::string_view::npos;
  const std::size_t end = colon < open ? text.find(':', colon + 1) : std::string_view::npos;
  if (end == std::string_view::npos || end > open) return out;
  out.file = text.substr(0, colon);
  out.line = text.substr(colon + 1, end - colon - 1);
  return out;
}

}  // namespace

std::string_view engine_name(LogEngine engine) {
  switch (engine) {
    case LogEngine::kUnknown:
      return "unknown";
    case LogEngine::kSglang:
      return "sglang";
    case LogEngine::kVllm:
      return "vllm";
    case LogEngine::kLlamaCpp:
      return "llama.cpp";
  }
  return "unknown";
}

std::string_view evidence_name(Evidence evidence) {
  switch (evidence) {
    case Evidence::kRequested:
      return "requested";
    case Evidence::kPrinted:
      return "printed";
    case Evidence::kDecided:
      return "decided";
    case Evidence::kRunning:
      return "running";
  }
  return "printed";
}

std::string_view outcome_name(Outcome outcome) {
  switch (outcome) {
    case Outcome::kUnknown:
      return "unknown";
    case Outcome::kMet:
      return "met";
    case Outcome::kContradicted:
      return "contradicted";
  }
  return "unknown";
}

Expected<Expectation> parse_expectation(std::string_view text) {
  const std::size_t equals = text.find('=');
  if (equals == 0 || equals == std::string_view::npos || equals + 1 == text.size()) {
    return fail({.kind = ErrorKind::kInvalid,
                 .rule = "log_expectation",
                 .object = "--expect",
                 .found = utf8::escape_for_display(text.substr(0, 200)),
                 .expected = "key=value"});
  }
  Expectation out;
  out.key = canonical_setting(text.substr(0, equals));
  out.value = canonical_value(text.substr(equals + 1));
  return out;
}

const ObservedSetting* LogReport::find(std::string_view name) const {
  const auto found = std::ranges::find(settings, name, &ObservedSetting::name);
  return found == settings.end() ? nullptr : &*found;
}

const CrashSign* LogReport::cause() const {
  const CrashSign* out = nullptr;
  for (const CrashSign& sign : crashes) {
    const bool better = out == nullptr || (out->consequence && !sign.consequence) ||
                        (out->consequence == sign.consequence && sign.first_line < out->first_line);
    if (better) out = &sign;
  }
  return out;
}

struct LogReader::State {
  explicit State(LogOptions o) : options(std::move(o)) {
    report.expectations = options.expectations;
  }

  void line(std::string_view raw);
  void message(const LogLine& line);
  bool settings(std::string_view text);
  void overrides(std::string_view text);
  bool dumps(std::string_view text);
  void llama_setting(std::string_view text);
  void pool(std::string_view text);
  void progress(std::string_view text);
  void noise(std::string_view text);
  void crash(std::string_view text);
  void assertion(std::string_view text);
  void see(std::string_view name, std::string_view value, Evidence evidence, std::string_view text,
           std::string_view caution = {});
  void expect(const std::string& name, const std::string& value, Evidence evidence);
  void expect_layout();

  LogOptions options;
  LogReport report;
  std::string pending;  ///< bytes of a line that is not complete
  std::array<std::uint64_t, 4> votes{};
  double vllm_pool_bytes = 0;
  std::map<std::string, std::size_t, std::less<>> index;  ///< setting name -> place in the report
};

void LogReader::State::line(std::string_view raw) {
  ++report.lines;
  if (raw.size() > options.line_bytes_max) {
    raw = raw.substr(0, options.line_bytes_max);
    ++report.cut_lines;
  }
  const std::string clean = strip_escapes(raw);
  message(parse_line(clean));
}

void LogReader::State::message(const LogLine& line) {
  if (line.shape != LogEngine::kUnknown) {
    ++votes[static_cast<std::size_t>(line.shape)];
    const auto most = std::ranges::max_element(votes);
    report.engine = static_cast<LogEngine>(most - votes.begin());
  }
  if (report.date.empty() && !line.date.empty()) report.date = line.date;
  const std::string_view text = line.message;
  // Traffic is most of a long log, and holds nothing else.
  if (text.starts_with("Prefill batch")) ++report.prefill_lines;
  if (text.starts_with("Decode batch")) ++report.decode_lines;
  if (text.starts_with("Prefill batch") || text.starts_with("Decode batch")) return;
  const bool known = dumps(text) || settings(text);
  if (!known && line.shape == LogEngine::kSglang) overrides(text);
  llama_setting(text);
  pool(text);
  progress(text);
  noise(text);
  crash(text);
  assertion(text);
}

bool LogReader::State::settings(std::string_view text) {
  bool known = false;
  for (const SettingShape& shape : setting_shapes()) {
    const auto captures = scan(text, shape.pattern);
    if (!captures) continue;
    known = true;
    if (!shape.fixed.empty()) see(shape.names[0], shape.fixed, shape.evidence, text, shape.caution);
    for (std::size_t i = 0; shape.fixed.empty() && i < captures->size() && i < 3; ++i) {
      if (!shape.names[i].empty()) {
        see(shape.names[i], (*captures)[i], shape.evidence, text, shape.caution);
      }
    }
  }
  return known;
}

void LogReader::State::overrides(std::string_view text) {
  if (!says_override(text)) return;
  if (report.overrides.size() >= kOverridesMax) {
    ++report.overrides_beyond;
    return;
  }
  const std::string shown = cut(text);
  const bool repeat =
      std::ranges::find(report.overrides, shown, &OverrideLine::text) != report.overrides.end();
  if (!repeat) report.overrides.push_back({report.lines, shown});
}

bool LogReader::State::dumps(std::string_view text) {
  struct Dump {
    std::string_view mark;
    char separator;
    Evidence evidence;
  };
  constexpr std::array<Dump, 3> kDumps{{{"server_args=ServerArgs(", '=', Evidence::kPrinted},
                                        {"non-default args: {", ':', Evidence::kRequested},
                                        {" LLM engine (v", '=', Evidence::kPrinted}}};
  for (const Dump& dump : kDumps) {
    std::size_t at = text.find(dump.mark);
    if (at == std::string_view::npos) continue;
    at += dump.mark.size();
    constexpr std::string_view kConfig = "with config: ";
    if (dump.mark.starts_with(' ')) at = std::min(text.find(kConfig, at), text.size());
    if (text.substr(at).starts_with(kConfig)) at += kConfig.size();
    for (const NamedValue& item :
         parse_python_items(text.substr(at), dump.separator, kSettingsMax)) {
      see(item.name, item.value, dump.evidence, {});
    }
    return true;
  }
  return false;
}

void LogReader::State::llama_setting(std::string_view text) {
  constexpr std::array<std::string_view, 2> kHeads{"llama_init_from_model:", "llama_context:"};
  for (const std::string_view head : kHeads) {
    if (!text.starts_with(head)) continue;
    const auto pair = scan(text.substr(head.size()), " %w");
    const std::size_t equals = text.find('=');
    if (!pair || equals == std::string_view::npos) return;
    std::string_view value = text.substr(equals + 1);
    while (value.starts_with(' ')) value.remove_prefix(1);
    while (value.ends_with(' ')) value.remove_suffix(1);
    see((*pair)[0], value, Evidence::kRunning, text);
    return;
  }
}

void LogReader::State::pool(std::string_view text) {
  if (const auto memory = scan(text, "Available KV cache memory: %f GiB")) {
    const std::string_view t = (*memory)[0];
    std::from_chars(t.data(), t.data() + t.size(), vllm_pool_bytes);
    vllm_pool_bytes *= 1024.0 * 1024.0 * 1024.0;
  }
  // The first pool is the target model's; a draft model's follows.
  if (report.pool) return;
  report.pool = parse_sglang_pool(text);
  if (const auto size = scan(text, "GPU KV cache size: %d tokens"); size && vllm_pool_bytes > 0) {
    std::string digits((*size)[0]);
    std::erase(digits, ',');
    std::int64_t tokens = 0;
    if (parse_integer(digits, tokens) && tokens > 0) {
      report.pool.emplace();
      report.pool->tokens = static_cast<std::uint64_t>(tokens);
      report.pool->bytes = vllm_pool_bytes;
    }
  }
  if (!report.pool) return;
  report.pool->line = report.lines;
  expect_layout();
}

void LogReader::State::progress(std::string_view text) {
  if (report.ready) return;
  report.ready = text.find("The server is fired up and ready to roll!") != text.npos ||
                 text.find("Application startup complete.") != text.npos ||
                 text.find("server is listening on") != text.npos;
  if (report.ready) report.ready_line = report.lines;
}

void LogReader::State::noise(std::string_view text) {
  for (const NoiseShape& shape : noise_shapes()) {
    if (text.find(shape.pattern) == std::string_view::npos) continue;
    const auto known = std::ranges::find(report.noise, shape.id, &Noise::id);
    if (known != report.noise.end()) {
      ++known->count;
      continue;
    }
    report.noise.push_back({std::string(shape.id), std::string(shape.why), report.lines, 1});
  }
}

void LogReader::State::crash(std::string_view text) {
  for (const CrashShape& shape : crash_shapes()) {
    if (text.find(shape.pattern) == std::string_view::npos) continue;
    const auto known = std::ranges::find(report.crashes, shape.id, &CrashSign::id);
    if (known != report.crashes.end()) {
      ++known->count;
      continue;
    }
    report.crashes.push_back({std::string(shape.id), std::string(shape.meaning), shape.consequence,
                              report.lines, 1, cut(text)});
  }
}

void LogReader::State::assertion(std::string_view text) {
  const std::optional<AssertParts> parts = parse_assert(text);
  if (!parts) return;
  const std::string condition = cut(parts->condition);
  const std::string file = cut(parts->file);
  const auto known = std::ranges::find_if(report.asserts, [&](const AssertGroup& group) {
    return group.condition == condition && group.file == file && group.line == parts->line;
  });
  if (known != report.asserts.end()) {
    ++known->count;
    return;
  }
  if (report.asserts.size() >= kAssertGroupsMax) {
    ++report.asserts_beyond;
    return;
  }
  report.asserts.push_back({file, cut(parts->line), condition, report.lines, 1});
}

void LogReader::State::see(std::string_view raw_name, std::string_view raw_value, Evidence evidence,
                           std::string_view text, std::string_view caution) {
  const std::string name = canonical_setting(cut(raw_name));
  const std::string value = canonical_value(cut(raw_value));
  if (name == "architecture") report.architecture = value;
  auto place = index.find(name);
  if (place == index.end()) {
    if (report.settings.size() >= kSettingsMax) return;
    place = index.emplace(name, report.settings.size()).first;
    ObservedSetting added;
    added.name = name;
    report.settings.push_back(std::move(added));
  }
  ObservedSetting& setting = report.settings[place->second];
  if (!caution.empty()) setting.caution = caution;
  expect(name, value, evidence);
  const bool repeat = !setting.sightings.empty() && setting.effective().value == value &&
                      setting.effective().evidence >= evidence;
  if (repeat) return;
  if (setting.sightings.size() >= kSightingsMax) {
    setting.truncated = true;
    setting.sightings.pop_back();
  }
  setting.sightings.push_back({evidence, value, report.lines, cut(text)});
}

void LogReader::State::expect(const std::string& name, const std::string& value,
                              Evidence evidence) {
  // What was asked for is not what is in effect; "auto" and None are not values yet.
  if (evidence == Evidence::kRequested || value.empty() || value == "auto") return;
  for (Expectation& e : report.expectations) {
    if (e.key != name) continue;
    e.outcome = e.value == value ? Outcome::kMet : Outcome::kContradicted;
    e.found = value;
    e.line = report.lines;
  }
}

void LogReader::State::expect_layout() {
  for (Expectation& e : report.expectations) {
    if (e.key != "kv_layout") continue;
    ObservedPool inferred = *report.pool;
    infer_pool_layout(inferred, report, options);
    if (!inferred.match) continue;
    e.found = config::kv_layout(inferred.match->layout).name;
    e.outcome = e.found == e.value ? Outcome::kMet : Outcome::kContradicted;
    e.line = report.lines;
  }
}

LogReader::LogReader(LogOptions options) : state_(std::make_unique<State>(std::move(options))) {}
LogReader::~LogReader() = default;
LogReader::LogReader(LogReader&&) noexcept = default;
LogReader& LogReader::operator=(LogReader&&) noexcept = default;

void LogReader::push_bytes(std::string_view bytes) {
  State& s = *state_;
  while (!bytes.empty()) {
    const std::size_t newline = bytes.find('\n');
    const std::string_view piece = bytes.substr(0, newline);
    // One byte beyond the limit is kept, so that line() sees that it was cut.
    const std::size_t limit = s.options.line_bytes_max + 1;
    const std::size_t room = limit - std::min(s.pending.size(), limit);
    s.pending.append(piece.substr(0, room));
    if (newline == std::string_view::npos) return;
    s.line(s.pending);
    s.pending.clear();
    bytes.remove_prefix(newline + 1);
  }
}

void LogReader::push_line(std::string_view line) {
  state_->line(line);
}

void LogReader::finish() {
  if (state_->pending.empty()) return;
  state_->line(state_->pending);
  state_->pending.clear();
}

bool LogReader::settled() const {
  const std::vector<Expectation>& list = state_->report.expectations;
  if (list.empty()) return false;
  const auto is = [](Outcome outcome) {
    return [outcome](const Expectation& e) { return e.outcome == outcome; };
  };
  return std::ranges::any_of(list, is(Outcome::kContradicted)) ||
         std::ranges::all_of(list, is(Outcome::kMet));
}

LogReport LogReader::report() const {
  LogReport out = state_->report;
  check_log(out, state_->options);
  return out;
}

}  // namespace pellucid::peers
