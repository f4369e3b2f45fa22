#include "tokenizer/vocabulary.h"

#include <utility>

#include "base/check.h"
#include "base/utf8.h"

namespace pellucid::tokenizer {
namespace {

std::string token_name(std::string_view bytes) {
  constexpr std::size_t kShownBytes = 64;
  return "token '" + utf8::escape_for_display(bytes.substr(0, kShownBytes)) + "'";
}

}  // namespace

Expected<void> Vocabulary::add(std::int64_t id, std::string bytes, TokenKind kind,
                               std::string_view source) {
  PELLUCID_CHECK(kind != TokenKind::kAbsent);
  if (id < 0 || id >= kIdLimit) {
    return fail({.kind = id < 0 ? ErrorKind::kInvalid : ErrorKind::kLimit,
                 .rule = "tokenizer_ids",
                 .object = token_name(bytes),
                 .found = "id " + std::to_string(id),
                 .expected = "an id from 0 to " + std::to_string(kIdLimit - 1),
                 .source = std::string(source),
                 .fix = {}});
  }
  const auto index = static_cast<std::size_t>(id);
  if (index >= entries_.size()) entries_.resize(index + 1);
  Entry& entry = entries_[index];
  if (entry.kind != TokenKind::kAbsent) {
    return fail({.kind = ErrorKind::kInvalid,
                 .rule = "tokenizer_ids",
                 .object = token_name(bytes),
                 .found = "id " + std::to_string(id) + ", which is also " + token_name(entry.bytes),
                 .expected = "one token per id",
                 .source = std::string(source),
                 .fix = {}});
  }
  entry = {.bytes = std::move(bytes), .kind = kind};
  return {};
}

void Vocabulary::mark_added(TokenId id, std::string content, TokenKind kind) {
  PELLUCID_CHECK(kind_of(id) == TokenKind::kOrdinary);
  entries_[static_cast<std::size_t>(id)] = {.bytes = std::move(content), .kind = kind};
}

std::optional<std::string_view> Vocabulary::bytes_of(TokenId id) const {
  if (kind_of(id) == TokenKind::kAbsent) return std::nullopt;
  return entries_[static_cast<std::size_t>(id)].bytes;
}

TokenKind Vocabulary::kind_of(TokenId id) const {
  if (id < 0 || id >= id_limit()) return TokenKind::kAbsent;
  return entries_[static_cast<std::size_t>(id)].kind;
}

}  // namespace pellucid::tokenizer
