// Calls: macros, methods and the global functions.
#include <array>
#include <ctime>
#include <utility>

#include "tokenizer/jinja/clock_text.h"
#include "tokenizer/jinja/interpreter.h"
#include "tokenizer/jinja/operators.h"
#include "tokenizer/jinja/text.h"

namespace pellucid::tokenizer::jinja {
namespace {

/// Jinja's sandbox has the same bound on the length of a range.
constexpr std::uint64_t kRangeMax = 100'000;

Result<Value> make_range(Runtime& runtime, const Arguments& arguments) {
  const auto& given = arguments.positional;
  if (given.empty() || given.size() > 3 || !arguments.keywords.empty()) {
    return wrong("range", "its arguments", "one to three integers");
  }
  for (const Value& value : given) {
    if (!value.is_integral()) return wrong("range", value.type_name(), "integers");
  }
  const std::int64_t start = given.size() == 1 ? 0 : given[0].integer();
  const std::int64_t stop = given.size() == 1 ? given[0].integer() : given[1].integer();
  const std::int64_t step = given.size() == 3 ? given[2].integer() : 1;
  if (step == 0) return wrong("range", "step 0", "another step");
  if (step > 0 ? start >= stop : start <= stop) return runtime.range(start, stop, step, 0);
  // Modulo 2^64 the differences are exact: each is positive and below 2^64.
  const auto u = [](std::int64_t v) { return static_cast<std::uint64_t>(v); };
  const std::uint64_t span = step > 0 ? u(stop) - u(start) : u(start) - u(stop);
  const std::uint64_t stride = step > 0 ? u(step) : 0 - u(step);
  const std::uint64_t length = (span - 1) / stride + 1;
  if (length > kRangeMax) {
    return fail({.kind = ErrorKind::kLimit,
                 .rule = "template_budget",
                 .object = "range",
                 .found = std::to_string(length) + " items",
                 .expected = "at most " + std::to_string(kRangeMax)});
  }
  return runtime.range(start, stop, step, static_cast<std::int64_t>(length));
}

Result<Value> reject(Runtime& runtime, const Arguments& arguments) {
  PELLUCID_TRY(const auto bound, bind("raise_exception", arguments, {"message"}, 1));
  PELLUCID_TRY(const Value message, to_string(runtime, *bound[0]));
  return fail({.kind = ErrorKind::kInvalid,
               .rule = "template_rejected",
               .object = "conversation",
               .found = std::string(message.text()),
               .expected = "one that the chat template accepts"});
}

std::unexpected<Error> not_callable(const Value& value) {
  const std::string* name = value.is_undefined() ? value.undefined_name() : nullptr;
  return wrong(name == nullptr ? std::string("call") : "call of '" + *name + "'",
               value.is_undefined() ? "an undefined or forbidden name" : value.type_name(),
               "a macro, method or function");
}

}  // namespace

Result<Value> Interpreter::evaluate_call(const Expr& expr) {
  PELLUCID_TRY(const Value callee, evaluate(*expr.children[0]));
  PELLUCID_TRY(const Arguments arguments, evaluate_arguments(expr));
  if (callee.is(Kind::kMethod)) {
    return callee.method().callable(runtime_, callee.method().self, arguments);
  }
  if (callee.is(Kind::kMacro)) return call_macro(*callee.macro(), arguments);
  if (callee.is(Kind::kFunction)) return call_function(callee.function(), arguments);
  return not_callable(callee);
}

Result<Value> Interpreter::call_macro(const Macro& macro, const Arguments& arguments) {
  const Scopes::Guard scope(scopes_, Scopes::Guard::Kind::kClosed);
  PELLUCID_TRY_VOID(bind_parameters(macro, arguments));
  Flow flow = Flow::kNext;
  return capture(macro.body, flow);
}

Result<void> Interpreter::bind_parameters(const Macro& macro, const Arguments& arguments) {
  const std::string& callee = name(macro.name);
  const std::size_t given = arguments.positional.size();
  if (given > macro.parameters.size()) {
    return wrong("macro '" + callee + "'", std::to_string(given) + " arguments",
                 "at most " + std::to_string(macro.parameters.size()));
  }
  std::size_t keywords_used = 0;
  for (std::size_t i = 0; i < macro.parameters.size(); ++i) {
    const NameId parameter = macro.parameters[i];
    if (i < given) {
      scopes_.set(parameter, arguments.positional[i]);
      continue;
    }
    const Value* found = nullptr;
    for (const auto& [keyword, value] : arguments.keywords) {
      if (keyword == name(parameter)) found = &value;
    }
    if (found != nullptr) {
      ++keywords_used;
      scopes_.set(parameter, *found);
    } else if (macro.defaults[i] != nullptr) {
      PELLUCID_TRY(auto value, evaluate(*macro.defaults[i]));
      scopes_.set(parameter, std::move(value));
    } else {
      scopes_.set(parameter, Value::undefined(&name(parameter)));
    }
  }
  if (keywords_used == arguments.keywords.size()) return {};
  return wrong("macro '" + callee + "'", "an unknown or repeated keyword argument",
               "its own parameters");
}

Result<Value> Interpreter::call_function(Function function, const Arguments& arguments) {
  switch (function) {
    case Function::kRange:
      return make_range(runtime_, arguments);
    case Function::kNamespace:
      return make_namespace(arguments);
    case Function::kDict:
      return make_dict(arguments);
    case Function::kRaiseException:
      return reject(runtime_, arguments);
    case Function::kStrftimeNow:
      return strftime_now(runtime_, arguments);
  }
  return Value();
}

Result<Value> Interpreter::make_namespace(const Arguments& arguments) {
  PELLUCID_TRY(const Value attributes, make_dict(arguments));
  PELLUCID_TRY(auto value, runtime_.make_namespace());
  for (const auto& [key, attribute] : attributes.dict().entries) {
    if (!key.is_string() || key.text().starts_with('_')) {
      return wrong("namespace", "an attribute name", "text without leading _");
    }
    PELLUCID_TRY_VOID(runtime_.memory(sizeof(std::pair<std::string, Value>) + key.text().size()));
    value.names().attributes.emplace_back(std::string(key.text()), attribute);
  }
  return value;
}

Result<Value> Interpreter::make_dict(const Arguments& arguments) {
  if (arguments.positional.size() > 1) return wrong("dict", "several arguments", "at most one");
  std::vector<Entry> entries;
  if (!arguments.positional.empty()) {
    const Value& source = arguments.positional[0];
    if (source.is(Kind::kDict)) {
      entries = source.dict().entries;
      PELLUCID_TRY_VOID(runtime_.steps(entries.size()));
    } else {
      PELLUCID_TRY(const Items pairs, iterate(runtime_, source));
      for (std::size_t i = 0; i < pairs.count; ++i) {
        PELLUCID_TRY(const Items pair, iterate(runtime_, pairs.at(i)));
        if (pair.count != 2) return wrong("dict", "an item", "a pair");
        PELLUCID_TRY_VOID(jinja::assign(runtime_, entries, pair.at(0), pair.at(1)));
      }
    }
  }
  for (const auto& [key, value] : arguments.keywords) {
    PELLUCID_TRY(const Value name, runtime_.string(key));
    PELLUCID_TRY_VOID(jinja::assign(runtime_, entries, name, value));
  }
  return runtime_.dict(std::move(entries));
}

}  // namespace pellucid::tokenizer::jinja
