#include "tokenizer/jinja/predicates.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "tokenizer/jinja/operators.h"

namespace pellucid::tokenizer::jinja {
namespace {

using Question = bool (*)(const Value&);

/// A test without arguments.
template <Question question>
Result<bool> ask(Runtime& runtime, const Value& subject, const Arguments& arguments) {
  PELLUCID_TRY_VOID(runtime.steps(1));
  PELLUCID_TRY_VOID(bind("test", arguments, {}));
  return question(subject);
}

template <Op op>
Result<bool> compare_with(Runtime& runtime, const Value& subject, const Arguments& arguments) {
  PELLUCID_TRY(const auto bound, bind("test", arguments, {"other"}, 1));
  return compare(runtime, op, subject, *bound[0]);
}

Result<bool> remainder_is(Runtime& runtime, const Value& subject, const Value& divisor,
                          std::int64_t wanted) {
  if (!subject.is_number() || !divisor.is_number()) {
    return wrong("test", subject.type_name(), "a number");
  }
  PELLUCID_TRY(const Value rest, binary(runtime, Op::kModulo, subject, divisor));
  return equal(runtime, rest, Value::integer(wanted));
}

Result<bool> is_odd(Runtime& runtime, const Value& subject, const Arguments& arguments) {
  PELLUCID_TRY_VOID(bind("odd", arguments, {}));
  return remainder_is(runtime, subject, Value::integer(2), 1);
}

Result<bool> is_even(Runtime& runtime, const Value& subject, const Arguments& arguments) {
  PELLUCID_TRY_VOID(bind("even", arguments, {}));
  return remainder_is(runtime, subject, Value::integer(2), 0);
}

Result<bool> is_divisible(Runtime& runtime, const Value& subject, const Arguments& arguments) {
  PELLUCID_TRY(const auto bound, bind("divisibleby", arguments, {"num"}, 1));
  return remainder_is(runtime, subject, *bound[0], 0);
}

bool is_defined(const Value& v) {
  return !v.is_undefined();
}
bool is_undefined(const Value& v) {
  return v.is_undefined();
}
bool is_none(const Value& v) {
  return v.is(Kind::kNone);
}
bool is_string(const Value& v) {
  return v.is_string();
}
bool is_mapping(const Value& v) {
  return v.is(Kind::kDict);
}
bool is_boolean(const Value& v) {
  return v.is(Kind::kBool);
}
bool is_true(const Value& v) {
  return v.is(Kind::kBool) && v.boolean();
}
bool is_false(const Value& v) {
  return v.is(Kind::kBool) && !v.boolean();
}
bool is_integer(const Value& v) {
  return v.is(Kind::kInt) || v.is(Kind::kUint);
}
bool is_float(const Value& v) {
  return v.is(Kind::kFloat);
}
bool is_number(const Value& v) {
  return v.is_number() || v.is(Kind::kUint);
}

/// Has a length and items by index. An undefined value passes, as in Jinja.
bool is_sequence(const Value& v) {
  if (v.is(Kind::kSequence)) return v.sequence().indexable();
  return v.is_undefined() || v.is_string() || v.is(Kind::kDict) || v.is(Kind::kRange);
}

/// An undefined value passes, as in Jinja.
bool is_callable(const Value& v) {
  return v.is_undefined() || v.is(Kind::kMacro) || v.is(Kind::kMethod) || v.is(Kind::kFunction);
}

constexpr auto kTests = std::to_array<Test>({
    {"!=", compare_with<Op::kNotEqual>},
    {"<", compare_with<Op::kLess>},
    {"<=", compare_with<Op::kLessEqual>},
    {"==", compare_with<Op::kEqual>},
    {">", compare_with<Op::kGreater>},
    {">=", compare_with<Op::kGreaterEqual>},
    {"boolean", ask<is_boolean>},
    {"callable", ask<is_callable>},
    {"defined", ask<is_defined>},
    {"divisibleby", is_divisible},
    {"eq", compare_with<Op::kEqual>},
    {"equalto", compare_with<Op::kEqual>},
    {"even", is_even},
    {"false", ask<is_false>},
    {"float", ask<is_float>},
    {"ge", compare_with<Op::kGreaterEqual>},
    {"greaterthan", compare_with<Op::kGreater>},
    {"gt", compare_with<Op::kGreater>},
    {"in", compare_with<Op::kIn>},
    {"integer", ask<is_integer>},
    {"iterable", ask<is_iterable>},
    {"le", compare_with<Op::kLessEqual>},
    {"lessthan", compare_with<Op::kLess>},
    {"lt", compare_with<Op::kLess>},
    {"mapping", ask<is_mapping>},
    {"ne", compare_with<Op::kNotEqual>},
    {"none", ask<is_none>},
    {"number", ask<is_number>},
    {"odd", is_odd},
    {"sequence", ask<is_sequence>},
    {"string", ask<is_string>},
    {"true", ask<is_true>},
    {"undefined", ask<is_undefined>},
});
static_assert(std::ranges::is_sorted(kTests, {}, &Test::name));

}  // namespace

const Test* find_test(std::string_view name) {
  const auto* at = std::ranges::lower_bound(kTests, name, {}, &Test::name);
  return at != kTests.end() && at->name == name ? at : nullptr;
}

std::string test_names() {
  std::string names = "one of";
  for (const Test& test : kTests) names += " " + std::string(test.name);
  return names;
}

}  // namespace pellucid::tokenizer::jinja
