#pragma once
// The command line: argv to calls of the rooms below, answers to stdout, everything else to stderr.
// No logic of its own. Each verb is one function that returns the exit status.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "cli/settings.h"

namespace pellucid::cli {

/// Exit statuses, the same for every verb.
enum ExitStatus : int {
  kOk = 0,
  kProblems = 1,      ///< inspect: it loads, and something is wrong; explain: it would not start
  kUnusable = 2,      ///< bad arguments, or an input that cannot be used
  kNumericFault = 3,  ///< a value was not finite where the contract says finite
  kInterrupted = 130,
};

struct RunFlags {
  std::string model;
  std::optional<std::string> prompt;  ///< "-": standard input; absent: chat
  std::optional<std::string> tokens;  ///< "1,2,3"
  bool raw = false;
  bool json = false;
  bool quiet = false;  ///< nothing on stderr but errors
  SettingsFlags settings;
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

struct ExplainFlags {
  std::optional<std::string> model;
  std::string device = "host";
  bool measure = false;
  bool all = false;
  bool json = false;
  std::optional<std::string> why;
  std::optional<std::string> what_if;
  std::vector<std::string> diff;  ///< two files, or none
  bool settings_page = false;
  SettingsFlags settings;
  std::optional<std::string> as;        ///< "sglang@2026-02-18": predict that engine instead
  std::optional<std::string> over;      ///< "2026-02-01..2026-09-30": the same query over days
  std::vector<std::string> peer_flags;  ///< its own flags, after --
  std::vector<std::string> peer_environment;  ///< its own variables, KEY=VAL
};

struct LogsFlags {
  std::string file;  ///< "-": standard input
  bool follow = false;
  std::vector<std::string> expect;  ///< key=value
  bool json = false;
};

[[nodiscard]] Expected<int> run_command(const RunFlags& flags);
[[nodiscard]] Expected<int> tokenize_command(const TokenizeFlags& flags);
[[nodiscard]] Expected<int> inspect_command(const InspectFlags& flags);
[[nodiscard]] Expected<int> explain_command(const ExplainFlags& flags);
/// explain --as ENGINE.
[[nodiscard]] Expected<int> explain_peer_command(const ExplainFlags& flags);
[[nodiscard]] Expected<int> logs_command(const LogsFlags& flags);

/// "1,2,3" to ids; `setting` names the flag in errors.
[[nodiscard]] Expected<std::vector<std::int32_t>> parse_ids(const std::string& text,
                                                            const std::string& setting);
/// Text to encode must be UTF-8: the rule is "text_utf8", the place the byte.
[[nodiscard]] Expected<void> check_utf8(std::string_view text, std::string_view source);
/// All of standard input, at most 64 MiB.
[[nodiscard]] Expected<std::string> read_standard_input();

}  // namespace pellucid::cli
