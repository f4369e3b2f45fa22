#include "tokenizer/tokenizer.h"

#include "base/file.h"
#include "base/utf8.h"
#include "tokenizer/tokenizer_parts.h"

namespace pellucid::tokenizer {
namespace {

/// Memory of one call is a small multiple of this; the largest contexts (2^20 tokens) need 4 to 5
/// bytes of text per token.
constexpr std::size_t kTextBytesMax = 64 << 20;

constexpr std::string_view kJsonName = "tokenizer.json";
constexpr std::string_view kTiktokenName = "tiktoken.model";
constexpr std::string_view kConfigName = "tokenizer_config.json";

std::string source_name(const Directory& directory, std::string_view name) {
  return (directory.path() / name).string();
}

Expected<TokenizerConfig> read_config(const Directory& directory) {
  if (!directory.contains(kConfigName)) return TokenizerConfig{};
  PELLUCID_TRY(const std::string text, directory.read(kConfigName, kTokenizerJsonLimits.bytes_max));
  return parse_tokenizer_config(text, source_name(directory, kConfigName));
}

/// `text` without any occurrence of `guard`, which may be empty.
std::string without(std::string_view text, std::string_view guard) {
  std::string out;
  while (!guard.empty()) {
    const std::size_t at = text.find(guard);
    if (at == std::string_view::npos) break;
    out += text.substr(0, at);
    text.remove_prefix(at + guard.size());
  }
  out += text;
  return out;
}

/// Encodes text without added tokens.
Expected<void> encode_plain(const TokenizerParts& parts, std::string_view text,
                            PreTokenizer::Scratch& pre_scratch, Bpe::Scratch& bpe_scratch,
                            std::vector<TokenId>& out) {
  return parts.pre_tokenizer.split(text, pre_scratch, [&](std::string_view piece) {
    parts.bpe.encode(piece, out, bpe_scratch);
  });
}

}  // namespace

Tokenizer::Tokenizer(std::unique_ptr<State> state) : state_(std::move(state)) {}
Tokenizer::Tokenizer(Tokenizer&&) noexcept = default;
Tokenizer& Tokenizer::operator=(Tokenizer&&) noexcept = default;
Tokenizer::~Tokenizer() = default;

Expected<Tokenizer> Tokenizer::load(const std::filesystem::path& path) {
  PELLUCID_TRY(const Directory directory, Directory::open(path));
  PELLUCID_TRY(const TokenizerConfig config, read_config(directory));
  for (const std::string_view name : {kJsonName, kTiktokenName}) {
    if (!directory.contains(name)) continue;
    PELLUCID_TRY(const std::string text, directory.read(name, kTokenizerJsonLimits.bytes_max));
    const std::string source = source_name(directory, name);
    auto parts = name == kJsonName ? parse_tokenizer_json(text, source, config)
                                   : parse_tiktoken(text, source, config);
    if (!parts) return std::unexpected(std::move(parts).error());
    return Tokenizer(std::make_unique<State>(State{.parts = *std::move(parts)}));
  }
  return fail({.kind = ErrorKind::kNotFound,
               .rule = "tokenizer_missing",
               .object = "tokenizer",
               .found = "neither tokenizer.json nor tiktoken.model",
               .expected = "one of them",
               .source = path.string(),
               .fix = "pass token ids instead of text, or add the file"});
}

Expected<Tokenizer> Tokenizer::from_json(std::string_view text, std::string_view source) {
  PELLUCID_TRY(TokenizerParts parts, parse_tokenizer_json(text, source, TokenizerConfig{}));
  return Tokenizer(std::make_unique<State>(State{.parts = std::move(parts)}));
}

Expected<std::vector<TokenId>> Tokenizer::encode(std::string_view text, Special special) const {
  return state_->encode(text, special, {});
}

std::string Tokenizer::guard_text(std::string_view text, std::string_view guard) const {
  std::string out;
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t length = utf8::decode(text, i).length;
    out += text.substr(i, length);
    if (state_->parts.added.can_start(static_cast<unsigned char>(text[i]))) out += guard;
    i += length;
  }
  return out;
}

Expected<std::vector<TokenId>> Tokenizer::encode_guarded(std::string_view text,
                                                         std::string_view guard) const {
  return state_->encode(text, Special::kAsTokens, guard);
}

Expected<std::vector<TokenId>> Tokenizer::State::encode(std::string_view text, Special special,
                                                        std::string_view guard) const {
  if (text.size() > kTextBytesMax) {
    return fail({.kind = ErrorKind::kLimit,
                 .rule = "tokenize_limit",
                 .object = "text to encode",
                 .found = std::to_string(text.size()) + " bytes",
                 .expected = "at most " + std::to_string(kTextBytesMax),
                 .source = "text to encode",
                 .fix = {}});
  }
  std::string repaired;
  if (!utf8::is_valid(text)) {
    repaired = utf8::replace_invalid(text);
    text = repaired;
  }
  const PreTokenizer::ScratchPtr pre_scratch = PreTokenizer::make_scratch();
  Bpe::Scratch bpe_scratch;
  std::vector<TokenId> ids;
  if (special == Special::kAsText) {
    PELLUCID_TRY_VOID(encode_plain(parts, text, *pre_scratch, bpe_scratch, ids));
    return ids;
  }
  for (const AddedTokens::Part& part : parts.added.split(text)) {
    if (part.id) {
      ids.push_back(*part.id);
      continue;
    }
    const std::string unguarded = without(part.text, guard);
    PELLUCID_TRY_VOID(encode_plain(parts, unguarded, *pre_scratch, bpe_scratch, ids));
  }
  return ids;
}

Expected<std::string> Tokenizer::decode_bytes(std::span<const TokenId> ids,
                                              bool skip_special) const {
  std::string bytes;
  for (const TokenId id : ids) {
    const auto token = bytes_of(id);
    if (!token) {
      return fail({.kind = ErrorKind::kInvalid,
                   .rule = "token_id",
                   .object = "token id " + std::to_string(id),
                   .found = "no token",
                   .expected = "an id of the tokenizer, below " + std::to_string(id_limit()),
                   .source = "ids to decode",
                   .fix = {}});
    }
    if (skip_special && is_special(id)) continue;
    bytes += *token;
  }
  return bytes;
}

std::span<const TokenId> Tokenizer::prefix_ids() const {
  return state_->parts.prefix_ids;
}

std::optional<TokenId> Tokenizer::id_of(std::string_view token) const {
  if (const auto added = state_->parts.added.id_of(token)) return added;
  return state_->parts.bpe.id_of(token);
}

std::optional<std::string_view> Tokenizer::bytes_of(TokenId id) const {
  return state_->parts.vocabulary.bytes_of(id);
}

bool Tokenizer::is_special(TokenId id) const {
  return state_->parts.vocabulary.kind_of(id) == TokenKind::kAddedSpecial;
}

std::int64_t Tokenizer::id_limit() const {
  return state_->parts.vocabulary.id_limit();
}

}  // namespace pellucid::tokenizer
