#pragma once
// Reads the log of an SGLang, vLLM or llama.cpp server, line by line, while it runs or afterwards:
// which engine it is, what was requested, what was changed and what is effective, each with its
// line; the layout of the KV rows, inferred from the size of the pool; contradictions between the
// two (config/contracts.h); warnings that say nothing about this run; and what a crash means.
//
// A log is untrusted text. Lines are cut at a limit, lists are bounded, escape sequences are
// removed, and everything printed is escaped. Not thread-safe; one reader per log.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/json.h"
#include "config/contracts.h"

namespace pellucid::peers {

enum class LogEngine { kUnknown, kSglang, kVllm, kLlamaCpp };
[[nodiscard]] std::string_view engine_name(LogEngine engine);

/// Why a value is known: from weakest to strongest.
enum class Evidence {
  kRequested,  ///< the user's own arguments (vLLM prints them)
  kPrinted,    ///< arguments as printed after the engine changed them (SGLang prints only these)
  kDecided,    ///< a line that says the engine chose or changed it
  kRunning,    ///< a line of the running engine
};
[[nodiscard]] std::string_view evidence_name(Evidence evidence);

struct Sighting {
  Evidence evidence = Evidence::kPrinted;
  std::string value;
  std::uint64_t line = 0;  ///< 1-based
  std::string text;        ///< the message, cut to 300 bytes; empty for a dump of arguments
};

struct ObservedSetting {
  std::string name;
  std::vector<Sighting>
      sightings;           ///< in the order of lines; repeats of a value by ranks are dropped
  bool truncated = false;  ///< more sightings than the limit
  std::string caution;     ///< why the line can be false; empty if it cannot

  [[nodiscard]] const Sighting& effective() const { return sightings.back(); }
};

struct ObservedPool {
  std::uint64_t line = 0;
  std::uint64_t tokens = 0;
  double bytes = 0;
  std::optional<double> bytes_per_token_layer;
  std::optional<std::int64_t> layers;  ///< of one pipeline rank
  std::string layers_source;
  std::optional<config::KvLayoutMatch> match;
};

struct Noise {
  std::string id;
  std::string why;
  std::uint64_t first_line = 0;
  std::uint64_t count = 0;
};

/// A line by which the engine says that it changed something that no setting above covers.
struct OverrideLine {
  std::uint64_t line = 0;
  std::string text;
};

struct AssertGroup {
  std::string file;
  std::string line;
  std::string condition;
  std::uint64_t first_line = 0;
  std::uint64_t count = 0;
};

struct CrashSign {
  std::string id;
  std::string meaning;
  bool consequence = false;  ///< follows from an earlier fault; not where it began
  std::uint64_t first_line = 0;
  std::uint64_t count = 0;
  std::string text;
};

enum class Outcome { kUnknown, kMet, kContradicted };
[[nodiscard]] std::string_view outcome_name(Outcome outcome);

struct Expectation {
  std::string key;
  std::string value;
  Outcome outcome = Outcome::kUnknown;
  std::string found;
  std::uint64_t line = 0;
};

/// "kv-cache-dtype=bf16"; '-' and '_' are the same in the key; "kv-layout=fp8_ds_mla" asks for the
/// layout that the pool shows. Rule "log_expectation".
[[nodiscard]] Expected<Expectation> parse_expectation(std::string_view text);

struct LogOptions {
  std::optional<std::int64_t> layers;  ///< of the model; else known from its name or architecture
  std::optional<std::int64_t> indexer_layers;
  std::vector<Expectation> expectations;
  std::size_t line_bytes_max = 256 << 10;
};

struct LogReport {
  LogEngine engine = LogEngine::kUnknown;
  std::uint64_t lines = 0;
  std::uint64_t cut_lines = 0;  ///< longer than the limit
  std::string date;             ///< of the first stamp that has one
  std::string architecture;
  bool ready = false;  ///< the engine said that it serves
  std::uint64_t ready_line = 0;
  std::uint64_t prefill_lines = 0;
  std::uint64_t decode_lines = 0;
  std::vector<ObservedSetting> settings;
  std::vector<OverrideLine> overrides;
  std::uint64_t overrides_beyond = 0;  ///< further ones than the limit
  std::optional<ObservedPool> pool;
  std::vector<config::Contradiction> contradictions;
  std::vector<std::string> unknowns;  ///< what could not be checked, and why
  std::vector<Noise> noise;
  std::vector<AssertGroup> asserts;
  std::uint64_t asserts_beyond = 0;  ///< of further kinds than the limit of groups
  std::vector<CrashSign> crashes;
  std::vector<Expectation> expectations;

  [[nodiscard]] const ObservedSetting* find(std::string_view name) const;
  /// The first sign that is not a consequence of another; null if the log shows no crash.
  [[nodiscard]] const CrashSign* cause() const;
};

class LogReader {
 public:
  explicit LogReader(LogOptions options);
  ~LogReader();
  LogReader(LogReader&&) noexcept;
  LogReader& operator=(LogReader&&) noexcept;

  /// Any piece of the log; lines may be split over pieces.
  void push_bytes(std::string_view bytes);
  /// One whole line, without its newline.
  void push_line(std::string_view line);
  /// The last line may lack its newline.
  void finish();

  /// True as soon as one expectation is contradicted or all are met; never without expectations.
  [[nodiscard]] bool settled() const;
  /// What is known so far.
  [[nodiscard]] LogReport report() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

[[nodiscard]] std::string to_text(const LogReport& report);
[[nodiscard]] json::Value to_json(const LogReport& report);

}  // namespace pellucid::peers
