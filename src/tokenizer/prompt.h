#pragma once
// A conversation to token ids: the chat template renders it, the tokenizer encodes it, and what
// people wrote cannot become structure. "<|user|>" or "</think>" in the text of a user, system or
// tool message, or in a tool's description, is encoded as the characters it is; the same text
// emitted by the template becomes the special token (api-and-hostile-inputs.md A3 rule 7).
//
// Messages of the assistant are not guarded: templates look for "</think>" in them, and a client
// that sends them writes the conversation anyway.

#include <cstdint>
#include <vector>

#include "base/error.h"
#include "base/json.h"
#include "tokenizer/chat_template.h"
#include "tokenizer/tokenizer.h"

namespace pellucid::tokenizer {

/// `variables`: what ChatTemplate::render takes, with `messages` an array. Rules: those of render()
/// and encode(); "template_guard" when the template renders guarded text differently, so that the
/// guarantee above cannot be given.
[[nodiscard]] Expected<std::vector<TokenId>> encode_chat(const Tokenizer& tokenizer,
                                                         const ChatTemplate& chat_template,
                                                         const json::Value& variables,
                                                         std::int64_t unix_time);

}  // namespace pellucid::tokenizer
