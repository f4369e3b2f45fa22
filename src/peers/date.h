#pragma once
// Calendar days of other engines' histories, written YYYY-MM-DD.

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace pellucid::peers {

using Date = std::chrono::sys_days;

/// True for ten characters DDDD-DD-DD: a date is meant, be it one of the calendar or not.
[[nodiscard]] bool looks_like_date(std::string_view text);
/// Exactly YYYY-MM-DD, a day of the calendar. Rule "peer_date".
[[nodiscard]] Expected<Date> parse_date(std::string_view text);
[[nodiscard]] std::string to_string(Date date);

/// Both ends included.
struct DateRange {
  Date first;
  Date last;

  [[nodiscard]] bool contains(Date date) const { return first <= date && date <= last; }
};

/// "2026-01-23..2026-03-06", or one date. Rule "peer_date".
[[nodiscard]] Expected<DateRange> parse_date_range(std::string_view text);
[[nodiscard]] std::string to_string(const DateRange& range);
[[nodiscard]] bool contains(const std::vector<DateRange>& ranges, Date date);

}  // namespace pellucid::peers
