#include "peers/condition.h"

#include <algorithm>
#include <charconv>
#include <utility>

namespace pellucid::peers {
namespace {

std::unexpected<Error> bad(std::string_view text, std::string_view expected) {
  return fail({.kind = ErrorKind::kInvalid,
               .rule = "pack_condition",
               .object = "condition",
               .found = std::string(text),
               .expected = std::string(expected)});
}

std::vector<std::string> words(std::string_view text) {
  std::vector<std::string> out;
  while (!text.empty()) {
    const std::size_t space = std::min(text.find(' '), text.size());
    if (space > 0) out.emplace_back(text.substr(0, space));
    text.remove_prefix(std::min(space + 1, text.size()));
  }
  return out;
}

std::vector<std::string> alternatives(std::string_view text) {
  std::vector<std::string> out;
  while (true) {
    const std::size_t bar = text.find('|');
    out.emplace_back(text.substr(0, bar));
    if (bar == std::string_view::npos) return out;
    text.remove_prefix(bar + 1);
  }
}

Expected<Condition> comparison(std::string_view text, const std::vector<std::string>& w) {
  using Op = Condition::Op;
  if (w[1] == "==") return Condition{w[0], Op::kIn, false, {w[2]}};
  if (w[1] == "!=") return Condition{w[0], Op::kNotIn, false, {w[2]}};
  if (w[1] == "in") return Condition{w[0], Op::kIn, false, alternatives(w[2])};
  if (w[1] == "by" && w[2] == "user") return Condition{w[0], Op::kByUser};
  constexpr std::pair<std::string_view, Op> kOrders[] = {
      {"<", Op::kLess}, {"<=", Op::kLessEqual}, {">", Op::kGreater}, {">=", Op::kGreaterEqual}};
  for (const auto& [word, op] : kOrders) {
    if (w[1] != word) continue;
    Condition out{w[0], op};
    if (!parse_integer(w[2], out.number)) return bad(text, "an integer after the order");
    return out;
  }
  return bad(text, "==, !=, in, <, <=, >, >= or by user");
}

bool ordered(Condition::Op op, std::int64_t a, std::int64_t b) {
  switch (op) {
    case Condition::Op::kLess:
      return a < b;
    case Condition::Op::kLessEqual:
      return a <= b;
    case Condition::Op::kGreater:
      return a > b;
    case Condition::Op::kGreaterEqual:
      return a >= b;
    case Condition::Op::kTrue:
    case Condition::Op::kIn:
    case Condition::Op::kNotIn:
    case Condition::Op::kByUser:
    case Condition::Op::kUnset:
      break;
  }
  return false;
}

Truth truth(bool value) {
  return value ? Truth::kTrue : Truth::kFalse;
}

}  // namespace

bool parse_integer(std::string_view text, std::int64_t& out) {
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, out);
  return error == std::errc() && stop == end && !text.empty();
}

Expected<Condition> parse_condition(std::string_view text) {
  using Op = Condition::Op;
  const std::vector<std::string> w = words(text);
  if (w.size() == 1) return Condition{w[0]};
  if (w.size() == 2 && w[0] == "not") return Condition{w[1], Op::kTrue, true};
  if (w.size() == 2 && w[1] == "unset") return Condition{w[0], Op::kUnset};
  if (w.size() == 3) return comparison(text, w);
  if (w.size() == 4 && w[1] == "not" && w[2] == "in") {
    return Condition{w[0], Op::kNotIn, false, alternatives(w[3])};
  }
  if (w.size() == 4 && w[1] == "not" && w[2] == "by" && w[3] == "user") {
    return Condition{w[0], Op::kByUser, true};
  }
  return bad(text, "one comparison");
}

Truth evaluate(const Condition& condition, const Terms& terms) {
  using Op = Condition::Op;
  const Term term = terms.term(condition.name);
  // Whether the user spoke is known even when the resulting value is not.
  if (condition.op == Op::kByUser) return truth(term.by_user != condition.negated);
  if (!term.known) return Truth::kUnknown;
  if (condition.op == Op::kUnset) return truth(!term.set);
  if (condition.op == Op::kTrue) return truth((term.value == "true") != condition.negated);
  if (condition.op == Op::kIn || condition.op == Op::kNotIn) {
    const bool found = std::ranges::find(condition.values, term.value) != condition.values.end();
    return truth(found == (condition.op == Op::kIn));
  }
  std::int64_t value = 0;
  if (!parse_integer(term.value, value)) return Truth::kUnknown;
  return truth(ordered(condition.op, value, condition.number));
}

Verdict evaluate_all(const std::vector<Condition>& conditions, const Terms& terms) {
  Verdict out;
  for (const Condition& condition : conditions) {
    const Truth t = evaluate(condition, terms);
    if (t == Truth::kFalse) return {Truth::kFalse, {}};
    if (t == Truth::kTrue || out.truth == Truth::kUnknown) continue;
    out = {Truth::kUnknown, condition.name};
  }
  return out;
}

}  // namespace pellucid::peers
