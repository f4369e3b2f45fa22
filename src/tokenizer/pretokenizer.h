#pragma once
// Cuts text into pre-tokens: within one, and never across two, BPE merges. A sequence of splits;
// each is a pattern (pattern.h) that cuts the pieces of the one before into its matches and the
// text between them (behavior "Isolated").
//
// Immutable once created; thread-safe with one Scratch per thread.

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace pellucid::tokenizer {

class PreTokenizer {
 public:
  /// Working memory of split().
  class Scratch;
  struct ScratchDeleter {
    void operator()(Scratch* scratch) const;
  };
  using ScratchPtr = std::unique_ptr<Scratch, ScratchDeleter>;
  using Sink = std::function<void(std::string_view piece)>;

  /// `patterns` as the file spells them, applied in order. Rule: "tokenizer_pattern".
  [[nodiscard]] static Expected<PreTokenizer> create(const std::vector<std::string>& patterns,
                                                     std::string_view source);
  PreTokenizer(PreTokenizer&&) noexcept;
  PreTokenizer& operator=(PreTokenizer&&) noexcept;
  ~PreTokenizer();

  [[nodiscard]] static ScratchPtr make_scratch();
  /// Gives the pieces of `text` (valid UTF-8) to `sink` in order; none is empty; together they are
  /// `text`. Rule: "tokenize_limit", when matching exceeds its limit of steps.
  [[nodiscard]] Expected<void> split(std::string_view text, Scratch& scratch,
                                     const Sink& sink) const;

 private:
  struct Regex;
  explicit PreTokenizer(std::vector<std::unique_ptr<const Regex>> steps);
  struct Range {
    std::size_t begin;
    std::size_t end;
  };
  [[nodiscard]] Expected<void> split_from(std::size_t step, Range range, Scratch& scratch,
                                          const Sink& sink) const;
  std::vector<std::unique_ptr<const Regex>> steps_;
};

}  // namespace pellucid::tokenizer
