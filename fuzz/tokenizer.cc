// tokenizer.json of a stranger, then text through it. The input is the file, a byte 0xFF, and the
// text; without such a byte the whole input is the file and a fixed text goes through.

#include "tokenizer/tokenizer.h"

#include "base/utf8.h"
#include "fuzz.h"

using pellucid::tokenizer::Detokenizer;
using pellucid::tokenizer::Special;
using pellucid::tokenizer::Tokenizer;

namespace {

void check_text(const Tokenizer& tokenizer, std::string_view text, Special special) {
  const auto ids = tokenizer.encode(text, special);
  if (!ids) {
    PELLUCID_CHECK(!ids.error().rule.empty());
    return;
  }
  Detokenizer detokenizer(tokenizer, false);
  std::string streamed;
  for (const auto id : *ids) {
    PELLUCID_CHECK(id >= 0 && id < tokenizer.id_limit());
    streamed += *detokenizer.push(id);
  }
  streamed += detokenizer.finish();
  const std::string bytes = *tokenizer.decode_bytes(*ids);
  PELLUCID_CHECK(bytes == pellucid::utf8::replace_invalid(text));
  PELLUCID_CHECK(streamed == bytes);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input = as_text(data, size);
  const std::size_t cut = input.find('\xFF');
  const std::string_view text =
      cut == std::string_view::npos ? "Hello <|user|>, 123 \n é" : input.substr(cut + 1);
  const auto tokenizer = Tokenizer::from_json(input.substr(0, cut), "fuzz");
  if (!tokenizer) {
    PELLUCID_CHECK(!tokenizer.error().rule.empty());
    return 0;
  }
  check_text(*tokenizer, text, Special::kAsText);
  check_text(*tokenizer, text, Special::kAsTokens);
  return 0;
}
