// tiktoken.model of a stranger: lines of a token in base64 and its rank. The input is the file, a
// byte 0xFF, and tokenizer_config.json; without such a byte there is no config.

#include "fuzz.h"
#include "tokenizer/tokenizer_parts.h"

using pellucid::tokenizer::TokenKind;

namespace {

pellucid::Expected<pellucid::tokenizer::TokenizerParts> parse(std::string_view input) {
  const std::size_t cut = input.find('\xFF');
  pellucid::tokenizer::TokenizerConfig config;
  if (cut != std::string_view::npos) {
    PELLUCID_TRY(config,
                 pellucid::tokenizer::parse_tokenizer_config(input.substr(cut + 1), "fuzz"));
  }
  return pellucid::tokenizer::parse_tiktoken(input.substr(0, cut), "fuzz", config);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto parts = parse(as_text(data, size));
  if (!parts) {
    PELLUCID_CHECK(!parts.error().rule.empty());
    return 0;
  }
  const auto& vocabulary = parts->vocabulary;
  PELLUCID_CHECK(vocabulary.id_limit() <= pellucid::tokenizer::kIdLimit);
  for (pellucid::tokenizer::TokenId id = 0; id < vocabulary.id_limit(); ++id) {
    const bool has_bytes = vocabulary.bytes_of(id).has_value();
    PELLUCID_CHECK(has_bytes == (vocabulary.kind_of(id) != TokenKind::kAbsent));
    PELLUCID_CHECK(!has_bytes || !vocabulary.bytes_of(id)->empty());
  }
  for (const auto id : parts->prefix_ids) PELLUCID_CHECK(vocabulary.bytes_of(id).has_value());
  return 0;
}
