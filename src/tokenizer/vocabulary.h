#pragma once
// The table from ids to tokens: what decoding needs. Ids come from an untrusted file, so the table
// is dense and its size is bounded.

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "tokenizer/tokenizer.h"

namespace pellucid::tokenizer {

/// Largest id + 1 that a file may use: 12 times the 163,840 ids of Kimi-K2, the largest vocabulary
/// of these families; a table of 80 MiB.
inline constexpr std::int64_t kIdLimit = std::int64_t{1} << 21;

enum class TokenKind : std::uint8_t {
  kAbsent,
  kOrdinary,      ///< from the vocabulary
  kAdded,         ///< added token, kept by skip_special
  kAddedSpecial,  ///< added token, left out by skip_special
};

class Vocabulary {
 public:
  /// `kind` is not kAbsent. Refuses ids below 0, from kIdLimit, and ids in use ("tokenizer_ids").
  [[nodiscard]] Expected<void> add(std::int64_t id, std::string bytes, TokenKind kind,
                                   std::string_view source);
  /// Makes an ordinary token an added one with these bytes; views of its old bytes end here.
  void mark_added(TokenId id, std::string content, TokenKind kind);

  /// The view stays valid when tokens are added and when the object is moved.
  [[nodiscard]] std::optional<std::string_view> bytes_of(TokenId id) const;
  [[nodiscard]] TokenKind kind_of(TokenId id) const;
  [[nodiscard]] std::int64_t id_limit() const { return static_cast<std::int64_t>(entries_.size()); }

 private:
  struct Entry {
    std::string bytes;
    TokenKind kind = TokenKind::kAbsent;
  };
  std::deque<Entry> entries_;  // growing and moving it leave the entries where they are
};

}  // namespace pellucid::tokenizer
