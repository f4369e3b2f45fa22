#pragma once
// Conditions of rules, one comparison each, over names of settings and facts:
//
//   model.dsa              not model.dsa           kv_cache_dtype == fp8_e4m3
//   device.major >= 10     x in a|b|c              x not in a|b
//   x by user              x not by user           x unset
//
// A name whose value is not known makes the condition unknown, not false: a rule that might apply
// leaves its setting "not covered".

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace pellucid::peers {

enum class Truth { kFalse, kTrue, kUnknown };

/// The value of a name at the moment of asking.
struct Term {
  bool known = false;
  bool by_user = false;
  bool set = false;  ///< by the user or a rule; false for a default
  std::string value;
};

class Terms {
 public:
  virtual ~Terms() = default;
  [[nodiscard]] virtual Term term(std::string_view name) const = 0;
};

struct Condition {
  enum class Op { kTrue, kIn, kNotIn, kLess, kLessEqual, kGreater, kGreaterEqual, kByUser, kUnset };
  std::string name;
  Op op = Op::kTrue;
  bool negated = false;  ///< kTrue, kByUser and kUnset only
  std::vector<std::string> values = {};
  std::int64_t number = 0;
};

/// Rule "pack_condition".
[[nodiscard]] Expected<Condition> parse_condition(std::string_view text);
[[nodiscard]] Truth evaluate(const Condition& condition, const Terms& terms);

struct Verdict {
  Truth truth = Truth::kTrue;
  std::string unknown;  ///< the first name that is not known
};
/// All of them; false wins over unknown.
[[nodiscard]] Verdict evaluate_all(const std::vector<Condition>& conditions, const Terms& terms);

/// A whole decimal integer.
[[nodiscard]] bool parse_integer(std::string_view text, std::int64_t& out);

}  // namespace pellucid::peers
