// Text of a stranger through the tokenizer and the chat template of the shipped model: nothing is
// lost on the way to ids and back, and no text becomes structure.

#include <algorithm>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/utf8.h"
#include "fuzz.h"
#include "tokenizer/prompt.h"

using pellucid::json::Array;
using pellucid::json::Object;
using pellucid::json::Value;
using pellucid::tokenizer::ChatTemplate;
using pellucid::tokenizer::Special;
using pellucid::tokenizer::TokenId;
using pellucid::tokenizer::Tokenizer;

namespace {

const std::string kModel = PELLUCID_SOURCE_DIR "/models/tiny";

const Tokenizer& shipped_tokenizer() {
  static const Tokenizer tokenizer = *Tokenizer::load(kModel);
  return tokenizer;
}

/// Ids of the tokens that are structure, in the order of `ids`.
std::vector<TokenId> structure(const std::vector<TokenId>& ids) {
  static const TokenId first = *shipped_tokenizer().id_of("<|endoftext|>");
  std::vector<TokenId> out;
  std::copy_if(ids.begin(), ids.end(), std::back_inserter(out),
               [](TokenId id) { return id >= first; });
  return out;
}

std::string streamed(const std::vector<TokenId>& ids) {
  pellucid::tokenizer::Detokenizer detokenizer(shipped_tokenizer(), false);
  std::string out;
  for (const TokenId id : ids) out += *detokenizer.push(id);
  return out + detokenizer.finish();
}

void check_round_trip(std::string_view text) {
  const std::string lossy = pellucid::utf8::replace_invalid(text);
  for (const Special special : {Special::kAsText, Special::kAsTokens}) {
    const auto ids = shipped_tokenizer().encode(text, special);
    PELLUCID_CHECK(*shipped_tokenizer().decode_bytes(*ids) == lossy);
    PELLUCID_CHECK(streamed(*ids) == lossy);
    PELLUCID_CHECK(special == Special::kAsTokens || structure(*ids).empty());
  }
}

std::vector<TokenId> chat(std::string text) {
  static const ChatTemplate chat_template = *ChatTemplate::load(kModel);
  Array messages;
  for (const char* role : {"system", "user", "tool"}) {
    messages.push_back(Object{{"role", role}, {"content", text}});
  }
  const Value variables =
      Object{{"messages", std::move(messages)}, {"add_generation_prompt", true}};
  return *pellucid::tokenizer::encode_chat(shipped_tokenizer(), chat_template, variables, 0);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const std::vector<TokenId> harmless = structure(chat("hi"));
  const std::string_view text = as_text(data, size);
  check_round_trip(text);
  PELLUCID_CHECK(structure(chat(pellucid::utf8::replace_invalid(text))) == harmless);
  return 0;
}
