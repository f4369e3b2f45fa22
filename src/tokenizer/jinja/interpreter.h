#pragma once
// Runs a parsed template. Recursion follows the tree and the macro calls, and is bounded: see
// kEvaluationsPerLevel.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tokenizer/jinja/ast.h"
#include "tokenizer/jinja/runtime.h"
#include "tokenizer/jinja/scopes.h"

namespace pellucid::tokenizer::jinja {

class Interpreter {
 public:
  /// `globals`: one value per name of the program. `literals`: one per literal.
  Interpreter(const Program& program, Runtime& runtime, std::vector<Value> globals,
              std::vector<Value> literals)
      : program_(program),
        runtime_(runtime),
        scopes_(std::move(globals)),
        literals_(std::move(literals)) {}

  /// The rendered text. Errors carry the line in `source`.
  [[nodiscard]] Result<std::string> run();

 private:
  enum class Flow : std::uint8_t { kNext, kBreak, kContinue };

  // interpreter.cc: statements
  [[nodiscard]] Result<Flow> execute(const Body& body);
  [[nodiscard]] Result<Flow> execute(const Statement& statement);
  [[nodiscard]] Result<Flow> dispatch(const Statement& statement);
  [[nodiscard]] Result<Flow> execute_if(const Statement& statement);
  [[nodiscard]] Result<Flow> execute_for(const Statement& statement);
  [[nodiscard]] Result<Flow> run_loop(const Statement& statement, const Value& loop_value);
  [[nodiscard]] Result<Flow> execute_set_block(const Statement& statement);
  [[nodiscard]] Result<Value> loop_over(const Statement& statement);
  [[nodiscard]] Result<Value> filtered(const Statement& statement, const Value& source);
  [[nodiscard]] Result<void> assign(const Target& target, const Value& value);
  [[nodiscard]] Result<void> assign_attribute(const Target& target, const Value& value);
  [[nodiscard]] Result<void> emit(std::string_view text);
  [[nodiscard]] Result<void> emit(const Value& value);

  // evaluate.cc: expressions
  [[nodiscard]] Result<Value> evaluate(const Expr& expr);
  [[nodiscard]] Result<Value> evaluate_node(const Expr& expr);
  [[nodiscard]] Result<Value> evaluate_sequence(const Expr& expr, Flavor flavor);
  [[nodiscard]] Result<Value> evaluate_dict(const Expr& expr);
  [[nodiscard]] Result<Value> evaluate_slice(const Expr& expr);
  [[nodiscard]] Result<Value> evaluate_unary(const Expr& expr);
  [[nodiscard]] Result<Value> evaluate_binary(const Expr& expr);
  [[nodiscard]] Result<Value> evaluate_logic(const Expr& expr);
  [[nodiscard]] Result<Value> evaluate_concat(const Expr& expr);
  [[nodiscard]] Result<Value> evaluate_compare(const Expr& expr);
  [[nodiscard]] Result<Value> evaluate_conditional(const Expr& expr);
  [[nodiscard]] Result<Value> evaluate_filter(const Expr& expr, const Value& subject);
  [[nodiscard]] Result<Value> evaluate_test(const Expr& expr);
  /// The arguments of a call, filter or test: the children from the second on.
  [[nodiscard]] Result<Arguments> evaluate_arguments(const Expr& expr);

  // call.cc
  [[nodiscard]] Result<Value> evaluate_call(const Expr& expr);
  [[nodiscard]] Result<Value> call_macro(const Macro& macro, const Arguments& arguments);
  [[nodiscard]] Result<void> bind_parameters(const Macro& macro, const Arguments& arguments);
  [[nodiscard]] Result<Value> call_function(Function function, const Arguments& arguments);
  [[nodiscard]] Result<Value> make_namespace(const Arguments& arguments);
  [[nodiscard]] Result<Value> make_dict(const Arguments& arguments);

  [[nodiscard]] const std::string& name(NameId id) const { return program_.names[id].text; }
  /// Runs `body` with its output collected; the output is paid for as memory too.
  [[nodiscard]] Result<Value> capture(const Body& body, Flow& flow);

  const Program& program_;
  Runtime& runtime_;
  Scopes scopes_;
  std::vector<Value> literals_;
  std::string out_;
  std::uint64_t output_bytes_ = 0;
  std::uint32_t depth_ = 0;
};

}  // namespace pellucid::tokenizer::jinja
