#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

#include "base/check.h"
#include "base/utf8.h"
#include "tokenizer/pattern.h"
#include "tokenizer/tokenizer_parts.h"

namespace pellucid::tokenizer {
namespace {

/// Ids after the ranks that the Kimi class reserves; those that tokenizer_config.json does not name
/// are "<|reserved_token_ID|>" (model.md section 7.4).
constexpr std::int64_t kReservedTokens = 256;

/// Finding the pairs that may merge costs up to the square of a token's length. Kimi-K2: 163,584
/// tokens, most below 16 bytes, the longest runs of spaces.
constexpr std::uint64_t kPairWorkMax = std::uint64_t{1} << 31;

std::unexpected<Error> bad_line(std::size_t line, std::string found, std::string expected,
                                std::string_view source) {
  return fail({.kind = ErrorKind::kInvalid,
               .rule = "tiktoken_line",
               .object = "line " + std::to_string(line),
               .found = std::move(found),
               .expected = std::move(expected),
               .source = std::string(source),
               .fix = {}});
}

constexpr std::array<std::int8_t, 256> base64_values() {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::array<std::int8_t, 256> values{};
  values.fill(-1);
  for (std::size_t i = 0; i < kDigits.size(); ++i) {
    values[static_cast<unsigned char>(kDigits[i])] = static_cast<std::int8_t>(i);
  }
  return values;
}

/// RFC 4648, with padding; nullopt when `text` is not.
std::optional<std::string> decode_base64(std::string_view text) {
  constexpr auto kValues = base64_values();
  if (text.empty() || text.size() % 4 != 0) return std::nullopt;
  const std::size_t padding = text.ends_with("==") ? 2 : text.ends_with("=") ? 1 : 0;
  std::string bytes;
  std::uint32_t bits = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool is_padding = i >= text.size() - padding;
    const std::int8_t value = is_padding ? 0 : kValues[static_cast<unsigned char>(text[i])];
    if (value < 0) return std::nullopt;
    bits = bits << 6 | static_cast<std::uint32_t>(value);
    if (i % 4 != 3) continue;
    for (const int shift : {16, 8, 0}) bytes.push_back(static_cast<char>(bits >> shift & 0xFF));
    bits = 0;
  }
  // Bits beyond the last byte must be zero, so that each token has one spelling.
  for (std::size_t i = 0; i < padding; ++i) {
    if (bytes.back() != 0) return std::nullopt;
    bytes.pop_back();
  }
  return bytes;
}

/// Adds the token of "BASE64 RANK".
Expected<void> read_line(std::string_view line, std::size_t number, std::string_view source,
                         Vocabulary& vocabulary) {
  const std::size_t space = line.find(' ');
  if (space == std::string_view::npos) {
    return bad_line(number, "no space", "a base64 token, a space and a rank", source);
  }
  std::optional<std::string> bytes = decode_base64(line.substr(0, space));
  if (!bytes || bytes->empty()) {
    return bad_line(number, "a token that is not base64", "base64 with padding", source);
  }
  const std::string_view digits = line.substr(space + 1);
  std::int64_t rank = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), rank);
  if (error != std::errc() || end != digits.data() + digits.size()) {
    return bad_line(number, "rank '" + utf8::escape_for_display(digits.substr(0, 32)) + "'",
                    "a decimal integer", source);
  }
  return vocabulary.add(rank, std::move(*bytes), TokenKind::kOrdinary, source);
}

Expected<void> read_ranks(std::string_view text, std::string_view source, Vocabulary& vocabulary) {
  std::size_t number = 0;
  while (!text.empty()) {
    ++number;
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty()) continue;
    PELLUCID_TRY_VOID(read_line(line, number, source, vocabulary));
  }
  return {};
}

/// Ranks 0 to n - 1, all present, each byte among them and no token twice.
Expected<void> fill_bpe(std::string_view source, TokenizerParts& parts) {
  const auto refuse = [&](std::string rule, std::string found, std::string expected) {
    return fail({.kind = ErrorKind::kInvalid,
                 .rule = std::move(rule),
                 .object = "ranks",
                 .found = std::move(found),
                 .expected = std::move(expected),
                 .source = std::string(source),
                 .fix = {}});
  };
  for (TokenId id = 0; id < parts.vocabulary.id_limit(); ++id) {
    const auto bytes = parts.vocabulary.bytes_of(id);
    if (!bytes) {
      return refuse("tokenizer_ids", "no token of rank " + std::to_string(id),
                    "ranks without a gap");
    }
    parts.bpe.add_token(*bytes, id);
    if (parts.bpe.id_of(*bytes) != id) {
      return refuse("tokenizer_ids", "the token of rank " + std::to_string(id) + " a second time",
                    "each token once");
    }
  }
  if (const std::optional<int> byte = parts.bpe.missing_byte()) {
    return refuse("tokenizer_alphabet", "no token for byte " + std::to_string(*byte),
                  "a token for each of the 256 bytes");
  }
  parts.bpe.set_whole_piece_first(true);
  return {};
}

/// Lists the merges that "join the adjacent pair whose bytes have the lowest rank" allows.
Expected<void> list_merges(std::string_view source, TokenizerParts& parts) {
  std::uint64_t work = 0;
  for (TokenId id = 0; id < parts.vocabulary.id_limit(); ++id) {
    const std::string_view bytes = *parts.vocabulary.bytes_of(id);
    work += std::uint64_t{bytes.size()} * bytes.size();
    if (work > kPairWorkMax) {
      return fail({.kind = ErrorKind::kLimit,
                   .rule = "tokenizer_limit",
                   .object = "token of rank " + std::to_string(id),
                   .found = std::to_string(bytes.size()) + " bytes",
                   .expected = "squares of the lengths of all tokens that sum up to at most " +
                               std::to_string(kPairWorkMax),
                   .source = std::string(source),
                   .fix = {}});
    }
    for (std::size_t cut = 1; cut < bytes.size(); ++cut) {
      const auto left = parts.bpe.id_of(bytes.substr(0, cut));
      if (!left) continue;
      const auto right = parts.bpe.id_of(bytes.substr(cut));
      if (!right) continue;
      // A pair has one join, so it is listed once.
      PELLUCID_CHECK(parts.bpe.add_merge(*left, *right, static_cast<std::uint32_t>(id), id));
    }
  }
  return {};
}

/// The ids after the ranks: named by `config`, else reserved.
Expected<void> add_reserved(const TokenizerConfig& config, std::string_view source,
                            TokenizerParts& parts) {
  const std::int64_t first = parts.vocabulary.id_limit();
  std::vector<AddedToken> tokens;
  for (std::int64_t id = first; id < first + kReservedTokens; ++id) {
    tokens.push_back({.id = id,
                      .content = "<|reserved_token_" + std::to_string(id) + "|>",
                      .special = true,
                      .normalized = false});
  }
  for (const AddedToken& token : config.added_tokens) {
    if (token.id < first || token.id >= first + kReservedTokens) {
      return fail({.kind = ErrorKind::kInvalid,
                   .rule = "tokenizer_added",
                   .object = "added token '" + utf8::escape_for_display(token.content) + "'",
                   .found = "id " + std::to_string(token.id),
                   .expected = "an id of the " + std::to_string(kReservedTokens) +
                               " after the ranks, from " + std::to_string(first),
                   .source = std::string(source),
                   .fix = {}});
    }
    tokens[static_cast<std::size_t>(token.id - first)] = token;
  }
  for (AddedToken& token : tokens) {
    token.normalized = false;  // the Kimi class searches all of them in one pass
    PELLUCID_TRY_VOID(parts.added.add(token, source));
    PELLUCID_TRY_VOID(
        parts.vocabulary.add(token.id, token.content,
                             token.special ? TokenKind::kAddedSpecial : TokenKind::kAdded, source));
  }
  return {};
}

}  // namespace

Expected<TokenizerParts> parse_tiktoken(std::string_view text, std::string_view source,
                                        const TokenizerConfig& config) {
  // The file has no pattern: that is code beside it, and only Kimi's is known.
  if (!config.tokenizer_class.ends_with("TikTokenTokenizer")) {
    return fail({.kind = ErrorKind::kUnsupported,
                 .rule = "tokenizer_unsupported",
                 .object = "tokenizer class of tokenizer_config.json",
                 .found = "'" + config.tokenizer_class + "'",
                 .expected = "TikTokenTokenizer",
                 .source = std::string(source),
                 .fix = {}});
  }
  PELLUCID_TRY(PreTokenizer pre_tokenizer,
               PreTokenizer::create({std::string(kKimiPattern)}, source));
  TokenizerParts parts{.vocabulary = {},
                       .added = {},
                       .bpe = {},
                       .pre_tokenizer = std::move(pre_tokenizer),
                       .prefix_ids = {}};
  PELLUCID_TRY_VOID(read_ranks(text, source, parts.vocabulary));
  PELLUCID_TRY_VOID(fill_bpe(source, parts));
  PELLUCID_TRY_VOID(list_merges(source, parts));
  PELLUCID_TRY_VOID(add_reserved(config, source, parts));
  PELLUCID_TRY_VOID(add_config_prefix(config, source, parts));
  return parts;
}

}  // namespace pellucid::tokenizer
