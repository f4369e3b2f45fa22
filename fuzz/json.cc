// The strict parser: never crashes, and what it accepts comes back equal through the writer.

#include "base/json.h"

#include "base/utf8.h"
#include "fuzz.h"

using pellucid::json::Value;

namespace {

/// Infinity has no spelling in JSON: 1e999 parses to it and is written as null.
bool has_infinity(const Value& value) {
  if (value.type() == pellucid::json::Type::kDouble) return value.number() - value.number() != 0;
  if (value.is_array()) {
    for (const Value& item : value.array()) {
      if (has_infinity(item)) return true;
    }
  }
  if (value.is_object()) {
    for (const auto& member : value.object()) {
      if (has_infinity(member.second)) return true;
    }
  }
  return false;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = as_text(data, size);
  const std::string repaired = pellucid::utf8::replace_invalid(text);
  PELLUCID_CHECK(pellucid::utf8::is_valid(repaired));
  PELLUCID_CHECK(pellucid::utf8::is_valid(pellucid::utf8::escape_for_display(text)));
  const auto value = pellucid::json::parse(text, "fuzz");
  if (!value) {
    PELLUCID_CHECK(!value.error().rule.empty());
    return 0;
  }
  PELLUCID_CHECK(repaired == text);
  if (has_infinity(*value)) return 0;
  for (const bool ascii : {false, true}) {
    const std::string dumped = pellucid::json::dump(*value, {.indent = 1, .ensure_ascii = ascii});
    PELLUCID_CHECK(*pellucid::json::parse(dumped, "dumped") == *value);
  }
  return 0;
}
