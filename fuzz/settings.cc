// A file of settings: what is accepted names settings that exist, and says where each came from.

#include "config/source.h"

#include "fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto declarations = pellucid::config::read_toml(as_text(data, size), "run.toml");
  if (!declarations) {
    PELLUCID_CHECK(!declarations.error().rule.empty());
    return 0;
  }
  for (const auto& declaration : *declarations) {
    PELLUCID_CHECK(declaration.setting != nullptr);
    PELLUCID_CHECK(declaration.kind == pellucid::config::SourceKind::kFile);
    PELLUCID_CHECK(declaration.origin.starts_with("run.toml:"));
  }
  return 0;
}
