#pragma once
// One run of a pack over a query: facts and the user's words first, then the rules in order.
// Private to the room; peers.h is the face.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "peers/condition.h"
#include "peers/flags.h"
#include "peers/pack.h"
#include "peers/peers.h"

namespace pellucid::peers {

class Evaluation : public Terms {
 public:
  /// `date` absent: nothing is covered.
  Evaluation(const Pack& pack, const PeerQuery& query, std::optional<Date> date);

  void take_flags(const ParsedFlags& flags);
  void take_environment(const std::vector<Variable>& variables);
  void run_rules();
  [[nodiscard]] Prediction finish() &&;

  [[nodiscard]] Term term(std::string_view name) const override;

 private:
  struct Cell {
    const SettingDef* def = nullptr;
    PredictedSetting setting;
    bool in_dates = true;  ///< the pack knows this setting on this day
    bool by_user = false;  ///< typed, and not as the default's own word
    bool doubted = false;  ///< typed as a value that the pack does not know: no rule applies
  };

  [[nodiscard]] Cell* cell(std::string_view name);
  [[nodiscard]] const Cell* cell(std::string_view name) const;
  [[nodiscard]] Term fact(std::string_view name) const;
  [[nodiscard]] Term model_fact(std::string_view name) const;
  [[nodiscard]] Term device_fact(std::string_view name) const;
  [[nodiscard]] std::string why_unknown(std::string_view name) const;

  void take_user_value(std::string_view setting, const std::string& typed, const std::string& value,
                       const std::string& origin);
  /// A value that the pack does not know leaves its setting open.
  void doubt_value(const FlagUse& use);
  void apply(const Rule& rule);
  /// False if the rule has no effect because the user's word stands.
  bool set(const Rule& rule);
  void leave_open(const Rule& rule, const std::string& why);
  void speak(const Rule& rule);
  /// The text with its names replaced by their values; a name that is not known is put in
  /// `unknown`.
  [[nodiscard]] std::string say(std::string_view text, std::string* unknown = nullptr) const;

  const Pack& pack_;
  const PeerQuery& query_;
  std::optional<Date> date_;
  bool covered_ = false;
  const ArchitectureDef* architecture_ = nullptr;
  const Device* device_ = nullptr;  ///< null unless one that the pack knows
  std::vector<Variable> variables_;
  std::vector<Cell> cells_;
  Prediction out_;
};

/// "A op B" over integers, op one of + - * /; nullopt on any other text, overflow, a divisor below
/// 1 or a division that leaves a rest.
[[nodiscard]] std::optional<std::int64_t> calculate(std::string_view text);

/// The contracts of config/contracts.h on the derived settings of a prediction.
[[nodiscard]] std::vector<config::Contradiction> check_contracts(const Prediction& prediction,
                                                                 const ModelFacts& model);

/// The pack and the day of a query. Rules "peer_engine", "peer_date".
struct Target {
  const Pack* pack = nullptr;
  std::optional<Date> date;
};
[[nodiscard]] Expected<Target> find_target(const PeerQuery& query);

}  // namespace pellucid::peers
