#pragma once
// Text to token ids and back: byte-level BPE from tokenizer.json, and tiktoken.model files (Kimi).
//
// Immutable after load; thread-safe. Special tokens match only where the caller allows them: text
// that comes from a user is encoded with Special::kAsText, so that "<|user|>" typed by a person
// stays text. Refuses: unknown unbounded pre-tokenizer patterns, duplicate or negative ids, merges
// that name absent pieces (model.md section 7, hostile rows M23-M25).

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace pellucid::tokenizer {

using TokenId = std::int32_t;

enum class Special {
  kAsTokens,  ///< trusted text (rendered template): added tokens are recognised
  kAsText,    ///< untrusted text: added tokens marked special are encoded as ordinary text
};

class Tokenizer {
 public:
  /// Reads tokenizer.json, or tiktoken.model (+ tokenizer_config.json) when there is none.
  [[nodiscard]] static Expected<Tokenizer> load(const std::filesystem::path& directory);
  /// From the text of a tokenizer.json. `source` names it in errors.
  [[nodiscard]] static Expected<Tokenizer> from_json(std::string_view text,
                                                     std::string_view source);
  Tokenizer(Tokenizer&&) noexcept;
  Tokenizer& operator=(Tokenizer&&) noexcept;
  ~Tokenizer();

  /// Invalid UTF-8 bytes in `text` are replaced by U+FFFD, as the reference does. Fails only on
  /// limits ("tokenize_limit").
  [[nodiscard]] Expected<std::vector<TokenId>> encode(std::string_view text, Special special) const;
  /// Bytes of the ids; may be invalid UTF-8 at the edges. Unknown ids are an error.
  [[nodiscard]] Expected<std::string> decode_bytes(std::span<const TokenId> ids,
                                                   bool skip_special = false) const;

  [[nodiscard]] std::optional<TokenId> id_of(std::string_view token) const;  ///< added or vocab
  /// Raw bytes of one id; empty optional when the id has no token (padding rows).
  [[nodiscard]] std::optional<std::string_view> bytes_of(TokenId id) const;
  [[nodiscard]] bool is_special(TokenId id) const;
  /// One more than the largest id in use: ids from here to the model's vocab_size are padding.
  [[nodiscard]] std::int64_t id_limit() const;

 private:
  struct State;
  explicit Tokenizer(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

/// Turns a stream of ids into text that never splits a UTF-8 code point: bytes that could still
/// become one are held back; bytes that cannot are given out as U+FFFD.
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
