#pragma once
// Recursive-descent parser of the Jinja subset. Recursion is bounded by the depth limit, and so is
// the height of every expression tree, which bounds evaluation and destruction as well.

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <unordered_map>

#include "tokenizer/jinja/ast.h"
#include "tokenizer/jinja/lexer.h"

namespace pellucid::tokenizer::jinja {

class Parser {
 public:
  /// `source`: as for Lexer; need not outlive the result.
  Parser(std::string_view source, std::uint32_t depth_max)
      : lexer_(source), depth_max_(depth_max) {}

  /// Rules: "template_syntax", "template_depth".
  [[nodiscard]] Result<Program> parse();

 private:
  /// Where a statement stands: what is allowed in it depends on it.
  struct Place {
    bool loop = false;   ///< break and continue are allowed
    bool macro = false;  ///< inside a macro
    bool scope = false;  ///< inside a loop, macro or set block: names set here end with it
  };

  // parser_statements.cc
  [[nodiscard]] Result<Body> parse_body(std::initializer_list<std::string_view> ends);
  [[nodiscard]] Result<Body> parse_nested(std::initializer_list<std::string_view> ends,
                                          Place place);
  [[nodiscard]] Result<Body> parse_last(std::string_view end, Place place);
  [[nodiscard]] Result<Statement> parse_statement();
  [[nodiscard]] Result<Statement> parse_if();
  [[nodiscard]] Result<Statement> parse_for();
  [[nodiscard]] Result<Statement> parse_set();
  [[nodiscard]] Result<Statement> parse_macro();
  [[nodiscard]] Result<Statement> parse_generation();
  [[nodiscard]] Result<Statement> parse_jump(StatementKind kind);
  [[nodiscard]] Result<void> parse_signature(Macro& macro);
  [[nodiscard]] Result<Target> parse_target(bool with_namespace);
  [[nodiscard]] Result<Target> parse_target_part(bool with_namespace);

  // parser.cc
  [[nodiscard]] Result<ExprPtr> parse_expression(bool with_conditional = true);
  [[nodiscard]] Result<ExprPtr> parse_tuple(bool with_conditional, bool in_parentheses);
  [[nodiscard]] Result<ExprPtr> parse_or();
  [[nodiscard]] Result<ExprPtr> parse_and();
  [[nodiscard]] Result<ExprPtr> parse_not();
  [[nodiscard]] Result<ExprPtr> parse_compare();
  [[nodiscard]] Result<Op> parse_compare_operator();
  [[nodiscard]] Result<ExprPtr> parse_sum();
  [[nodiscard]] Result<ExprPtr> parse_concat();
  [[nodiscard]] Result<ExprPtr> parse_product();
  [[nodiscard]] Result<ExprPtr> parse_power();
  [[nodiscard]] Result<ExprPtr> parse_unary(bool with_filter);
  [[nodiscard]] Result<ExprPtr> parse_primary();
  [[nodiscard]] Result<ExprPtr> parse_list();
  [[nodiscard]] Result<ExprPtr> parse_dict();
  [[nodiscard]] Result<ExprPtr> parse_string();
  [[nodiscard]] Result<ExprPtr> parse_number();
  [[nodiscard]] Result<ExprPtr> parse_postfix(ExprPtr node);
  [[nodiscard]] Result<ExprPtr> parse_pipes(ExprPtr node);
  [[nodiscard]] Result<ExprPtr> parse_dot(ExprPtr object);
  [[nodiscard]] Result<ExprPtr> parse_subscript(ExprPtr object);
  [[nodiscard]] Result<ExprPtr> parse_slice(ExprPtr object, ExprPtr start);
  [[nodiscard]] Result<ExprPtr> parse_filter(ExprPtr subject);
  [[nodiscard]] Result<ExprPtr> parse_test(ExprPtr subject);
  [[nodiscard]] Result<void> parse_arguments(Expr& call);

  [[nodiscard]] Result<ExprPtr> node(ExprKind kind, std::uint32_t line,
                                     std::initializer_list<ExprPtr*> children);
  [[nodiscard]] Result<void> add_child(Expr& parent, ExprPtr child);
  [[nodiscard]] Result<ExprPtr> literal(std::uint32_t line, Literal value);
  [[nodiscard]] NameId intern(std::string_view name);

  [[nodiscard]] Result<void> advance();
  [[nodiscard]] Result<void> look_ahead();
  /// Consumes the token when it matches.
  [[nodiscard]] Result<bool> skip_operator(std::string_view op);
  [[nodiscard]] Result<bool> skip_name(std::string_view name);
  [[nodiscard]] Result<void> expect_operator(std::string_view op);
  [[nodiscard]] Result<void> expect_end(TokenType type);
  [[nodiscard]] Result<std::string_view> expect_name();
  [[nodiscard]] std::unexpected<Error> unexpected_token(std::string_view expected) const;
  [[nodiscard]] Result<void> check_depth() const;

  Lexer lexer_;
  const std::uint32_t depth_max_;
  std::uint32_t depth_ = 0;
  Token current_;
  Token ahead_;
  bool has_ahead_ = false;
  Place place_;
  const Macro* macro_ = nullptr;  ///< the macro whose body is being parsed
  Program program_;
  std::unordered_map<std::string, NameId> name_ids_;
};

/// Counts one level of recursion for as long as it lives.
class DepthGuard {
 public:
  explicit DepthGuard(std::uint32_t& depth) : depth_(depth) { ++depth_; }
  DepthGuard(const DepthGuard&) = delete;
  DepthGuard& operator=(const DepthGuard&) = delete;
  ~DepthGuard() { --depth_; }

 private:
  std::uint32_t& depth_;
};

}  // namespace pellucid::tokenizer::jinja
