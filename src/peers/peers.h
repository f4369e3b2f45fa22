#pragma once
// What SGLang, vLLM and llama.cpp would do with a model, a device and their own flags, said without
// running them. Each engine is a rule pack (packs/*.toml, built into the program): rules with date
// ranges and the source from which each is known. predict() evaluates a pack in the engine's own
// order of passes and keeps the whole provenance: what the user typed, which rule replaced it, and
// which log line to expect. The contracts of config/contracts.h are then checked on the result.
//
// Outside what a pack covers (a date between two known states, a device or architecture that it
// does not know, a fact that was not given) a setting is "not covered", never guessed. Nothing here
// reads files, the environment or the clock. All functions are pure and thread-safe.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/json.h"
#include "config/contracts.h"
#include "peers/date.h"

namespace pellucid::peers {

/// A GPU model, real or assumed.
struct Device {
  std::int32_t compute_capability = 0;  ///< major * 10 + minor: 120 is sm_120
  std::optional<std::uint64_t> memory_bytes;
  std::int32_t count = 1;
};

/// "sm_120", "sm_120:96GB", "sm_120:96GiB x8". Rule "peer_device".
[[nodiscard]] Expected<Device> parse_device(std::string_view text);
[[nodiscard]] std::string to_string(const Device& device);

/// One quantised part of a checkpoint.
struct QuantPart {
  std::string part;  ///< "routed experts", "dense mlp", "attention"
  config::ScaleFormat scales = config::ScaleFormat::kNone;
};

/// What is known of the checkpoint. An empty or absent member is unknown.
struct ModelFacts {
  std::string architecture;                ///< "GlmMoeDsaForCausalLM"
  std::string dtype;                       ///< "bfloat16"
  std::optional<std::int64_t> index_topk;  ///< 0: the model has no indexer
  std::optional<std::int64_t> layers;
  std::optional<std::int64_t> indexer_layers;
  std::optional<std::int64_t> attention_heads;
  std::string
      quantization;  ///< "none", "fp8", "modelopt_fp4", "modelopt_fp8", "compressed-tensors"
  std::vector<QuantPart> parts;
  std::optional<bool> kv_scales;  ///< calibrated k_scale / v_scale tensors are present
  std::string kv_cache_quant;     ///< "none", "fp8", "nvfp4": what the checkpoint asks for KV
  std::string source = {};        ///< what the facts were read from, in words
};

/// Facts of well-known checkpoints, for use without one: "GLM-5", "GLM-5-NVFP4", "GLM-5-FP8",
/// "GLM-5.2", "GLM-5.2-NVFP4", "DeepSeek-V3.2", "DeepSeek-V3", "Kimi-K2". Null if unknown.
[[nodiscard]] const ModelFacts* known_model(std::string_view name);
/// The names of known_model().
[[nodiscard]] std::vector<std::string_view> known_model_names();

struct PeerQuery {
  std::string engine;  ///< "sglang", "vllm", "llama.cpp", "ik_llama.cpp"
  std::string at;      ///< date or version; empty: the newest day that the pack covers
  std::optional<Device> device;
  ModelFacts model;
  std::vector<std::string> flags;        ///< that engine's own argv, without the program
  std::vector<std::string> environment;  ///< KEY=VAL
};

/// "sglang@2026-02-18", "vllm@017e9f4448", "sglang". Fills engine and at. Rule "peer_engine".
[[nodiscard]] Expected<PeerQuery> parse_target(std::string_view text);

enum class Source { kUser, kRule, kDefault };
[[nodiscard]] std::string_view source_name(Source source);

/// One value that a setting had on the way.
struct Step {
  Source source = Source::kDefault;
  std::string value;
  std::string origin;  ///< rule id, or flag and position, or "default"
};

/// Origin of a setting that one side of a difference does not have.
inline constexpr std::string_view kDoesNotApply = "does not apply";

struct PredictedSetting {
  std::string name;
  bool covered = true;
  bool derived = false;  ///< follows from others: a layout, an assumption; no flag sets it
  std::string value;     ///< empty when !covered
  Source source = Source::kDefault;
  std::string origin;            ///< rule id, or flag and position, or "default"
  std::string reason;            ///< when !covered: what is not known
  std::string citation;          ///< where the rule is known from; for a user value the flag itself
  std::string fix;               ///< what would change it, if the rule says so
  std::string typed;             ///< the user's words, "auto" included; empty if none
  std::vector<Step> overridden;  ///< earlier values, oldest first
  std::vector<Step> rejected;    ///< values that rules proposed and the user's word beat
  bool forced = false;           ///< a rule replaced a value that the user typed
};

struct ExpectedLog {
  std::string level;
  std::string text;
  std::string rule;
  std::string caution;  ///< why the line can mislead; empty if it cannot
};

struct Remark {
  std::string text;
  std::string rule;
  std::string citation;
};

struct Prediction {
  std::string engine;
  std::optional<Date> date;  ///< absent: the version is not one that the pack knows
  std::string device;
  std::string architecture;
  std::string coverage;  ///< what the pack covers, in words
  std::string outside;   ///< set when the version or date is not covered, and so nothing is
  std::vector<PredictedSetting> settings;
  std::vector<config::Contradiction> contradictions;
  std::vector<Remark> refusals;  ///< the engine would not start
  std::vector<Remark> notes;
  std::vector<ExpectedLog> logs;          ///< in the order of appearance
  std::vector<std::string> not_modelled;  ///< flags and variables without an effect here

  [[nodiscard]] const PredictedSetting* find(std::string_view name) const;
};

/// Rules "peer_engine", "peer_date", "peer_flag_value", "peer_flag_stray", "peer_env".
[[nodiscard]] Expected<Prediction> predict(const PeerQuery& query);

struct SettingChange {
  std::string name;
  PredictedSetting before;
  PredictedSetting after;
};

/// Only what differs between two predictions.
struct Difference {
  std::string change;
  std::vector<SettingChange> settings;
  std::vector<config::Contradiction> ended;
  std::vector<config::Contradiction> begun;
  std::vector<Remark> refusals_begun;
  std::string why_nothing;  ///< set when nothing differs: why, and what would change it

  [[nodiscard]] bool changes_nothing() const {
    return settings.empty() && ended.empty() && begun.empty() && refusals_begun.empty();
  }
};

/// `change`: "key=value", "-key" to unset; key is a flag without dashes, a setting, "device",
/// "date", "model.quantization" or "env.NAME". Rule "peer_change" and those of predict().
[[nodiscard]] Expected<Difference> what_if(const PeerQuery& query, std::string_view change);

struct TimelinePoint {
  DateRange dates;  ///< the same values on all of these days
  std::vector<PredictedSetting> settings;
};

/// The days on which the watched settings change between two dates, for the same query. With no
/// `watch`, the settings that the pack names for it.
[[nodiscard]] Expected<std::vector<TimelinePoint>> timeline(
    const PeerQuery& query, Date first, Date last, std::span<const std::string> watch = {});

[[nodiscard]] std::string to_text(const Prediction& prediction);
[[nodiscard]] std::string to_text(const Difference& difference);
[[nodiscard]] std::string to_text(std::span<const TimelinePoint> points);
[[nodiscard]] json::Value to_json(const Prediction& prediction);
[[nodiscard]] json::Value to_json(const Difference& difference);
[[nodiscard]] json::Value to_json(std::span<const TimelinePoint> points);

}  // namespace pellucid::peers
