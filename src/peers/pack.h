#pragma once
// A rule pack in memory: what one engine's history says about its settings.
// docs/formats/peer-packs.md describes the file. A pack is checked whole when it is read: unknown
// keys, names that no setting or fact has, rules without a reason or a source, and dates outside
// the calendar are errors.

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "peers/condition.h"
#include "peers/date.h"
#include "peers/embedded_packs.h"

namespace pellucid::peers {

struct FlagDef {
  enum class Kind { kString, kInteger, kNumber, kSwitch };
  std::vector<std::string> names;
  std::string setting;  ///< empty: known, and without an effect on what is predicted
  Kind kind = Kind::kString;
  std::string value = "true";  ///< of a switch
  std::vector<std::string> choices;
  std::vector<std::string> values;  ///< known ones; others leave the setting open. Empty: any
  std::map<std::string, std::string> alias;  ///< as typed -> as the engine writes it
  std::vector<DateRange> dates;              ///< empty: whenever the pack covers
};

struct EnvDef {
  std::string name;
  std::string setting;  ///< empty: only the note
  std::string note;
};

struct SettingDef {
  std::string name;
  std::optional<std::string> fallback;  ///< the engine's default, "" for None
  std::vector<Condition> applies;       ///< shown only if all hold
  std::vector<DateRange> dates;         ///< empty: whenever the pack covers
  bool derived = false;
};

struct ContradictionDef {
  std::string rule, one_who, one_says, other_who, other_says, consequence;
};

struct Rule {
  enum class Mode { kFill, kForce };
  std::string id;
  std::size_t pass = 0;
  std::vector<DateRange> dates;
  std::vector<Condition> when;
  std::string setting;  ///< empty: the rule sets nothing
  std::optional<std::string> value;
  bool arithmetic = false;  ///< value is "A op B" over integers after substitution
  std::string not_covered;  ///< instead of a value
  Mode mode = Mode::kFill;
  std::string reason, source, fix;
  std::string log, log_level, log_caution;
  std::string note, refuse;
  std::optional<ContradictionDef> contradiction;
};

struct ArchitectureDef {
  std::string name;
  Date first;
  bool mla = false;
  bool dsa = false;       ///< DSA if config.json also has index_topk
  bool deepseek = false;  ///< the engine's DeepSeek branch
};

struct VersionDef {
  std::string name;
  Date date;
};

struct Pack {
  std::string engine;
  std::string title;
  std::string env_prefix;
  std::vector<DateRange> dates;
  std::vector<std::string> passes;
  std::vector<std::int64_t> devices;  ///< compute capabilities that the rules know
  std::vector<std::string> timeline;
  std::vector<ArchitectureDef> architectures;
  std::vector<VersionDef> versions;
  std::vector<FlagDef> flags;
  std::vector<EnvDef> environment;
  std::vector<SettingDef> settings;
  std::vector<Rule> rules;  ///< in the order of passes, then of the file

  [[nodiscard]] const SettingDef* setting(std::string_view name) const;
};

/// The files of one pack in their order; the first begins with [pack]. Rules "pack_syntax",
/// "pack_key", "pack_name", "pack_rule", "pack_condition", "peer_date".
[[nodiscard]] Expected<Pack> read_pack(std::span<const EmbeddedText> parts);

/// The packs that are built into the program, read once.
[[nodiscard]] const std::vector<Pack>& packs();
/// Null if no pack has that engine.
[[nodiscard]] const Pack* find_pack(std::string_view engine);

/// The names in braces of a template, in order.
[[nodiscard]] std::vector<std::string> template_names(std::string_view text);
/// True for names that are facts ("device.major", "env.X"), not settings.
[[nodiscard]] bool is_fact(std::string_view name);

}  // namespace pellucid::peers
