#pragma once
// Rules propose values from facts and from settings already resolved; constraints refuse values
// that cannot work. Both are pure functions with an id, in one file per topic. Neither changes a
// value that the user gave. Private to the room.

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/contracts.h"
#include "config/facts.h"
#include "config/resolution.h"
#include "config/source.h"

namespace pellucid::config {

/// What a rule or a constraint sees.
class RuleInput {
 public:
  virtual ~RuleInput() = default;
  [[nodiscard]] virtual const Facts& facts() const = 0;
  /// The effective setting of that key. A rule may ask only for settings above its own in the
  /// table.
  [[nodiscard]] virtual const Effective& effective(std::string_view key) const = 0;

  /// Empty when the value is open.
  [[nodiscard]] std::optional<std::int64_t> whole(std::string_view key) const;
  [[nodiscard]] std::string word(std::string_view key) const;
  [[nodiscard]] const ModelDims& dims() const { return facts().checkpoint.dims; }
};

struct Proposal {
  std::optional<Value> value = {};  ///< empty: the rule does not apply, and `reason` says why
  std::string reason = {};
  std::vector<Rejected> rejected = {};
};

struct Rule {
  std::string_view id;
  std::string_view key;
  SourceKind level;
  Proposal (*propose)(const RuleInput& input);
};

/// Adds what it finds; adds nothing when the settings and facts agree.
struct Findings {
  std::vector<Refusal> refusals = {};
  std::vector<Note> notes = {};
};

struct Constraint {
  std::string_view topic;
  void (*check)(const RuleInput& input, Findings& findings);
};

[[nodiscard]] std::span<const Rule> attention_rules();
[[nodiscard]] std::span<const Rule> kernel_rules();
[[nodiscard]] std::span<const Rule> kv_rules();
[[nodiscard]] std::span<const Rule> memory_rules();
[[nodiscard]] std::span<const Rule> sampling_rules();
[[nodiscard]] std::span<const Rule> thread_rules();

void check_attention(const RuleInput& input, Findings& findings);
void check_checkpoint(const RuleInput& input, Findings& findings);
void check_kernels(const RuleInput& input, Findings& findings);
void check_kv(const RuleInput& input, Findings& findings);
void check_memory(const RuleInput& input, Findings& findings);
void check_sampling(const RuleInput& input, Findings& findings);
void check_threads(const RuleInput& input, Findings& findings);

/// The side of a contradiction that a setting is: its value and where it comes from.
[[nodiscard]] Party party_of(const Effective& effective);

/// How a user changes a setting: "--context 8192".
[[nodiscard]] std::string change_to(const Setting& setting, std::string_view value);

}  // namespace pellucid::config
