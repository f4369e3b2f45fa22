#include "tokenizer/jinja/interpreter.h"

#include <utility>

#include "tokenizer/jinja/operators.h"
#include "tokenizer/jinja/parser.h"
#include "tokenizer/jinja/text.h"

namespace pellucid::tokenizer::jinja {

Result<std::string> Interpreter::run() {
  PELLUCID_TRY_VOID(execute(program_.body));
  return std::move(out_);
}

Result<Interpreter::Flow> Interpreter::execute(const Body& body) {
  for (const Statement& statement : body) {
    PELLUCID_TRY(const Flow flow, execute(statement));
    if (flow != Flow::kNext) return flow;
  }
  return Flow::kNext;
}

Result<Interpreter::Flow> Interpreter::execute(const Statement& statement) {
  const DepthGuard guard(depth_);
  auto result = dispatch(statement);
  if (!result && result.error().error().source.empty()) {
    result.error().error().source = "line " + std::to_string(statement.line);
  }
  return result;
}

Result<Interpreter::Flow> Interpreter::dispatch(const Statement& statement) {
  PELLUCID_TRY_VOID(runtime_.steps(1));
  switch (statement.kind) {
    case StatementKind::kText:
      PELLUCID_TRY_VOID(emit(statement.text));
      return Flow::kNext;
    case StatementKind::kOutput: {
      PELLUCID_TRY(const Value value, evaluate(*statement.exprs[0]));
      PELLUCID_TRY_VOID(emit(value));
      return Flow::kNext;
    }
    case StatementKind::kIf:
      return execute_if(statement);
    case StatementKind::kFor:
      return execute_for(statement);
    case StatementKind::kSet: {
      PELLUCID_TRY(const Value value, evaluate(*statement.exprs[0]));
      PELLUCID_TRY_VOID(assign(statement.target, value));
      return Flow::kNext;
    }
    case StatementKind::kSetBlock:
      return execute_set_block(statement);
    case StatementKind::kMacro: {
      const Macro& macro = program_.macros[statement.macro];
      scopes_.set(macro.name, Value::macro(&macro));
      return Flow::kNext;
    }
    case StatementKind::kScope: {
      const Scopes::Guard scope(scopes_, Scopes::Guard::Kind::kOpen);
      return execute(statement.bodies[0]);
    }
    case StatementKind::kBreak:
      return Flow::kBreak;
    case StatementKind::kContinue:
      return Flow::kContinue;
  }
  return Flow::kNext;
}

Result<Interpreter::Flow> Interpreter::execute_if(const Statement& statement) {
  for (std::size_t i = 0; i < statement.exprs.size(); ++i) {
    PELLUCID_TRY(const Value condition, evaluate(*statement.exprs[i]));
    if (condition.truth()) return execute(statement.bodies[i]);
  }
  if (statement.bodies.size() > statement.exprs.size()) return execute(statement.bodies.back());
  return Flow::kNext;
}

/// The source of a loop with an inline `if`: a list of the items that pass.
Result<Value> Interpreter::filtered(const Statement& statement, const Value& source) {
  PELLUCID_TRY(const Items items, iterate(runtime_, source));
  std::vector<Value> kept;
  for (std::size_t i = 0; i < items.count; ++i) {
    PELLUCID_TRY_VOID(runtime_.steps(1));
    const Scopes::Guard scope(scopes_, Scopes::Guard::Kind::kOpen);
    const Value item = items.at(i);
    PELLUCID_TRY_VOID(assign(statement.target, item));
    PELLUCID_TRY(const Value passes, evaluate(*statement.exprs[1]));
    if (!passes.truth()) continue;
    PELLUCID_TRY_VOID(runtime_.memory(sizeof(Value)));
    kept.push_back(item);
  }
  return runtime_.list(std::move(kept));
}

/// The `loop` variable of a for statement, before its first pass.
Result<Value> Interpreter::loop_over(const Statement& statement) {
  PELLUCID_TRY(Value source, evaluate(*statement.exprs[0]));
  if (statement.exprs[1] != nullptr) {
    PELLUCID_TRY(source, filtered(statement, source));
  }
  PELLUCID_TRY(Items items, iterate(runtime_, source));
  PELLUCID_TRY_VOID(runtime_.memory(sizeof(Loop)));
  auto* loop = new Loop;
  Value value = Value::object(Kind::kLoop, loop);
  loop->depth = items.source.depth();
  loop->source = std::move(items.source);
  loop->first_item = items.first;
  loop->length = items.count;
  return value;
}

Result<Interpreter::Flow> Interpreter::execute_for(const Statement& statement) {
  PELLUCID_TRY(const Value loop, loop_over(statement));
  if (loop.loop().length > 0) return run_loop(statement, loop);
  const Scopes::Guard scope(scopes_, Scopes::Guard::Kind::kOpen);
  return execute(statement.bodies[1]);
}

Result<Interpreter::Flow> Interpreter::run_loop(const Statement& statement,
                                                const Value& loop_value) {
  Loop& loop = loop_value.mutable_loop();
  for (loop.index = 0; loop.index < loop.length; ++loop.index) {
    PELLUCID_TRY_VOID(runtime_.steps(1));
    const Scopes::Guard scope(scopes_, Scopes::Guard::Kind::kOpen);
    scopes_.set(program_.loop_name, loop_value);
    PELLUCID_TRY_VOID(assign(statement.target, loop.item(loop.index)));
    PELLUCID_TRY(const Flow flow, execute(statement.bodies[0]));
    if (flow == Flow::kBreak) break;
  }
  return Flow::kNext;
}

Result<Value> Interpreter::capture(const Body& body, Flow& flow) {
  std::string outer = std::exchange(out_, {});
  auto result = execute(body);
  std::string inner = std::exchange(out_, std::move(outer));
  if (!result) return std::unexpected<Failure>(std::move(result).error());
  flow = *result;
  return runtime_.string(inner);
}

Result<Interpreter::Flow> Interpreter::execute_set_block(const Statement& statement) {
  Flow flow = Flow::kNext;
  Value text;
  {
    const Scopes::Guard scope(scopes_, Scopes::Guard::Kind::kOpen);
    PELLUCID_TRY(text, capture(statement.bodies[0], flow));
  }
  if (flow != Flow::kNext) return flow;
  for (const ExprPtr& filter : statement.exprs) {
    PELLUCID_TRY(text, evaluate_filter(*filter, text));
  }
  PELLUCID_TRY_VOID(assign(statement.target, text));
  return Flow::kNext;
}

Result<void> Interpreter::assign(const Target& target, const Value& value) {
  if (target.kind == Target::Kind::kName) {
    scopes_.set(target.name, value);
    return {};
  }
  if (target.kind == Target::Kind::kNamespaceAttribute) return assign_attribute(target, value);
  PELLUCID_TRY(const Items items, iterate(runtime_, value));
  if (items.count != target.parts.size()) {
    return wrong("assignment", std::to_string(items.count) + " values",
                 std::to_string(target.parts.size()));
  }
  for (std::size_t i = 0; i < items.count; ++i) {
    PELLUCID_TRY_VOID(runtime_.steps(1));
    PELLUCID_TRY_VOID(assign(target.parts[i], items.at(i)));
  }
  return {};
}

Result<void> Interpreter::assign_attribute(const Target& target, const Value& value) {
  const Value& object = scopes_.get(target.name);
  const std::string& attribute = name(target.attribute);
  if (!object.is(Kind::kNamespace)) {
    return wrong("'" + name(target.name) + "'", object.type_name(), "a namespace");
  }
  if (attribute.starts_with('_')) {
    return wrong("namespace", "attribute '" + attribute + "'", "a name without leading _");
  }
  Namespace& names = object.names();
  PELLUCID_TRY_VOID(runtime_.steps(names.attributes.size() / 8));
  if (Value* old = names.find(attribute)) {
    *old = value;
    return {};
  }
  PELLUCID_TRY_VOID(runtime_.memory(sizeof(std::pair<std::string, Value>) + attribute.size()));
  names.attributes.emplace_back(attribute, value);
  return {};
}

Result<void> Interpreter::emit(std::string_view text) {
  output_bytes_ += text.size();
  if (output_bytes_ > runtime_.limits().output_bytes_max) {
    return fail({.kind = ErrorKind::kLimit,
                 .rule = "template_budget",
                 .object = "template output bytes",
                 .found = "more",
                 .expected = "at most " + std::to_string(runtime_.limits().output_bytes_max)});
  }
  out_ += text;
  return {};
}

Result<void> Interpreter::emit(const Value& value) {
  if (value.is_undefined()) return {};
  PELLUCID_TRY(const Value text, to_string(runtime_, value));
  return emit(text.text());
}

}  // namespace pellucid::tokenizer::jinja
