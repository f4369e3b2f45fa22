#pragma once
// Text to token ids and back: byte-level BPE from tokenizer.json, and tiktoken.model files (Kimi).
//
// Immutable after load; thread-safe. Added tokens match only where the caller allows them: text
// that comes from a user is encoded with Special::kAsText, so that "<|user|>" or "</think>" typed
// by a person stays text. Time and memory of encode are linear in the text (times a logarithm).
//
// Refuses, by name: pre-tokenizer patterns that are not provably linear ("tokenizer_pattern"),
// duplicate, negative or huge ids ("tokenizer_ids"), merges that name absent pieces
// ("tokenizer_merges"), added tokens that are empty, ambiguous or that match by anything else than
// their exact text ("tokenizer_added"), and every setting of the file that would change the ids and
// is not implemented ("tokenizer_unsupported"). Formats: model.md section 7.

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace pellucid::tokenizer {

using TokenId = std::int32_t;

enum class Special {
  kAsTokens,  ///< trusted text (rendered template): added tokens are recognised
  /// Untrusted text: no added token is recognised, whether its entry says special or not. Files of
  /// these families mark "<think>" and "<tool_call>" as not special, yet they are structure, and a
  /// user who could write them could forge a tool call or end the reasoning.
  kAsText,
};

class Tokenizer {
 public:
  /// Reads tokenizer.json, or tiktoken.model when there is none; and tokenizer_config.json beside
  /// it (added tokens of tiktoken.model, add_bos_token). Not found: "tokenizer_missing".
  [[nodiscard]] static Expected<Tokenizer> load(const std::filesystem::path& directory);
  /// From the text of a tokenizer.json. `source` names it in errors.
  [[nodiscard]] static Expected<Tokenizer> from_json(std::string_view text,
                                                     std::string_view source);
  Tokenizer(Tokenizer&&) noexcept;
  Tokenizer& operator=(Tokenizer&&) noexcept;
  ~Tokenizer();

  /// The ids of `text` and nothing else (`add_special_tokens=False` of the reference): prefix_ids()
  /// are for the caller to put in front. Each maximal invalid part of a UTF-8 sequence in `text` is
  /// read as U+FFFD, as Python's errors="replace" does. Fails only on limits ("tokenize_limit").
  [[nodiscard]] Expected<std::vector<TokenId>> encode(std::string_view text, Special special) const;
  /// Guards keep text of a person from becoming an added token inside a rendered template:
  /// guard_text() puts `guard` behind each character with which an added token could begin, the
  /// template renders, and encode_guarded() takes the guards out again after it has found the added
  /// tokens. `guard` is one code point that occurs in none of the texts (prompt.h chooses it).
  [[nodiscard]] std::string guard_text(std::string_view text, std::string_view guard) const;
  /// As encode(text, kAsTokens), but for the guards. Rule: "tokenize_limit".
  [[nodiscard]] Expected<std::vector<TokenId>> encode_guarded(std::string_view text,
                                                              std::string_view guard) const;
  /// Bytes of the ids; may be invalid UTF-8 at the edges. Ids without a token are an error
  /// ("token_id").
  [[nodiscard]] Expected<std::string> decode_bytes(std::span<const TokenId> ids,
                                                   bool skip_special = false) const;

  /// What the file wants before a text that no chat template rendered (BOS); usually empty. Chat
  /// templates write it themselves.
  [[nodiscard]] std::span<const TokenId> prefix_ids() const;
  /// The id of an added token, or of the vocabulary's token with exactly these (raw) bytes.
  [[nodiscard]] std::optional<TokenId> id_of(std::string_view token) const;
  /// Raw bytes of one id; empty optional when the id has no token (padding rows).
  [[nodiscard]] std::optional<std::string_view> bytes_of(TokenId id) const;
  /// Whether `skip_special` leaves the id out: an added token whose entry says special.
  [[nodiscard]] bool is_special(TokenId id) const;
  /// One more than the largest id in use: ids from here to the model's vocab_size are padding.
  [[nodiscard]] std::int64_t id_limit() const;

 private:
  struct State;
  explicit Tokenizer(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

/// Turns a stream of ids into text that never splits a UTF-8 code point: bytes that could still
/// become one are held back; bytes that cannot are given out as U+FFFD. All texts together equal
/// the lossy decoding of all bytes at once. Not thread-safe; `tokenizer` must outlive it.
class Detokenizer {
 public:
  explicit Detokenizer(const Tokenizer& tokenizer, bool skip_special = true);
  /// Text that became certain by this id (possibly empty).
  [[nodiscard]] Expected<std::string> push(TokenId id);
  /// What was held back, as U+FFFD.
  [[nodiscard]] std::string finish();

 private:
  const Tokenizer* tokenizer_;
  bool skip_special_;
  std::string pending_;
};

}  // namespace pellucid::tokenizer
