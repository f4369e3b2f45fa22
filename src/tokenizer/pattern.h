#pragma once
// Pre-tokenizer patterns of untrusted files: the subset whose matching time is provably linear, and
// its spelling for PCRE2.
//
// The patterns are written for Oniguruma (tokenizer.json) or Rust's regex crate (tiktoken).
// Accepted is a list of alternatives of single characters, escapes, classes and the English
// contractions, each with an optional greedy repeat; no groups, references, look-behind, lazy or
// possessive repeats. Within an alternative nothing mandatory may follow an unbounded repeat, so
// that it never has to be given back. The exceptions are a table of alternatives of known
// tokenizers, with the reason why each is linear (pattern.cc). Everything else is refused
// ("tokenizer_pattern").
//
// Differences that the translation removes: \s is White_Space (PCRE2 adds U+180E), \p{Han} is the
// script (PCRE2 takes the script extensions), class intersections become complements of unions.

#include <string>
#include <string_view>

#include "base/error.h"

namespace pellucid::tokenizer {

/// GPT-2's own pattern, which ByteLevel applies when `use_regex` is true.
inline constexpr std::string_view kGpt2Pattern =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

/// The pattern of Kimi-K2's tokenizer class, which is code and not in a file of the model
/// (model.md section 7.4; tokenization_kimi.py of the checkpoint).
inline constexpr std::string_view kKimiPattern =
    R"([\p{Han}]+)"
    R"(|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*)"
    R"([\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?)"
    R"(|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+)"
    R"([\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?)"
    R"(|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

/// The PCRE2 spelling (UTF and UCP) of `pattern`.
[[nodiscard]] Expected<std::string> translate_pattern(std::string_view pattern,
                                                      std::string_view source);

}  // namespace pellucid::tokenizer
