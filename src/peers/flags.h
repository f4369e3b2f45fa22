#pragma once
// Another engine's command line and variables, read against its pack. What the pack knows is
// checked (a value where one is needed, an integer where one is asked for, a choice of the list);
// what it does not know is listed as not modelled, with the nearest known name.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "peers/pack.h"

namespace pellucid::peers {

struct FlagUse {
  const FlagDef* flag = nullptr;
  std::string name;       ///< as typed
  std::string typed;      ///< the value as typed; "true" for a switch
  std::string value;      ///< as the engine writes it
  std::string origin;     ///< "--kv-cache-dtype (argument 3)"
  std::size_t first = 0;  ///< index of the flag in argv
  std::size_t count = 1;  ///< arguments used, the flag included
};

struct ParsedFlags {
  std::vector<FlagUse> uses;  ///< in the order of argv; of a repeated flag the last one counts
  std::vector<std::string> not_modelled;
};

/// Rules "peer_flag_value", "peer_flag_stray".
[[nodiscard]] Expected<ParsedFlags> parse_flags(const Pack& pack, std::span<const std::string> argv,
                                                Date date);

struct Variable {
  std::string name;
  std::string value;
};
/// KEY=VAL. Rule "peer_env".
[[nodiscard]] Expected<std::vector<Variable>> parse_environment(std::span<const std::string> env);

/// The flag of that name; leading dashes and the choice of '-' or '_' do not matter. Null if none.
[[nodiscard]] const FlagDef* find_flag(const Pack& pack, std::string_view key);

/// config::nearest over strings; empty for words beyond 64 bytes.
[[nodiscard]] std::string nearest(std::string_view word, std::span<const std::string> candidates);

}  // namespace pellucid::peers
