#include "tokenizer/jinja/lexer.h"

#include <algorithm>
#include <array>

#include "base/utf8.h"
#include "tokenizer/jinja/text.h"

namespace pellucid::tokenizer::jinja {
namespace {

constexpr std::array<std::string_view, 6> kLongOperators = {"//", "**", "==", "!=", ">=", "<="};
constexpr std::string_view kShortOperators = "+-/*%~[](){}><=.:|,;";

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

bool is_name_start(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

bool is_name_char(char c) {
  return is_name_start(c) || is_digit(c);
}

/// End of `(\d+_)*\d+` at `at`, or `at` when it does not match.
std::size_t skip_digits(std::string_view s, std::size_t at) {
  while (at < s.size() && is_digit(s[at])) {
    while (at < s.size() && is_digit(s[at])) ++at;
    if (at + 1 < s.size() && s[at] == '_' && is_digit(s[at + 1])) ++at;
  }
  return at;
}

/// End of the exponent at `at`, or `at` when there is none.
std::size_t skip_exponent(std::string_view s, std::size_t at) {
  if (at >= s.size() || (s[at] != 'e' && s[at] != 'E')) return at;
  std::size_t digits = at + 1;
  if (digits < s.size() && (s[digits] == '+' || s[digits] == '-')) ++digits;
  const std::size_t end = skip_digits(s, digits);
  return end == digits ? at : end;
}

bool is_radix_digit(char c, char radix) {
  if (radix == 'b') return c == '0' || c == '1';
  if (radix == 'o') return c >= '0' && c <= '7';
  return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

std::size_t skip_integer(std::string_view s, std::size_t at) {
  if (s[at] != '0') return skip_digits(s, at);
  const char radix = at + 1 < s.size() ? static_cast<char>(s[at + 1] | 0x20) : '\0';
  if (radix == 'b' || radix == 'o' || radix == 'x') {
    std::size_t end = at + 2;
    while (end < s.size() &&
           (is_radix_digit(s[end], radix) ||
            (s[end] == '_' && end + 1 < s.size() && is_radix_digit(s[end + 1], radix)))) {
      ++end;
    }
    if (end > at + 2) return end;
  }
  std::size_t end = at + 1;
  while (end < s.size() && (s[end] == '0' || (s[end] == '_' && s.substr(end + 1, 1) == "0"))) ++end;
  return end;
}

}  // namespace

std::string normalize_newlines(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\r') {
      out += text[i];
      continue;
    }
    out += '\n';
    if (i + 1 < text.size() && text[i + 1] == '\n') ++i;
  }
  if (out.ends_with('\n')) out.pop_back();
  return out;
}

std::unexpected<Error> syntax_error(std::uint32_t line, std::string_view object,
                                    std::string_view found, std::string_view expected) {
  return fail({.kind = ErrorKind::kInvalid,
               .rule = "template_syntax",
               .object = std::string(object),
               .found = std::string(found),
               .expected = std::string(expected),
               .source = "line " + std::to_string(line)});
}

Result<Token> Lexer::next() {
  while (ready_.empty()) {
    if (state_ != State::kRoot) return lex_inside();
    if (offset_ >= source_.size()) return Token{.type = TokenType::kEnd, .line = line_};
    PELLUCID_TRY_VOID(lex_root());
  }
  const Token token = ready_.front();
  ready_.pop_front();
  return token;
}

void Lexer::advance(std::size_t to) {
  line_ += static_cast<std::uint32_t>(
      std::count(source_.begin() + static_cast<std::ptrdiff_t>(offset_),
                 source_.begin() + static_cast<std::ptrdiff_t>(to), '\n'));
  if (to > offset_) line_starting_ = source_[to - 1] == '\n';
  offset_ = to;
}

std::size_t Lexer::skip_space(std::size_t at) const {
  while (at < source_.size()) {
    const utf8::Decoded d = utf8::decode(source_, at);
    if (!is_space(d.code_point)) break;
    at += d.length;
  }
  return at;
}

Token Lexer::take(TokenType type, std::size_t size) {
  const Token token{.type = type, .line = line_, .text = source_.substr(offset_, size)};
  advance(offset_ + size);
  return token;
}

/// Queues the text before a tag. '-' strips all space at its end; otherwise, before a block or a
/// comment, the space between the start of the line and the tag goes (lstrip_blocks).
void Lexer::push_text(std::string_view text, char mark, bool may_lstrip) {
  const std::uint32_t line = line_;
  const bool starts_line = line_starting_;
  std::string_view kept = text;
  if (mark == '-') {
    kept = strip_right(text);
  } else if (mark != '+' && may_lstrip) {
    const std::size_t newline = text.rfind('\n');
    const std::size_t line_start = newline == std::string_view::npos ? 0 : newline + 1;
    const std::string_view indent = text.substr(line_start);
    if ((line_start > 0 || starts_line) && !indent.empty() && strip_right(indent).empty()) {
      kept = text.substr(0, line_start);
    }
  }
  if (!kept.empty()) ready_.push_back({.type = TokenType::kText, .line = line, .text = kept});
}

Result<void> Lexer::lex_root() {
  std::size_t tag = source_.find('{', offset_);
  while (tag != std::string_view::npos && !at(tag, "{%") && !at(tag, "{{") && !at(tag, "{#")) {
    tag = source_.find('{', tag + 1);
  }
  if (tag == std::string_view::npos) {
    ready_.push_back(take(TokenType::kText, source_.size() - offset_));
    return {};
  }
  const char kind = source_[tag + 1];
  const char mark = tag + 2 < source_.size() ? source_[tag + 2] : '\0';
  push_text(source_.substr(offset_, tag - offset_), mark, kind != '{');
  advance(tag);
  if (kind == '%') {
    PELLUCID_TRY(const bool raw, lex_raw(tag));
    if (raw) return {};
  }
  const bool marked = mark == '-' || mark == '+';
  if (kind == '#') {
    advance(tag + (marked ? 3 : 2));
    return skip_comment();
  }
  const TokenType type = kind == '%' ? TokenType::kBlockBegin : TokenType::kVariableBegin;
  ready_.push_back(take(type, marked ? 3 : 2));
  state_ = kind == '%' ? State::kBlock : State::kVariable;
  return {};
}

Result<void> Lexer::skip_comment() {
  const std::size_t close = source_.find("#}", offset_);
  if (close == std::string_view::npos) {
    return syntax_error(line_, "comment", "no end", "#}");
  }
  std::size_t end = close + 2;
  const char mark = close > offset_ ? source_[close - 1] : '\0';
  if (mark == '-') {
    end = skip_space(end);
  } else if (mark != '+' && at(end, "\n")) {
    ++end;
  }
  advance(end);
  return {};
}

/// {% raw %} ... {% endraw %}: queues what is between. False when the tag at `tag` is another one.
Result<bool> Lexer::lex_raw(std::size_t tag) {
  const auto skip_mark = [this](std::size_t i) { return at(i, "-") || at(i, "+") ? i + 1 : i; };
  std::size_t i = skip_space(skip_mark(tag + 2));
  if (!at(i, "raw")) return false;
  i = skip_space(i + 3);
  if (at(i, "-%}")) {
    i = skip_space(i + 3);
  } else if (at(i, "%}")) {
    i += 2;
  } else {
    return false;
  }
  advance(i);
  for (std::size_t end = source_.find("{%", i); end != std::string_view::npos;
       end = source_.find("{%", end + 2)) {
    const char mark = end + 2 < source_.size() ? source_[end + 2] : '\0';
    std::size_t after = skip_space(skip_mark(end + 2));
    if (!at(after, "endraw")) continue;
    after = skip_space(after + 6);
    if (at(after, "+%}")) {
      after += 3;
    } else if (at(after, "-%}")) {
      after = skip_space(after + 3);
    } else if (at(after, "%}")) {
      after += at(after + 2, "\n") ? 3 : 2;
    } else {
      continue;
    }
    push_text(source_.substr(i, end - i), mark, true);
    advance(after);
    return true;
  }
  return syntax_error(line_, "raw block", "no end", "{% endraw %}");
}

/// Consumes the end of the tag, with the space that its mark or trim_blocks takes.
bool Lexer::try_end() {
  const std::string_view close = state_ == State::kBlock ? "%}" : "}}";
  std::size_t end = offset_;
  if (at(end, "-") && at(end + 1, close)) {
    end = skip_space(end + 3);
  } else if (state_ == State::kBlock && at(end, "+%}")) {
    end += 3;
  } else if (at(end, close)) {
    end += 2;
    if (state_ == State::kBlock && at(end, "\n")) ++end;
  } else {
    return false;
  }
  advance(end);
  return true;
}

Result<Token> Lexer::lex_inside() {
  advance(skip_space(offset_));
  const std::uint32_t line = line_;
  const TokenType end_type =
      state_ == State::kBlock ? TokenType::kBlockEnd : TokenType::kVariableEnd;
  if (open_brackets_.empty() && try_end()) {
    state_ = State::kRoot;
    return Token{.type = end_type, .line = line};
  }
  if (offset_ >= source_.size()) return Token{.type = TokenType::kEnd, .line = line_};
  const char c = source_[offset_];
  if (is_digit(c)) return lex_number();
  if (is_name_start(c)) {
    std::size_t end = offset_;
    while (end < source_.size() && is_name_char(source_[end])) ++end;
    return take(TokenType::kName, end - offset_);
  }
  if (c == '"' || c == '\'') return lex_string();
  return lex_operator();
}

Token Lexer::lex_number() {
  const bool after_dot = offset_ > 0 && source_[offset_ - 1] == '.';
  const std::size_t whole = skip_digits(source_, offset_);
  std::size_t end = whole;
  if (!after_dot) {
    if (at(whole, ".") && skip_digits(source_, whole + 1) > whole + 1) {
      end = skip_digits(source_, whole + 1);
    }
    end = skip_exponent(source_, end);
  }
  if (end > whole) return take(TokenType::kFloat, end - offset_);
  return take(TokenType::kInteger, skip_integer(source_, offset_) - offset_);
}

Result<Token> Lexer::lex_string() {
  const char quote = source_[offset_];
  for (std::size_t i = offset_ + 1; i < source_.size(); ++i) {
    if (source_[i] == '\\') {
      ++i;
      continue;
    }
    if (source_[i] == quote) return take(TokenType::kString, i + 1 - offset_);
  }
  return syntax_error(line_, "string", "no end", "a closing quote");
}

Result<void> Lexer::balance(char c) {
  if (c == '{') open_brackets_ += '}';
  if (c == '(') open_brackets_ += ')';
  if (c == '[') open_brackets_ += ']';
  if (c != '}' && c != ')' && c != ']') return {};
  if (open_brackets_.empty() || open_brackets_.back() != c) {
    return syntax_error(line_, "bracket", std::string("'") + c + "'",
                        open_brackets_.empty() ? std::string("no closing bracket")
                                               : std::string("'") + open_brackets_.back() + "'");
  }
  open_brackets_.pop_back();
  return {};
}

Result<Token> Lexer::lex_operator() {
  for (const std::string_view op : kLongOperators) {
    if (at(offset_, op)) return take(TokenType::kOperator, op.size());
  }
  const char c = source_[offset_];
  if (kShortOperators.find(c) == std::string_view::npos) {
    const std::string_view found = source_.substr(offset_, utf8::decode(source_, offset_).length);
    return syntax_error(line_, "character", "'" + utf8::escape_for_display(found) + "'",
                        "a name, number, string or operator");
  }
  PELLUCID_TRY_VOID(balance(c));
  return take(TokenType::kOperator, 1);
}

}  // namespace pellucid::tokenizer::jinja
