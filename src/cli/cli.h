#pragma once
// The command line: argv to calls of the rooms below, answers to stdout, everything else to stderr.
// No logic of its own. Each verb is one function that returns the exit status.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "engine/engine.h"
#include "sampler/sampler.h"

namespace pellucid::cli {

/// Exit statuses, the same for every verb.
enum ExitStatus : int {
  kOk = 0,
  kProblems = 1,      ///< inspect: the checkpoint loads, and something in it is wrong
  kUnusable = 2,      ///< bad arguments, or an input that cannot be used
  kNumericFault = 3,  ///< a value was not finite where the contract says finite
  kInterrupted = 130,
};

/// Sampling as typed; what is absent comes from the checkpoint's generation_config.json.
struct SamplingFlags {
  bool greedy = false;
  std::optional<double> temperature;
  std::optional<std::int64_t> top_k;
  std::optional<double> top_p;
  std::optional<double> min_p;
  std::optional<double> repetition_penalty;
  std::optional<double> presence_penalty;
  std::optional<double> frequency_penalty;
  std::vector<std::string> logit_bias;  ///< "ID=BIAS"
  std::optional<std::uint64_t> seed;
  std::int32_t top_logprobs = 0;
};

struct RunFlags {
  std::string model;
  std::optional<std::string> prompt;  ///< "-": standard input; absent: chat
  std::optional<std::string> system;
  std::optional<std::string> tokens;  ///< "1,2,3"
  std::optional<std::string> reasoning_effort;
  std::optional<std::int64_t> max_tokens;
  bool no_thinking = false;
  bool raw = false;
  bool json = false;
  SamplingFlags sampling;
  engine::EngineOptions engine;
};

struct TokenizeFlags {
  std::string model;
  std::optional<std::string> text;  ///< "-": standard input
  std::optional<std::string> decode;
  bool plain = false;  ///< added tokens in the text are ordinary text
  bool json = false;
};

struct InspectFlags {
  std::string model;
  bool deep = false;
  bool json = false;
};

[[nodiscard]] Expected<int> run_command(const RunFlags& flags);
[[nodiscard]] Expected<int> tokenize_command(const TokenizeFlags& flags);
[[nodiscard]] Expected<int> inspect_command(const InspectFlags& flags);

/// "1,2,3" or "1 2 3" to ids; `setting` names the flag in errors.
[[nodiscard]] Expected<std::vector<std::int32_t>> parse_ids(const std::string& text,
                                                            const std::string& setting);
/// All of standard input, at most 64 MiB.
[[nodiscard]] Expected<std::string> read_standard_input();

}  // namespace pellucid::cli
