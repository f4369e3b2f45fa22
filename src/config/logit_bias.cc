#include "config/logit_bias.h"

#include <charconv>
#include <string>

namespace pellucid::config {
namespace {

template <class T>
bool parse_whole(std::string_view text, T& value) {
  const char* const end = text.data() + text.size();
  const auto [next, error] = std::from_chars(text.data(), end, value);
  return error == std::errc() && next == end;
}

}  // namespace

std::optional<LogitBias> parse_logit_bias(std::string_view text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos) return std::nullopt;
  LogitBias out;
  if (!parse_whole(text.substr(0, equals), out.token) || out.token < 0) return std::nullopt;
  if (!parse_whole(text.substr(equals + 1), out.bias)) return std::nullopt;
  if (!(out.bias >= -100 && out.bias <= 100)) return std::nullopt;  // NaN fails
  return out;
}

Expected<void> check_logit_bias(std::string_view text) {
  if (parse_logit_bias(text)) return {};
  return fail({.rule = "setting_value",
               .found = "\"" + std::string(text) + "\"",
               .expected = "ID=BIAS with BIAS from -100 to 100, such as 1242=-100"});
}

}  // namespace pellucid::config
