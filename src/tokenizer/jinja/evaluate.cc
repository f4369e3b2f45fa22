// Expressions.
#include <utility>

#include "tokenizer/jinja/attributes.h"
#include "tokenizer/jinja/interpreter.h"
#include "tokenizer/jinja/operators.h"
#include "tokenizer/jinja/parser.h"
#include "tokenizer/jinja/text.h"

namespace pellucid::tokenizer::jinja {
namespace {

// Evaluations may nest four times as deep as the source: a macro that calls itself needs about
// eight levels per call. 512 levels of about 500 bytes fit a small stack many times.
constexpr std::uint32_t kEvaluationsPerLevel = 4;

}  // namespace

Result<Value> Interpreter::evaluate(const Expr& expr) {
  const DepthGuard guard(depth_);
  const std::uint32_t depth_max = runtime_.limits().depth_max * kEvaluationsPerLevel;
  if (depth_ > depth_max) return too_deep("evaluation", depth_max);
  PELLUCID_TRY_VOID(runtime_.steps(1));
  auto result = evaluate_node(expr);
  if (!result && result.error().error().source.empty()) {
    result.error().error().source = "line " + std::to_string(expr.line);
  }
  return result;
}

Result<Value> Interpreter::evaluate_node(const Expr& expr) {
  switch (expr.kind) {
    case ExprKind::kLiteral:
      return literals_[expr.id];
    case ExprKind::kName: {
      const Value& value = scopes_.get(expr.id);
      return value.is_undefined() ? Value::undefined(&name(expr.id)) : value;
    }
    case ExprKind::kList:
      return evaluate_sequence(expr, Flavor::kList);
    case ExprKind::kTuple:
      return evaluate_sequence(expr, Flavor::kTuple);
    case ExprKind::kDict:
      return evaluate_dict(expr);
    case ExprKind::kAttribute: {
      PELLUCID_TRY(const Value object, evaluate(*expr.children[0]));
      return attribute(runtime_, object, program_.names[expr.id]);
    }
    case ExprKind::kItem: {
      PELLUCID_TRY(const Value object, evaluate(*expr.children[0]));
      PELLUCID_TRY(const Value index, evaluate(*expr.children[1]));
      return item(runtime_, object, index);
    }
    case ExprKind::kSlice:
      return evaluate_slice(expr);
    case ExprKind::kCall:
      return evaluate_call(expr);
    case ExprKind::kFilter: {
      PELLUCID_TRY(const Value subject, evaluate(*expr.children[0]));
      return evaluate_filter(expr, subject);
    }
    case ExprKind::kTest:
      return evaluate_test(expr);
    case ExprKind::kUnary:
      return evaluate_unary(expr);
    case ExprKind::kBinary:
      return evaluate_binary(expr);
    case ExprKind::kAnd:
    case ExprKind::kOr:
    case ExprKind::kNot:
      return evaluate_logic(expr);
    case ExprKind::kConcat:
      return evaluate_concat(expr);
    case ExprKind::kCompare:
      return evaluate_compare(expr);
    case ExprKind::kConditional:
      return evaluate_conditional(expr);
    case ExprKind::kOperand:
      break;  // evaluated by its comparison
  }
  return Value();
}

Result<Value> Interpreter::evaluate_sequence(const Expr& expr, Flavor flavor) {
  std::vector<Value> items;
  items.reserve(expr.children.size());
  for (const ExprPtr& child : expr.children) {
    PELLUCID_TRY(auto item, evaluate(*child));
    items.push_back(std::move(item));
  }
  return runtime_.sequence(flavor, std::move(items));
}

Result<Value> Interpreter::evaluate_dict(const Expr& expr) {
  std::vector<Entry> entries;
  entries.reserve(expr.children.size() / 2);
  for (std::size_t i = 0; i < expr.children.size(); i += 2) {
    PELLUCID_TRY(const Value key, evaluate(*expr.children[i]));
    PELLUCID_TRY(const Value value, evaluate(*expr.children[i + 1]));
    PELLUCID_TRY_VOID(jinja::assign(runtime_, entries, key, value));
  }
  return runtime_.dict(std::move(entries));
}

Result<Value> Interpreter::evaluate_slice(const Expr& expr) {
  PELLUCID_TRY(const Value object, evaluate(*expr.children[0]));
  Value limits[3];
  const Value* given[3] = {};
  for (std::size_t i = 0; i < 3; ++i) {
    if (expr.children[i + 1] == nullptr) continue;
    PELLUCID_TRY(limits[i], evaluate(*expr.children[i + 1]));
    given[i] = &limits[i];
  }
  return slice(runtime_, object, given[0], given[1], given[2]);
}

Result<Value> Interpreter::evaluate_unary(const Expr& expr) {
  PELLUCID_TRY(const Value value, evaluate(*expr.children[0]));
  if (expr.op == Op::kSubtract) return negate(value);
  if (!value.is_number()) return wrong("operator +", value.type_name(), "a number");
  return value.is(Kind::kFloat) ? value : Value::integer(value.integer());
}

Result<Value> Interpreter::evaluate_binary(const Expr& expr) {
  PELLUCID_TRY(const Value left, evaluate(*expr.children[0]));
  PELLUCID_TRY(const Value right, evaluate(*expr.children[1]));
  for (const Value* operand : {&left, &right}) {
    const std::string* undefined = operand->is_undefined() ? operand->undefined_name() : nullptr;
    if (undefined != nullptr) return wrong("'" + *undefined + "'", "an undefined value", "a value");
  }
  return binary(runtime_, expr.op, left, right);
}

Result<Value> Interpreter::evaluate_logic(const Expr& expr) {
  PELLUCID_TRY(Value left, evaluate(*expr.children[0]));
  if (expr.kind == ExprKind::kNot) return Value::boolean(!left.truth());
  if (left.truth() == (expr.kind == ExprKind::kOr)) return left;
  return evaluate(*expr.children[1]);
}

Result<Value> Interpreter::evaluate_concat(const Expr& expr) {
  TextBuilder out(runtime_);
  for (const ExprPtr& child : expr.children) {
    PELLUCID_TRY(const Value piece, evaluate(*child));
    PELLUCID_TRY_VOID(append_str(runtime_, out, piece));
  }
  return out.finish();
}

Result<Value> Interpreter::evaluate_compare(const Expr& expr) {
  PELLUCID_TRY(Value left, evaluate(*expr.children[0]));
  for (std::size_t i = 1; i < expr.children.size(); ++i) {
    const Expr& operand = *expr.children[i];
    PELLUCID_TRY(Value right, evaluate(*operand.children[0]));
    PELLUCID_TRY(const bool holds, compare(runtime_, operand.op, left, right));
    if (!holds) return Value::boolean(false);
    left = std::move(right);
  }
  return Value::boolean(true);
}

Result<Value> Interpreter::evaluate_conditional(const Expr& expr) {
  PELLUCID_TRY(const Value condition, evaluate(*expr.children[0]));
  if (condition.truth()) return evaluate(*expr.children[1]);
  if (expr.children[2] == nullptr) return Value();
  return evaluate(*expr.children[2]);
}

Result<Value> Interpreter::evaluate_filter(const Expr& expr, const Value& subject) {
  PELLUCID_TRY(const Arguments arguments, evaluate_arguments(expr));
  return program_.filters[expr.id]->callable(runtime_, subject, arguments);
}

Result<Value> Interpreter::evaluate_test(const Expr& expr) {
  PELLUCID_TRY(const Value subject, evaluate(*expr.children[0]));
  PELLUCID_TRY(const Arguments arguments, evaluate_arguments(expr));
  PELLUCID_TRY(const bool answer, program_.tests[expr.id]->predicate(runtime_, subject, arguments));
  return Value::boolean(answer);
}

Result<Arguments> Interpreter::evaluate_arguments(const Expr& expr) {
  Arguments arguments;
  const std::size_t named_from = expr.children.size() - expr.keywords.size();
  for (std::size_t i = 1; i < expr.children.size(); ++i) {
    PELLUCID_TRY(auto value, evaluate(*expr.children[i]));
    if (i < named_from) {
      arguments.positional.push_back(std::move(value));
    } else {
      arguments.keywords.emplace_back(name(expr.keywords[i - named_from]), std::move(value));
    }
  }
  return arguments;
}

}  // namespace pellucid::tokenizer::jinja
