// Tokens, nodes and operators; parser_primary.cc and parser_statements.cc have the rest.
#include "tokenizer/jinja/parser.h"

#include <algorithm>
#include <utility>

#include "base/utf8.h"
#include "tokenizer/jinja/methods.h"

namespace pellucid::tokenizer::jinja {
namespace {

std::string describe(const Token& token) {
  switch (token.type) {
    case TokenType::kText:
      return "text";
    case TokenType::kBlockBegin:
      return "'{%'";
    case TokenType::kBlockEnd:
      return "'%}'";
    case TokenType::kVariableBegin:
      return "'{{'";
    case TokenType::kVariableEnd:
      return "'}}'";
    case TokenType::kEnd:
      return "the end of the template";
    case TokenType::kName:
    case TokenType::kString:
    case TokenType::kInteger:
    case TokenType::kFloat:
    case TokenType::kOperator:
      return "'" + utf8::escape_for_display(token.text.substr(0, 80)) + "'";
  }
  return "";
}

}  // namespace

Result<Program> Parser::parse() {
  program_.loop_name = intern("loop");
  PELLUCID_TRY_VOID(advance());
  PELLUCID_TRY(program_.body, parse_body({}));
  return std::move(program_);
}

Result<void> Parser::advance() {
  if (has_ahead_) {
    current_ = ahead_;
    has_ahead_ = false;
    return {};
  }
  PELLUCID_TRY(current_, lexer_.next());
  return {};
}

Result<void> Parser::look_ahead() {
  if (has_ahead_) return {};
  PELLUCID_TRY(ahead_, lexer_.next());
  has_ahead_ = true;
  return {};
}

Result<bool> Parser::skip_operator(std::string_view op) {
  if (!current_.is_operator(op)) return false;
  PELLUCID_TRY_VOID(advance());
  return true;
}

Result<bool> Parser::skip_name(std::string_view name) {
  if (!current_.is_name(name)) return false;
  PELLUCID_TRY_VOID(advance());
  return true;
}

Result<void> Parser::expect_operator(std::string_view op) {
  if (!current_.is_operator(op)) return unexpected_token("'" + std::string(op) + "'");
  return advance();
}

Result<void> Parser::expect_end(TokenType type) {
  if (current_.type != type) {
    return unexpected_token(type == TokenType::kBlockEnd ? "'%}'" : "'}}'");
  }
  return advance();
}

Result<std::string_view> Parser::expect_name() {
  if (current_.type != TokenType::kName) return unexpected_token("a name");
  const std::string_view name = current_.text;
  PELLUCID_TRY_VOID(advance());
  return name;
}

std::unexpected<Error> Parser::unexpected_token(std::string_view expected) const {
  return syntax_error(current_.line, "template", describe(current_), expected);
}

Result<void> Parser::check_depth() const {
  if (depth_ <= depth_max_) return {};
  auto failure = too_deep("nesting", depth_max_);
  failure.error().source = "line " + std::to_string(current_.line);
  return failure;
}

NameId Parser::intern(std::string_view name) {
  const auto [at, added] =
      name_ids_.try_emplace(std::string(name), static_cast<NameId>(program_.names.size()));
  if (added) program_.names.push_back({std::string(name), find_method(name)});
  return at->second;
}

Result<void> Parser::add_child(Expr& parent, ExprPtr child) {
  const std::uint32_t depth = child ? child->depth + 1U : 1U;
  if (depth > depth_max_) {
    auto failure = too_deep("expression", depth_max_);
    failure.error().source = "line " + std::to_string(parent.line);
    return failure;
  }
  parent.depth = std::max(parent.depth, static_cast<std::uint16_t>(depth));
  parent.children.push_back(std::move(child));
  return {};
}

Result<ExprPtr> Parser::node(ExprKind kind, std::uint32_t line,
                             std::initializer_list<ExprPtr*> children) {
  auto expr = std::make_unique<Expr>();
  expr->kind = kind;
  expr->line = line;
  expr->children.reserve(children.size());
  for (ExprPtr* child : children) PELLUCID_TRY_VOID(add_child(*expr, std::move(*child)));
  return expr;
}

Result<ExprPtr> Parser::literal(std::uint32_t line, Literal value) {
  PELLUCID_TRY(auto expr, node(ExprKind::kLiteral, line, {}));
  expr->id = static_cast<std::uint32_t>(program_.literals.size());
  program_.literals.push_back(std::move(value));
  return expr;
}

Result<ExprPtr> Parser::parse_expression(bool with_conditional) {
  const DepthGuard guard(depth_);
  PELLUCID_TRY_VOID(check_depth());
  PELLUCID_TRY(auto value, parse_or());
  while (with_conditional) {
    const std::uint32_t line = current_.line;
    PELLUCID_TRY(const bool has_if, skip_name("if"));
    if (!has_if) break;
    PELLUCID_TRY(auto condition, parse_or());
    PELLUCID_TRY(const bool has_else, skip_name("else"));
    ExprPtr otherwise;
    if (has_else) {
      PELLUCID_TRY(otherwise, parse_expression());
    }
    PELLUCID_TRY(value, node(ExprKind::kConditional, line, {&condition, &value, &otherwise}));
  }
  return value;
}

/// One expression, or a tuple when commas follow. Parentheses allow the empty tuple.
Result<ExprPtr> Parser::parse_tuple(bool with_conditional, bool in_parentheses) {
  const std::uint32_t line = current_.line;
  PELLUCID_TRY(auto tuple, node(ExprKind::kTuple, line, {}));
  bool has_comma = false;
  while (true) {
    const bool ends = current_.type == TokenType::kBlockEnd ||
                      current_.type == TokenType::kVariableEnd || current_.is_operator(")");
    if (ends) break;
    PELLUCID_TRY(auto item, parse_expression(with_conditional));
    PELLUCID_TRY(const bool comma, skip_operator(","));
    if (!comma && !has_comma) return item;
    PELLUCID_TRY_VOID(add_child(*tuple, std::move(item)));
    if (!comma) break;
    has_comma = true;
  }
  if (!has_comma && !in_parentheses) return unexpected_token("an expression");
  return tuple;
}

Result<ExprPtr> Parser::parse_or() {
  PELLUCID_TRY(auto left, parse_and());
  while (current_.is_name("or")) {
    const std::uint32_t line = current_.line;
    PELLUCID_TRY_VOID(advance());
    PELLUCID_TRY(auto right, parse_and());
    PELLUCID_TRY(left, node(ExprKind::kOr, line, {&left, &right}));
  }
  return left;
}

Result<ExprPtr> Parser::parse_and() {
  PELLUCID_TRY(auto left, parse_not());
  while (current_.is_name("and")) {
    const std::uint32_t line = current_.line;
    PELLUCID_TRY_VOID(advance());
    PELLUCID_TRY(auto right, parse_not());
    PELLUCID_TRY(left, node(ExprKind::kAnd, line, {&left, &right}));
  }
  return left;
}

Result<ExprPtr> Parser::parse_not() {
  if (!current_.is_name("not")) return parse_compare();
  const DepthGuard guard(depth_);
  PELLUCID_TRY_VOID(check_depth());
  const std::uint32_t line = current_.line;
  PELLUCID_TRY_VOID(advance());
  PELLUCID_TRY(auto operand, parse_not());
  return node(ExprKind::kNot, line, {&operand});
}

/// Consumes a comparison operator; kNone when there is none.
Result<Op> Parser::parse_compare_operator() {
  constexpr std::pair<std::string_view, Op> kOperators[] = {
      {"==", Op::kEqual},     {"!=", Op::kNotEqual}, {"<", Op::kLess},
      {"<=", Op::kLessEqual}, {">", Op::kGreater},   {">=", Op::kGreaterEqual}};
  for (const auto& [text, op] : kOperators) {
    PELLUCID_TRY(const bool found, skip_operator(text));
    if (found) return op;
  }
  PELLUCID_TRY(const bool in, skip_name("in"));
  if (in) return Op::kIn;
  if (!current_.is_name("not")) return Op::kNone;
  PELLUCID_TRY_VOID(look_ahead());
  if (!ahead_.is_name("in")) return Op::kNone;
  PELLUCID_TRY_VOID(advance());
  PELLUCID_TRY_VOID(advance());
  return Op::kNotIn;
}

Result<ExprPtr> Parser::parse_compare() {
  PELLUCID_TRY(auto first, parse_sum());
  ExprPtr chain;
  while (true) {
    const std::uint32_t line = current_.line;
    PELLUCID_TRY(const Op op, parse_compare_operator());
    if (op == Op::kNone) break;
    PELLUCID_TRY(auto value, parse_sum());
    PELLUCID_TRY(auto operand, node(ExprKind::kOperand, line, {&value}));
    operand->op = op;
    if (!chain) {
      PELLUCID_TRY(chain, node(ExprKind::kCompare, line, {&first}));
    }
    PELLUCID_TRY_VOID(add_child(*chain, std::move(operand)));
  }
  return chain ? std::move(chain) : std::move(first);
}

Result<ExprPtr> Parser::parse_sum() {
  PELLUCID_TRY(auto left, parse_concat());
  while (current_.is_operator("+") || current_.is_operator("-")) {
    const Op op = current_.text == "+" ? Op::kAdd : Op::kSubtract;
    const std::uint32_t line = current_.line;
    PELLUCID_TRY_VOID(advance());
    PELLUCID_TRY(auto right, parse_concat());
    PELLUCID_TRY(left, node(ExprKind::kBinary, line, {&left, &right}));
    left->op = op;
  }
  return left;
}

Result<ExprPtr> Parser::parse_concat() {
  const std::uint32_t line = current_.line;
  PELLUCID_TRY(auto first, parse_product());
  if (!current_.is_operator("~")) return first;
  PELLUCID_TRY(auto concat, node(ExprKind::kConcat, line, {&first}));
  while (current_.is_operator("~")) {
    PELLUCID_TRY_VOID(advance());
    PELLUCID_TRY(auto piece, parse_product());
    PELLUCID_TRY_VOID(add_child(*concat, std::move(piece)));
  }
  return concat;
}

Result<ExprPtr> Parser::parse_product() {
  constexpr std::pair<std::string_view, Op> kOperators[] = {
      {"*", Op::kMultiply}, {"/", Op::kDivide}, {"//", Op::kFloorDivide}, {"%", Op::kModulo}};
  PELLUCID_TRY(auto left, parse_power());
  while (true) {
    const auto* op =
        std::find_if(std::begin(kOperators), std::end(kOperators),
                     [this](const auto& entry) { return current_.is_operator(entry.first); });
    if (op == std::end(kOperators)) return left;
    const std::uint32_t line = current_.line;
    PELLUCID_TRY_VOID(advance());
    PELLUCID_TRY(auto right, parse_power());
    PELLUCID_TRY(left, node(ExprKind::kBinary, line, {&left, &right}));
    left->op = op->second;
  }
}

/// Left-associative, as in Jinja and unlike Python.
Result<ExprPtr> Parser::parse_power() {
  PELLUCID_TRY(auto left, parse_unary(true));
  while (current_.is_operator("**")) {
    const std::uint32_t line = current_.line;
    PELLUCID_TRY_VOID(advance());
    PELLUCID_TRY(auto right, parse_unary(true));
    PELLUCID_TRY(left, node(ExprKind::kBinary, line, {&left, &right}));
    left->op = Op::kPower;
  }
  return left;
}

/// A sign binds looser than postfix and tighter than filters, which Jinja applies to its result.
Result<ExprPtr> Parser::parse_unary(bool with_filter) {
  const DepthGuard guard(depth_);
  PELLUCID_TRY_VOID(check_depth());
  const std::uint32_t line = current_.line;
  ExprPtr value;
  if (current_.is_operator("-") || current_.is_operator("+")) {
    const Op op = current_.text == "-" ? Op::kSubtract : Op::kAdd;
    PELLUCID_TRY_VOID(advance());
    PELLUCID_TRY(auto operand, parse_unary(false));
    PELLUCID_TRY(value, node(ExprKind::kUnary, line, {&operand}));
    value->op = op;
  } else {
    PELLUCID_TRY(value, parse_primary());
  }
  PELLUCID_TRY(value, parse_postfix(std::move(value)));
  if (!with_filter) return value;
  return parse_pipes(std::move(value));
}

}  // namespace pellucid::tokenizer::jinja
