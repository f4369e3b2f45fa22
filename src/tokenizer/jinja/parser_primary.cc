// Literals, attributes, subscripts, calls, filters and tests.
#include <algorithm>
#include <array>
#include <charconv>

#include "base/utf8.h"
#include "tokenizer/jinja/filters.h"
#include "tokenizer/jinja/parser.h"
#include "tokenizer/jinja/predicates.h"

namespace pellucid::tokenizer::jinja {
namespace {

/// `raw` is a quoted string of the source. Escapes as in Python; a lone surrogate, a named
/// character and an unfinished escape are refused.
class Unescaper {
 public:
  Unescaper(std::string_view raw, std::uint32_t line)
      : text_(raw.substr(1, raw.size() - 2)), line_(line) {}

  Result<std::string> run() {
    while (at_ < text_.size()) {
      if (text_[at_] != '\\') {
        out_ += text_[at_++];
        continue;
      }
      ++at_;
      PELLUCID_TRY_VOID(escape(text_[at_++]));
    }
    return std::move(out_);
  }

 private:
  Result<void> escape(char c) {
    constexpr std::string_view kCodes = "\\'\"abfnrtv";
    constexpr std::string_view kValues = "\\'\"\a\b\f\n\r\t\v";
    if (const auto i = kCodes.find(c); i != std::string_view::npos) {
      out_ += kValues[i];
      return {};
    }
    if (c == '\n') return {};
    if (c == 'x') return number(2, 16);
    if (c == 'u') return number(4, 16);
    if (c == 'U') return number(8, 16);
    if (c >= '0' && c <= '7') {
      --at_;
      return octal();
    }
    if (c == 'N' || static_cast<unsigned char>(c) >= 0x80) return refuse("this escape");
    out_ += '\\';
    out_ += c;
    return {};
  }

  Result<void> octal() {
    std::size_t size = 0;
    while (size < 3 && at_ + size < text_.size() && text_[at_ + size] >= '0' &&
           text_[at_ + size] <= '7') {
      ++size;
    }
    return number(size, 8);
  }

  Result<void> number(std::size_t size, int base) {
    const std::string_view digits = text_.substr(at_, size);
    std::uint32_t code = 0;
    const auto end = std::from_chars(digits.data(), digits.data() + digits.size(), code, base);
    if (digits.size() != size || end.ptr != digits.data() + size) return refuse("this number");
    if (code > 0x10FFFF || (code >= 0xD800 && code <= 0xDFFF)) return refuse("this code point");
    utf8::append(out_, code);
    at_ += size;
    return {};
  }

  [[nodiscard]] std::unexpected<Error> refuse(std::string_view found) const {
    return syntax_error(line_, "string escape", found, "an escape for a Unicode character");
  }

  std::string_view text_;
  std::uint32_t line_;
  std::size_t at_ = 0;
  std::string out_;
};

std::string without_underscores(std::string_view text) {
  std::string digits;
  for (const char c : text) {
    if (c != '_') digits += c;
  }
  return digits;
}

}  // namespace

Result<ExprPtr> Parser::parse_primary() {
  const Token token = current_;
  if (token.type == TokenType::kString) return parse_string();
  if (token.type == TokenType::kInteger || token.type == TokenType::kFloat) return parse_number();
  if (token.is_operator("[")) return parse_list();
  if (token.is_operator("{")) return parse_dict();
  if (token.is_operator("(")) {
    PELLUCID_TRY_VOID(advance());
    PELLUCID_TRY(auto inner, parse_tuple(true, true));
    PELLUCID_TRY_VOID(expect_operator(")"));
    return inner;
  }
  if (token.type != TokenType::kName) return unexpected_token("an expression");
  PELLUCID_TRY_VOID(advance());
  const std::string_view name = token.text;
  if (name == "true" || name == "True") return literal(token.line, true);
  if (name == "false" || name == "False") return literal(token.line, false);
  if (name == "none" || name == "None") return literal(token.line, std::monostate{});
  PELLUCID_TRY(auto expr, node(ExprKind::kName, token.line, {}));
  expr->id = intern(name);
  const bool implicit = name == "varargs" || name == "kwargs" || name == "caller";
  if (implicit && macro_ != nullptr && std::ranges::count(macro_->parameters, expr->id) == 0) {
    return syntax_error(token.line, "macro", "'" + std::string(name) + "'",
                        "declared parameters (this implicit argument is not supported)");
  }
  return expr;
}

Result<ExprPtr> Parser::parse_string() {
  const std::uint32_t line = current_.line;
  std::string text;
  while (current_.type == TokenType::kString) {
    PELLUCID_TRY(const std::string piece, Unescaper(current_.text, current_.line).run());
    text += piece;
    PELLUCID_TRY_VOID(advance());
  }
  return literal(line, std::move(text));
}

Result<ExprPtr> Parser::parse_number() {
  const Token token = current_;
  PELLUCID_TRY_VOID(advance());
  const std::string digits = without_underscores(token.text);
  const char* end = digits.data() + digits.size();
  if (token.type == TokenType::kFloat) {
    double value = 0;
    const auto parsed = std::from_chars(digits.data(), end, value);
    if (parsed.ec != std::errc() || parsed.ptr != end) {
      return syntax_error(token.line, "number", digits, "a double-precision number");
    }
    return literal(token.line, value);
  }
  const char radix = digits.size() > 2 ? static_cast<char>(digits[1] | 0x20) : '\0';
  const int base = radix == 'x' ? 16 : radix == 'o' ? 8 : radix == 'b' ? 2 : 10;
  std::int64_t value = 0;
  const auto parsed = std::from_chars(digits.data() + (base == 10 ? 0 : 2), end, value, base);
  if (parsed.ec != std::errc() || parsed.ptr != end) {
    return syntax_error(token.line, "integer", digits, "a 64-bit signed integer");
  }
  return literal(token.line, value);
}

Result<ExprPtr> Parser::parse_list() {
  PELLUCID_TRY(auto list, node(ExprKind::kList, current_.line, {}));
  PELLUCID_TRY_VOID(expect_operator("["));
  while (!current_.is_operator("]")) {
    PELLUCID_TRY(auto item, parse_expression());
    PELLUCID_TRY_VOID(add_child(*list, std::move(item)));
    if (!current_.is_operator("]")) PELLUCID_TRY_VOID(expect_operator(","));
  }
  PELLUCID_TRY_VOID(advance());
  return list;
}

Result<ExprPtr> Parser::parse_dict() {
  PELLUCID_TRY(auto dict, node(ExprKind::kDict, current_.line, {}));
  PELLUCID_TRY_VOID(expect_operator("{"));
  while (!current_.is_operator("}")) {
    PELLUCID_TRY(auto key, parse_expression());
    PELLUCID_TRY_VOID(expect_operator(":"));
    PELLUCID_TRY(auto value, parse_expression());
    PELLUCID_TRY_VOID(add_child(*dict, std::move(key)));
    PELLUCID_TRY_VOID(add_child(*dict, std::move(value)));
    if (!current_.is_operator("}")) PELLUCID_TRY_VOID(expect_operator(","));
  }
  PELLUCID_TRY_VOID(advance());
  return dict;
}

Result<ExprPtr> Parser::parse_postfix(ExprPtr value) {
  while (true) {
    if (current_.is_operator(".")) {
      PELLUCID_TRY(value, parse_dot(std::move(value)));
    } else if (current_.is_operator("[")) {
      PELLUCID_TRY(value, parse_subscript(std::move(value)));
    } else if (current_.is_operator("(")) {
      PELLUCID_TRY(value, node(ExprKind::kCall, current_.line, {&value}));
      PELLUCID_TRY_VOID(parse_arguments(*value));
    } else {
      return value;
    }
  }
}

/// Filters, tests and calls of their results.
Result<ExprPtr> Parser::parse_pipes(ExprPtr value) {
  while (true) {
    if (current_.is_operator("|")) {
      PELLUCID_TRY_VOID(advance());
      PELLUCID_TRY(value, parse_filter(std::move(value)));
    } else if (current_.is_name("is")) {
      PELLUCID_TRY(value, parse_test(std::move(value)));
    } else if (current_.is_operator("(")) {
      PELLUCID_TRY(value, node(ExprKind::kCall, current_.line, {&value}));
      PELLUCID_TRY_VOID(parse_arguments(*value));
    } else {
      return value;
    }
  }
}

Result<ExprPtr> Parser::parse_dot(ExprPtr object) {
  const std::uint32_t line = current_.line;
  PELLUCID_TRY_VOID(advance());
  if (current_.type == TokenType::kInteger) {
    PELLUCID_TRY(auto index, parse_number());
    return node(ExprKind::kItem, line, {&object, &index});
  }
  PELLUCID_TRY(const std::string_view name, expect_name());
  PELLUCID_TRY(auto expr, node(ExprKind::kAttribute, line, {&object}));
  expr->id = intern(name);
  return expr;
}

Result<ExprPtr> Parser::parse_subscript(ExprPtr object) {
  const std::uint32_t line = current_.line;
  PELLUCID_TRY_VOID(advance());
  ExprPtr index;
  if (!current_.is_operator(":")) {
    PELLUCID_TRY(index, parse_expression());
  }
  if (current_.is_operator(":")) return parse_slice(std::move(object), std::move(index));
  PELLUCID_TRY_VOID(expect_operator("]"));
  return node(ExprKind::kItem, line, {&object, &index});
}

Result<ExprPtr> Parser::parse_slice(ExprPtr object, ExprPtr start) {
  const std::uint32_t line = current_.line;
  std::array<ExprPtr, 2> limits;  // stop, step
  for (ExprPtr& limit : limits) {
    PELLUCID_TRY(const bool more, skip_operator(":"));
    if (!more) break;
    if (current_.is_operator("]") || current_.is_operator(":")) continue;
    PELLUCID_TRY(limit, parse_expression());
  }
  PELLUCID_TRY_VOID(expect_operator("]"));
  return node(ExprKind::kSlice, line, {&object, &start, &limits[0], &limits[1]});
}

/// `( ... )`: appends the arguments to the children of `call`.
Result<void> Parser::parse_arguments(Expr& call) {
  PELLUCID_TRY_VOID(expect_operator("("));
  while (!current_.is_operator(")")) {
    if (current_.is_operator("*") || current_.is_operator("**")) {
      return unexpected_token("arguments one by one (unpacking is not supported)");
    }
    bool is_keyword = false;
    if (current_.type == TokenType::kName) {
      PELLUCID_TRY_VOID(look_ahead());
      is_keyword = ahead_.is_operator("=");
    }
    if (is_keyword) {
      call.keywords.push_back(intern(current_.text));
      PELLUCID_TRY_VOID(advance());
      PELLUCID_TRY_VOID(advance());
    } else if (!call.keywords.empty()) {
      return unexpected_token("a keyword argument");
    }
    PELLUCID_TRY(auto value, parse_expression());
    PELLUCID_TRY_VOID(add_child(call, std::move(value)));
    if (!current_.is_operator(")")) PELLUCID_TRY_VOID(expect_operator(","));
  }
  return advance();
}

/// After the pipe. `subject` is null for the filters of a set block.
Result<ExprPtr> Parser::parse_filter(ExprPtr subject) {
  const std::uint32_t line = current_.line;
  PELLUCID_TRY(const std::string_view name, expect_name());
  const Filter* filter = find_filter(name);
  if (filter == nullptr || current_.is_operator(".")) {
    return syntax_error(line, "filter", "'" + std::string(name) + "'", filter_names());
  }
  PELLUCID_TRY(auto expr, node(ExprKind::kFilter, line, {&subject}));
  expr->id = static_cast<std::uint32_t>(program_.filters.size());
  program_.filters.push_back(filter);
  if (current_.is_operator("(")) PELLUCID_TRY_VOID(parse_arguments(*expr));
  return expr;
}

Result<ExprPtr> Parser::parse_test(ExprPtr subject) {
  const std::uint32_t line = current_.line;
  PELLUCID_TRY_VOID(advance());
  PELLUCID_TRY(const bool negated, skip_name("not"));
  PELLUCID_TRY(const std::string_view name, expect_name());
  const Test* test = find_test(name);
  if (test == nullptr || current_.is_operator(".")) {
    return syntax_error(line, "test", "'" + std::string(name) + "'", test_names());
  }
  PELLUCID_TRY(auto expr, node(ExprKind::kTest, line, {&subject}));
  expr->id = static_cast<std::uint32_t>(program_.tests.size());
  program_.tests.push_back(test);
  const bool plain_name = current_.type == TokenType::kName && !current_.is_name("else") &&
                          !current_.is_name("or") && !current_.is_name("and");
  if (current_.is_operator("(")) {
    PELLUCID_TRY_VOID(parse_arguments(*expr));
  } else if (plain_name || current_.type == TokenType::kString ||
             current_.type == TokenType::kInteger || current_.type == TokenType::kFloat ||
             current_.is_operator("[") || current_.is_operator("{")) {
    if (current_.is_name("is")) return unexpected_token("one test (tests cannot be chained)");
    PELLUCID_TRY(auto argument, parse_primary());
    PELLUCID_TRY(argument, parse_postfix(std::move(argument)));
    PELLUCID_TRY_VOID(add_child(*expr, std::move(argument)));
  }
  if (!negated) return expr;
  return node(ExprKind::kNot, line, {&expr});
}

}  // namespace pellucid::tokenizer::jinja
