#include "peers/date.h"

#include <fmt/format.h>

#include <algorithm>

namespace pellucid::peers {
namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

unsigned digits(std::string_view text) {
  unsigned out = 0;
  for (const char c : text) out = out * 10 + static_cast<unsigned>(c - '0');
  return out;
}

}  // namespace

bool looks_like_date(std::string_view text) {
  if (text.size() != 10) return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool dash = i == 4 || i == 7;
    if (dash ? text[i] != '-' : !is_digit(text[i])) return false;
  }
  return true;
}

Expected<Date> parse_date(std::string_view text) {
  if (looks_like_date(text)) {
    const std::chrono::year_month_day day{
        std::chrono::year(static_cast<int>(digits(text.substr(0, 4)))),
        std::chrono::month(digits(text.substr(5, 2))), std::chrono::day(digits(text.substr(8, 2)))};
    if (day.ok()) return Date(day);
  }
  return fail({.kind = ErrorKind::kInvalid,
               .rule = "peer_date",
               .object = "date",
               .found = std::string(text.substr(0, 64)),
               .expected = "a day as YYYY-MM-DD"});
}

std::string to_string(Date date) {
  const std::chrono::year_month_day day(date);
  return fmt::format("{:04}-{:02}-{:02}", static_cast<int>(day.year()),
                     static_cast<unsigned>(day.month()), static_cast<unsigned>(day.day()));
}

Expected<DateRange> parse_date_range(std::string_view text) {
  const std::size_t dots = text.find("..");
  PELLUCID_TRY(const Date first, parse_date(text.substr(0, dots)));
  if (dots == std::string_view::npos) return DateRange{first, first};
  PELLUCID_TRY(const Date last, parse_date(text.substr(dots + 2)));
  if (last < first) {
    return fail({.kind = ErrorKind::kInvalid,
                 .rule = "peer_date",
                 .object = "date range",
                 .found = std::string(text),
                 .expected = "the first day before the last"});
  }
  return DateRange{first, last};
}

std::string to_string(const DateRange& range) {
  if (range.first == range.last) return to_string(range.first);
  return to_string(range.first) + ".." + to_string(range.last);
}

bool contains(const std::vector<DateRange>& ranges, Date date) {
  return std::ranges::any_of(ranges, [date](const DateRange& r) { return r.contains(date); });
}

}  // namespace pellucid::peers
