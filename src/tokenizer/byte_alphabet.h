#pragma once
// GPT-2's byte-level alphabet: tokenizer.json writes each byte of a token as one printable code
// point (model.md section 7.1). Bytes 21-7E, A1-AC and AE-FF stand for themselves; the 68 others
// are U+0100, U+0101, ... in order.

#include <optional>
#include <string>
#include <string_view>

namespace pellucid::tokenizer {

/// The bytes that `token` spells; nullopt when it has a code point outside the alphabet.
[[nodiscard]] std::optional<std::string> bytes_of_alphabet(std::string_view token);

}  // namespace pellucid::tokenizer
