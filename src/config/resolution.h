#pragma once
// The result of resolving settings: each with value, source, reason and the whole chain of what
// else was proposed; what start-up would refuse; what is worth knowing. Sealed: nothing changes it.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "config/contracts.h"
#include "config/facts.h"
#include "config/source.h"
#include "config/views.h"

namespace pellucid::config {

/// A value that was considered and not taken.
struct Rejected {
  std::string value = {};
  std::string why = {};
  friend bool operator==(const Rejected&, const Rejected&) = default;
};

/// One voice in the choice of a value, the strongest first.
struct Step {
  SourceKind kind = SourceKind::kDefault;
  std::string origin = {};  ///< as Declaration::origin, or the rule's id
  std::string value = {};   ///< as typed or proposed; empty: the rule does not apply
  std::string reason = {};
  bool effective = false;
  friend bool operator==(const Step&, const Step&) = default;
};

struct Effective {
  const Setting* setting = nullptr;
  Value value = {};
  SourceKind source = SourceKind::kDefault;
  std::string origin = {};
  std::string reason = {};
  std::string typed = {};  ///< by the user, also when it was "auto"; empty: nothing was typed
  std::vector<Rejected> rejected = {};
  std::vector<Step> chain = {};
};

/// Two sides that cannot both hold. Start-up stops at the first; explain shows all.
struct Refusal {
  std::string rule = {};
  std::string key = {};  ///< the setting at fault, empty when none is
  Party one = {};
  Party other = {};
  std::string consequence = {};
  std::vector<std::string> alternatives = {};  ///< changes that would satisfy, the smallest first

  [[nodiscard]] Error to_error() const;
};

/// Worth knowing; nothing is refused for it.
struct Note {
  std::string rule = {};
  std::string key = {};
  std::string text = {};
};

class Resolution {
 public:
  Resolution(Facts facts, std::vector<Effective> settings, std::vector<Refusal> refusals,
             std::vector<Note> notes);

  [[nodiscard]] const Facts& facts() const { return facts_; }
  /// In the order of the settings table, complete.
  [[nodiscard]] std::span<const Effective> settings() const { return settings_; }
  /// CHECKs that the key exists.
  [[nodiscard]] const Effective& effective(std::string_view key) const;
  [[nodiscard]] std::span<const Refusal> refusals() const { return refusals_; }
  [[nodiscard]] std::span<const Note> notes() const { return notes_; }

  /// The typed views. CHECKs that nothing was refused.
  [[nodiscard]] const Settings& views() const;

  /// 16 hex digits: FNV-1a (64 bits) over "key=value\n" of every setting in the order of their
  /// keys, values as format_value() writes them; memory.budget only where the user set it, since
  /// its automatic value is the memory that is free at the moment. Two runs with the same hash have
  /// the same settings.
  [[nodiscard]] const std::string& hash() const { return hash_; }

 private:
  Facts facts_;
  std::vector<Effective> settings_;
  std::vector<Refusal> refusals_;
  std::vector<Note> notes_;
  Settings views_;
  std::string hash_;
};

/// Resolves every setting from what the user declared and from the facts. Declarations may come in
/// any order; those of one source that disagree about one setting are an error
/// ("setting_conflict"), those of different sources are not: argv over environment over file.
[[nodiscard]] Expected<Resolution> resolve(std::span<const Declaration> declarations, Facts facts);

}  // namespace pellucid::config
