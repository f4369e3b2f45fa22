#pragma once
// Unicode data above U+007F, generated (unicode_tables.cc). All tables are sorted by code point.

#include <array>
#include <cstdint>
#include <span>

namespace pellucid::tokenizer::jinja {

struct CodeRange {
  char32_t first;
  char32_t last;
};

/// Every stride-th code point from first to last maps to itself plus delta.
struct CaseRule {
  char32_t first;
  char32_t last;
  std::uint32_t stride;
  std::int32_t delta;
};

/// A mapping to up to three code points; unused ones are 0.
struct Expansion {
  char32_t from;
  std::array<char32_t, 3> to;
};

[[nodiscard]] std::span<const CodeRange> not_printable();
[[nodiscard]] std::span<const CodeRange> alpha();
[[nodiscard]] std::span<const CodeRange> digit();
[[nodiscard]] std::span<const CodeRange> alnum();
[[nodiscard]] std::span<const CaseRule> upper_rules();
[[nodiscard]] std::span<const CaseRule> lower_rules();
[[nodiscard]] std::span<const Expansion> upper_expansions();
[[nodiscard]] std::span<const Expansion> lower_expansions();
/// Characters whose title case is not their upper case.
[[nodiscard]] std::span<const Expansion> title_exceptions();

}  // namespace pellucid::tokenizer::jinja
