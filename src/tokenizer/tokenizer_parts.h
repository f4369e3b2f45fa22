#pragma once
// What a tokenizer is made of, and the steps that both file formats share.

#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/json.h"
#include "tokenizer/added_tokens.h"
#include "tokenizer/bpe.h"
#include "tokenizer/json_fields.h"
#include "tokenizer/pretokenizer.h"
#include "tokenizer/tokenizer.h"
#include "tokenizer/vocabulary.h"

namespace pellucid::tokenizer {

/// `bpe` has views into `vocabulary`, which stay valid when both are moved.
struct TokenizerParts {
  Vocabulary vocabulary;
  AddedTokens added;
  Bpe bpe;
  PreTokenizer pre_tokenizer;
  std::vector<TokenId> prefix_ids;
};

struct Tokenizer::State {
  TokenizerParts parts;

  /// `guard` is taken out of the text between added tokens; empty: none.
  [[nodiscard]] Expected<std::vector<TokenId>> encode(std::string_view text, Special special,
                                                      std::string_view guard) const;
};

/// Limits of the JSON files: GLM-5's tokenizer.json (154,820 tokens, 321,649 merges as pairs) has
/// 1.1 million values in about 20 MB.
inline constexpr json::Limits kTokenizerJsonLimits = {
    .bytes_max = 128ULL << 20, .depth_max = 64, .values_max = 4'000'000};

/// What tokenizer_config.json, which need not exist, says about the ids.
struct TokenizerConfig {
  /// `added_tokens_decoder`, by id. Its entries take precedence over those of tokenizer.json.
  std::vector<AddedToken> added_tokens;
  bool add_bos_token = false;
  std::string bos_token;  ///< empty when there is none
  /// `tokenizer_class`, or what `auto_map` names in its place; empty when there is none.
  std::string tokenizer_class;
};

/// `source` names the file. Rules: "tokenizer_json", "tokenizer_unsupported" (add_eos_token).
[[nodiscard]] Expected<TokenizerConfig> parse_tokenizer_config(std::string_view text,
                                                               std::string_view source);

/// An entry of `added_tokens` (with `id`) or of `added_tokens_decoder` (id from its key). Flags
/// that make a token match by more than its text (single_word, lstrip, rstrip) are refused.
[[nodiscard]] Expected<AddedToken> parse_added_token(const JsonFields& entry, std::int64_t id);

/// Puts the BOS token in front when the config asks for it and the file's own post-processor did
/// not.
[[nodiscard]] Expected<void> add_config_prefix(const TokenizerConfig& config,
                                               std::string_view source, TokenizerParts& parts);

/// Text of a tokenizer.json.
[[nodiscard]] Expected<TokenizerParts> parse_tokenizer_json(std::string_view text,
                                                            std::string_view source,
                                                            const TokenizerConfig& config);

/// Text of a tiktoken.model of the Kimi family. Rules: "tiktoken_line", "tokenizer_ids",
/// "tokenizer_added", "tokenizer_limit", "tokenizer_unsupported" (another tokenizer class).
[[nodiscard]] Expected<TokenizerParts> parse_tiktoken(std::string_view text,
                                                      std::string_view source,
                                                      const TokenizerConfig& config);

}  // namespace pellucid::tokenizer
