#pragma once
// The rule packs as text, compiled into the program: cmake/embed_text.cmake writes the definition
// from src/peers/packs/ENGINE/*.toml at build time, sorted by name.

#include <span>
#include <string_view>

namespace pellucid::peers {

struct EmbeddedText {
  std::string_view name;  ///< "sglang/10_flags.toml"
  std::string_view text;
};

[[nodiscard]] std::span<const EmbeddedText> embedded_packs();

}  // namespace pellucid::peers
