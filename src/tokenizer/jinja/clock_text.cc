#include "tokenizer/jinja/clock_text.h"

#include <array>
#include <ctime>
#include <string>

namespace pellucid::tokenizer::jinja {
namespace {

constexpr std::string_view kDirectives = "aAbBdeFGHIjmMpRSTuUVwWyYnt%hD";
constexpr std::string_view kPaddedNumbers = "dHIjmMSy";

/// `%d` or, without the padding, `%-d`.
Result<void> append_directive(TextBuilder& out, const std::tm& time, char directive, bool bare) {
  const bool known = kDirectives.find(directive) != std::string_view::npos &&
                     (!bare || kPaddedNumbers.find(directive) != std::string_view::npos);
  if (!known) {
    return wrong("strftime_now", std::string("directive %") + (bare ? "-" : "") + directive,
                 "one of a A b B d e F G H I j m M p R S T u U V w W y Y n t % h D");
  }
  const std::array<char, 3> format = {'%', directive, '\0'};
  std::array<char, 64> text{};
  const std::size_t size = std::strftime(text.data(), text.size(), format.data(), &time);
  std::string_view result(text.data(), size);
  while (bare && result.size() > 1 && result[0] == '0') result.remove_prefix(1);
  out.append(result);
  return {};
}

}  // namespace

Result<Value> strftime_now(Runtime& runtime, const Arguments& arguments) {
  PELLUCID_TRY(const auto bound, bind("strftime_now", arguments, {"format"}, 1));
  if (!bound[0]->is_string()) return wrong("strftime_now", bound[0]->type_name(), "a str");
  const std::time_t seconds = runtime.unix_time();
  std::tm time{};
  // Four-digit years: the range of Python's datetime.
  constexpr std::time_t kYear1 = -62'135'596'800;
  constexpr std::time_t kYear10000 = 253'402'300'800;
  if (seconds < kYear1 || seconds >= kYear10000 || ::gmtime_r(&seconds, &time) == nullptr) {
    return wrong("strftime_now", "the clock", "a time in the years 1 to 9999");
  }
  const std::string_view format = bound[0]->text();
  PELLUCID_TRY_VOID(runtime.steps(format.size()));
  TextBuilder out(runtime);
  for (std::size_t i = 0; i < format.size(); ++i) {
    if (format[i] != '%') {
      out.append(format[i]);
      continue;
    }
    const bool bare = format.substr(i + 1, 1) == "-";
    i += bare ? 2 : 1;
    if (i >= format.size()) return wrong("strftime_now", "% at the end", "a directive");
    PELLUCID_TRY_VOID(append_directive(out, time, format[i], bare));
  }
  return out.finish();
}

}  // namespace pellucid::tokenizer::jinja
