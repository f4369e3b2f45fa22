#pragma once
// A resolution for people and for programs. Pure: text in, text out, so that the same words can be
// printed, served and tested.

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/json.h"
#include "config/resolution.h"

namespace pellucid::config {

struct ExplainStyle {
  bool all = false;         ///< settings at their default, too
  std::size_t width = 100;  ///< of the terminal, in columns
};

/// Model, device, settings with value, source and reason, memory plan, kernels, refusals, notes.
[[nodiscard]] std::string explain_text(const Resolution& resolution,
                                       const ExplainStyle& style = {});

/// The object of docs/formats/explain-json.md.
[[nodiscard]] json::Value explain_json(const Resolution& resolution);

/// Every voice in the choice of one setting.
[[nodiscard]] std::string why_text(const Resolution& resolution, const Setting& setting,
                                   const ExplainStyle& style = {});

/// What start-up prints: the hash, and what is neither a default nor a recommendation, in one line.
[[nodiscard]] std::string summary_line(const Resolution& resolution);

/// One thing that differs between two resolutions.
struct Difference {
  std::string what = {};  ///< "kv.dtype", "memory: KV cache", "kernel of linear (bf16)", "refusal"
  std::string before = {};  ///< empty: was not there
  std::string after = {};
  std::string reason = {};
};

[[nodiscard]] std::vector<Difference> compare(const Resolution& before, const Resolution& after);
[[nodiscard]] std::string differences_text(std::span<const Difference> differences,
                                           const ExplainStyle& style = {});
[[nodiscard]] json::Value differences_json(std::span<const Difference> differences);

struct WhatIf {
  std::string change = {};
  std::vector<Difference> differences = {};
  std::string why_nothing = {};  ///< set when there is no difference
  bool accepted = true;          ///< false: start-up would refuse after the change
};

/// The effect of one change: "key=value", or "-key" to unset. Rules: "unknown_setting",
/// "setting_value", "what_if".
[[nodiscard]] Expected<WhatIf> what_if(std::span<const Declaration> declarations,
                                       const Facts& facts, std::string_view change);
[[nodiscard]] std::string what_if_text(const WhatIf& result, const ExplainStyle& style = {});
[[nodiscard]] json::Value what_if_json(const WhatIf& result);

/// The value as it is shown in a table: sizes with units, text escaped and shortened, "auto" when
/// open.
[[nodiscard]] std::string shown_value(const Effective& effective);

/// docs/settings.md, from the table.
[[nodiscard]] std::string settings_page();

}  // namespace pellucid::config
