#pragma once
// What the messages of the three engines mean, as tables. The texts are those of SGLang from
// February to September 2026, vLLM of August 2026, llama.cpp and ik_llama.cpp of August 2026.

#include <array>
#include <span>
#include <string_view>

#include "peers/log_reader.h"

namespace pellucid::peers {

/// A message that gives values of settings: capture i is the value of names[i] (empty: ignored).
/// With a fixed value the pattern has no capture for names[0].
struct SettingShape {
  LogEngine engine;
  std::string_view pattern;
  Evidence evidence;
  std::array<std::string_view, 3> names;
  std::string_view fixed = {};
  std::string_view caution = {};
};
[[nodiscard]] std::span<const SettingShape> setting_shapes();

struct NoiseShape {
  std::string_view id;
  std::string_view pattern;
  std::string_view why;
};
[[nodiscard]] std::span<const NoiseShape> noise_shapes();

struct CrashShape {
  std::string_view id;
  std::string_view pattern;
  std::string_view meaning;
  bool consequence = false;
};
[[nodiscard]] std::span<const CrashShape> crash_shapes();

/// True for the wordings by which SGLang reports that it replaced or dropped a value.
[[nodiscard]] bool says_override(std::string_view text);

/// "dsa_prefill_backend" and "nsa-prefill-backend" are one setting: the older name, with '_'.
[[nodiscard]] std::string canonical_setting(std::string_view name);
/// One word for values that are the same: bf16 and torch.bfloat16, float8_e4m3fn and fp8_e4m3.
[[nodiscard]] std::string canonical_value(std::string_view value);

}  // namespace pellucid::peers
