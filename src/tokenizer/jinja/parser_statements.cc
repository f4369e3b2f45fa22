// Text, {{ }} and the tags.
#include <algorithm>

#include "tokenizer/jinja/parser.h"

namespace pellucid::tokenizer::jinja {
namespace {

constexpr std::string_view kTags =
    "if, for, set, macro, break, continue, generation, raw, and their ends";

bool is_constant_name(std::string_view name) {
  return name == "true" || name == "false" || name == "none" || name == "True" || name == "False" ||
         name == "None";
}

std::string join_tags(std::initializer_list<std::string_view> tags) {
  std::string text;
  for (const std::string_view tag : tags) {
    if (!text.empty()) text += " or ";
    text += "{% " + std::string(tag) + " %}";
  }
  return text;
}

}  // namespace

/// Statements up to one of the tags in `ends`, which becomes the current token (its name); with no
/// ends, up to the end of the template.
Result<Body> Parser::parse_body(std::initializer_list<std::string_view> ends) {
  const DepthGuard guard(depth_);
  PELLUCID_TRY_VOID(check_depth());
  Body body;
  while (current_.type != TokenType::kEnd) {
    Statement statement{.line = current_.line};
    if (current_.type == TokenType::kText) {
      statement.text = std::string(current_.text);
      PELLUCID_TRY_VOID(advance());
    } else if (current_.type == TokenType::kVariableBegin) {
      statement.kind = StatementKind::kOutput;
      PELLUCID_TRY_VOID(advance());
      PELLUCID_TRY(auto value, parse_tuple(true, false));
      statement.exprs.push_back(std::move(value));
      PELLUCID_TRY_VOID(expect_end(TokenType::kVariableEnd));
    } else {
      PELLUCID_TRY_VOID(advance());
      const bool ended =
          current_.type == TokenType::kName && std::ranges::count(ends, current_.text) > 0;
      if (ended) return body;
      PELLUCID_TRY(statement, parse_statement());
      PELLUCID_TRY_VOID(expect_end(TokenType::kBlockEnd));
    }
    body.push_back(std::move(statement));
  }
  if (ends.size() > 0) return unexpected_token(join_tags(ends));
  return body;
}

/// `%}`, then a body in its own place.
Result<Body> Parser::parse_nested(std::initializer_list<std::string_view> ends, Place place) {
  PELLUCID_TRY(bool colon, skip_operator(":"));
  static_cast<void>(colon);
  PELLUCID_TRY_VOID(expect_end(TokenType::kBlockEnd));
  const Place outer = std::exchange(place_, place);
  PELLUCID_TRY(auto body, parse_body(ends));
  place_ = outer;
  return body;
}

/// As parse_nested with one possible end, which is consumed.
Result<Body> Parser::parse_last(std::string_view end, Place place) {
  PELLUCID_TRY(auto body, parse_nested({end}, place));
  PELLUCID_TRY_VOID(advance());
  return body;
}

Result<Statement> Parser::parse_statement() {
  if (current_.is_name("if")) return parse_if();
  if (current_.is_name("for")) return parse_for();
  if (current_.is_name("set")) return parse_set();
  if (current_.is_name("macro")) return parse_macro();
  if (current_.is_name("generation")) return parse_generation();
  if (current_.is_name("break")) return parse_jump(StatementKind::kBreak);
  if (current_.is_name("continue")) return parse_jump(StatementKind::kContinue);
  return unexpected_token(kTags);
}

Result<Statement> Parser::parse_if() {
  Statement statement{.kind = StatementKind::kIf, .line = current_.line};
  while (true) {
    PELLUCID_TRY_VOID(advance());
    PELLUCID_TRY(auto condition, parse_tuple(false, false));
    statement.exprs.push_back(std::move(condition));
    PELLUCID_TRY(auto body, parse_nested({"elif", "else", "endif"}, place_));
    statement.bodies.push_back(std::move(body));
    if (current_.is_name("elif")) continue;
    const bool has_else = current_.is_name("else");
    PELLUCID_TRY_VOID(advance());
    if (!has_else) return statement;
    PELLUCID_TRY(auto other, parse_last("endif", place_));
    statement.bodies.push_back(std::move(other));
    return statement;
  }
}

Result<Statement> Parser::parse_for() {
  Statement statement{.kind = StatementKind::kFor, .line = current_.line};
  PELLUCID_TRY_VOID(advance());
  PELLUCID_TRY(statement.target, parse_target(false));
  PELLUCID_TRY(const bool in, skip_name("in"));
  if (!in) return unexpected_token("'in'");
  PELLUCID_TRY(auto iterable, parse_tuple(false, false));
  ExprPtr filter;
  PELLUCID_TRY(const bool has_filter, skip_name("if"));
  if (has_filter) {
    PELLUCID_TRY(filter, parse_expression());
  }
  if (current_.is_name("recursive")) return unexpected_token("a loop that is not recursive");
  statement.exprs.push_back(std::move(iterable));
  statement.exprs.push_back(std::move(filter));
  const Place inside{.loop = true, .macro = place_.macro, .scope = true};
  PELLUCID_TRY(auto body, parse_nested({"else", "endfor"}, inside));
  statement.bodies.push_back(std::move(body));
  const bool has_else = current_.is_name("else");
  PELLUCID_TRY_VOID(advance());
  Body otherwise;
  if (has_else) {
    PELLUCID_TRY(
        otherwise,
        parse_last("endfor", Place{.loop = place_.loop, .macro = place_.macro, .scope = true}));
  }
  statement.bodies.push_back(std::move(otherwise));
  return statement;
}

Result<Statement> Parser::parse_set() {
  Statement statement{.kind = StatementKind::kSet, .line = current_.line};
  PELLUCID_TRY_VOID(advance());
  PELLUCID_TRY(statement.target, parse_target(true));
  PELLUCID_TRY(const bool assigned, skip_operator("="));
  if (assigned) {
    PELLUCID_TRY(auto value, parse_tuple(true, false));
    statement.exprs.push_back(std::move(value));
    return statement;
  }
  statement.kind = StatementKind::kSetBlock;
  while (current_.is_operator("|")) {
    PELLUCID_TRY_VOID(advance());
    PELLUCID_TRY(auto filter, parse_filter(nullptr));
    statement.exprs.push_back(std::move(filter));
  }
  const Place inside{.loop = place_.loop, .macro = place_.macro, .scope = true};
  PELLUCID_TRY(auto body, parse_last("endset", inside));
  statement.bodies.push_back(std::move(body));
  return statement;
}

Result<Statement> Parser::parse_macro() {
  Statement statement{.kind = StatementKind::kMacro, .line = current_.line};
  if (place_.scope) {
    return syntax_error(current_.line, "macro", "a definition inside a loop, macro or set block",
                        "a definition at the top level");
  }
  PELLUCID_TRY_VOID(advance());
  Macro macro;
  PELLUCID_TRY(const Target name, parse_target_part(false));
  macro.name = name.name;
  PELLUCID_TRY_VOID(parse_signature(macro));
  const Macro* outer = std::exchange(macro_, &macro);
  PELLUCID_TRY(macro.body, parse_last("endmacro", Place{.macro = true, .scope = true}));
  macro_ = outer;
  statement.macro = static_cast<std::uint32_t>(program_.macros.size());
  program_.macros.push_back(std::move(macro));
  return statement;
}

Result<void> Parser::parse_signature(Macro& macro) {
  PELLUCID_TRY_VOID(expect_operator("("));
  while (!current_.is_operator(")")) {
    PELLUCID_TRY(const Target parameter, parse_target_part(false));
    if (std::ranges::count(macro.parameters, parameter.name) > 0) {
      return unexpected_token("parameters with different names");
    }
    PELLUCID_TRY(const bool has_default, skip_operator("="));
    ExprPtr value;
    if (has_default) {
      PELLUCID_TRY(value, parse_expression());
    } else if (!macro.defaults.empty() && macro.defaults.back() != nullptr) {
      return unexpected_token("a default value, as the parameter before has one");
    }
    macro.parameters.push_back(parameter.name);
    macro.defaults.push_back(std::move(value));
    if (!current_.is_operator(")")) PELLUCID_TRY_VOID(expect_operator(","));
  }
  return advance();
}

/// {% generation %} marks the tokens that training counts; rendering only gives it a scope.
Result<Statement> Parser::parse_generation() {
  Statement statement{.kind = StatementKind::kScope, .line = current_.line};
  PELLUCID_TRY_VOID(advance());
  PELLUCID_TRY(auto body, parse_last("endgeneration", Place{.macro = place_.macro, .scope = true}));
  statement.bodies.push_back(std::move(body));
  return statement;
}

Result<Statement> Parser::parse_jump(StatementKind kind) {
  if (!place_.loop) return unexpected_token("break and continue inside loops only");
  Statement statement{.kind = kind, .line = current_.line};
  PELLUCID_TRY_VOID(advance());
  return statement;
}

Result<Target> Parser::parse_target(bool with_namespace) {
  const DepthGuard guard(depth_);
  PELLUCID_TRY_VOID(check_depth());
  Target tuple{.kind = Target::Kind::kTuple};
  while (true) {
    PELLUCID_TRY(auto part, parse_target_part(with_namespace));
    PELLUCID_TRY(const bool comma, skip_operator(","));
    if (!comma && tuple.parts.empty()) return part;
    tuple.parts.push_back(std::move(part));
    const bool more =
        current_.type == TokenType::kName ? !current_.is_name("in") : current_.is_operator("(");
    if (!comma || !more) return tuple;
  }
}

Result<Target> Parser::parse_target_part(bool with_namespace) {
  PELLUCID_TRY(const bool parenthesis, skip_operator("("));
  if (parenthesis) {
    PELLUCID_TRY(auto inner, parse_target(with_namespace));
    PELLUCID_TRY_VOID(expect_operator(")"));
    return inner;
  }
  if (is_constant_name(current_.text)) return unexpected_token("a name that can be assigned");
  PELLUCID_TRY(const std::string_view name, expect_name());
  Target target{.name = intern(name)};
  if (!with_namespace) return target;
  PELLUCID_TRY(const bool dot, skip_operator("."));
  if (!dot) return target;
  target.kind = Target::Kind::kNamespaceAttribute;
  PELLUCID_TRY(const std::string_view attribute, expect_name());
  target.attribute = intern(attribute);
  return target;
}

}  // namespace pellucid::tokenizer::jinja
