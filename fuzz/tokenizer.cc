// tokenizer.json of a stranger, then text through it. The input is the file, a line of 0xFF, and
// the text; without such a line the whole input is the file and a fixed text goes through.

#include "tokenizer/tokenizer.h"

#include "fuzz.h"

using pellucid::tokenizer::Special;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input = as_text(data, size);
  const std::size_t cut = input.find('\xFF');
  const std::string_view text =
      cut == std::string_view::npos ? "Hello <|user|>, 123 \n é" : input.substr(cut + 1);
  const auto tokenizer = pellucid::tokenizer::Tokenizer::from_json(input.substr(0, cut), "fuzz");
  if (!tokenizer) {
    PELLUCID_CHECK(!tokenizer.error().rule.empty());
    return 0;
  }
  for (const Special special : {Special::kAsText, Special::kAsTokens}) {
    const auto ids = tokenizer->encode(text, special);
    if (!ids) continue;
    for (const auto id : *ids) PELLUCID_CHECK(id >= 0 && id < tokenizer->id_limit());
    PELLUCID_CHECK(tokenizer->decode_bytes(*ids).has_value());
  }
  return 0;
}
