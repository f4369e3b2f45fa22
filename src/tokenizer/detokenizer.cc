#include <utility>

#include "base/utf8.h"
#include "tokenizer/tokenizer.h"

namespace pellucid::tokenizer {

Detokenizer::Detokenizer(const Tokenizer& tokenizer, bool skip_special)
    : tokenizer_(&tokenizer), skip_special_(skip_special) {}

Expected<std::string> Detokenizer::push(TokenId id) {
  PELLUCID_TRY(const std::string bytes, tokenizer_->decode_bytes(std::span(&id, 1), skip_special_));
  pending_ += bytes;
  const std::size_t certain = pending_.size() - utf8::incomplete_suffix(pending_);
  std::string text = utf8::replace_invalid(std::string_view(pending_).substr(0, certain));
  pending_.erase(0, certain);
  return text;
}

std::string Detokenizer::finish() {
  return utf8::replace_invalid(std::exchange(pending_, {}));
}

}  // namespace pellucid::tokenizer
