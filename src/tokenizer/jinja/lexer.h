#pragma once
// Splits a template into text and the tokens inside {{ }} and {% %}, with Jinja's whitespace
// control (trim_blocks, lstrip_blocks, the - and + marks). One token at a time: no token list.

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>

#include "tokenizer/jinja/failure.h"

namespace pellucid::tokenizer::jinja {

enum class TokenType : std::uint8_t {
  kText,
  kBlockBegin,
  kBlockEnd,
  kVariableBegin,
  kVariableEnd,
  kName,
  kString,   ///< text includes the quotes
  kInteger,  ///< text as written
  kFloat,
  kOperator,
  kEnd,
};

struct Token {
  TokenType type = TokenType::kEnd;
  std::uint32_t line = 1;
  std::string_view text = {};

  [[nodiscard]] bool is_operator(std::string_view op) const {
    return type == TokenType::kOperator && text == op;
  }
  [[nodiscard]] bool is_name(std::string_view name) const {
    return type == TokenType::kName && text == name;
  }
};

/// Line ends become \n and one at the very end is dropped, as Jinja does.
[[nodiscard]] std::string normalize_newlines(std::string_view text);

/// A failure of rule "template_syntax" at a line.
[[nodiscard]] std::unexpected<Error> syntax_error(std::uint32_t line, std::string_view object,
                                                  std::string_view found,
                                                  std::string_view expected);

class Lexer {
 public:
  /// `source`: valid UTF-8, newlines normalized; tokens point into it.
  explicit Lexer(std::string_view source) : source_(source) {}

  [[nodiscard]] Result<Token> next();

 private:
  enum class State : std::uint8_t { kRoot, kBlock, kVariable };

  [[nodiscard]] Result<void> lex_root();
  [[nodiscard]] Result<void> skip_comment();
  [[nodiscard]] Result<bool> lex_raw(std::size_t tag);
  [[nodiscard]] Result<Token> lex_inside();
  [[nodiscard]] bool try_end();
  [[nodiscard]] Result<Token> lex_operator();
  [[nodiscard]] Result<Token> lex_string();
  [[nodiscard]] Token lex_number();
  [[nodiscard]] Result<void> balance(char c);

  void push_text(std::string_view text, char mark, bool may_lstrip);
  void advance(std::size_t to);
  [[nodiscard]] std::size_t skip_space(std::size_t at) const;
  [[nodiscard]] bool at(std::size_t offset, std::string_view text) const {
    return source_.substr(offset, text.size()) == text;
  }
  [[nodiscard]] Token take(TokenType type, std::size_t size);

  std::string_view source_;
  std::size_t offset_ = 0;
  std::uint32_t line_ = 1;
  bool line_starting_ = true;  ///< the last match ended with a newline
  State state_ = State::kRoot;
  std::string open_brackets_;
  std::deque<Token> ready_;
};

}  // namespace pellucid::tokenizer::jinja
