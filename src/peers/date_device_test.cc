#include <gtest/gtest.h>

#include "peers/date.h"
#include "peers/peers.h"

namespace pellucid::peers {
namespace {

TEST(Dates, OnlyDaysOfTheCalendar) {
  EXPECT_EQ(to_string(*parse_date("2026-02-18")), "2026-02-18");
  EXPECT_EQ(to_string(*parse_date("2024-02-29")), "2024-02-29");
  for (const char* text : {"", "2026-2-18", "2026-02-29", "2026-13-01", "2026-00-01", "20260218",
                           "2026-02-18 ", "2026/02/18", "2026-02-1x"}) {
    ASSERT_FALSE(parse_date(text)) << text;
    EXPECT_EQ(parse_date(text).error().rule, "peer_date");
  }
}

TEST(Dates, RangesIncludeBothEnds) {
  const DateRange range = *parse_date_range("2026-01-23..2026-03-06");
  EXPECT_TRUE(range.contains(*parse_date("2026-01-23")));
  EXPECT_TRUE(range.contains(*parse_date("2026-03-06")));
  EXPECT_FALSE(range.contains(*parse_date("2026-01-22")));
  EXPECT_FALSE(range.contains(*parse_date("2026-03-07")));
  EXPECT_EQ(to_string(range), "2026-01-23..2026-03-06");
  EXPECT_EQ(to_string(*parse_date_range("2026-04-03")), "2026-04-03");
  EXPECT_FALSE(parse_date_range("2026-03-06..2026-01-23"));
  EXPECT_FALSE(parse_date_range("2026-03-06.."));
}

TEST(Devices, NameMemoryAndCount) {
  const Device device = *parse_device("sm_120:96GB x8");
  EXPECT_EQ(device.compute_capability, 120);
  EXPECT_EQ(device.memory_bytes, 96'000'000'000U);
  EXPECT_EQ(device.count, 8);
  EXPECT_EQ(to_string(device), "sm_120:96GB x8");
  EXPECT_EQ(to_string(*parse_device("sm_90:80GiB")), "sm_90:80GiB");
  EXPECT_EQ(to_string(*parse_device("sm_100")), "sm_100");
  EXPECT_EQ(parse_device("sm_100x4")->count, 4);
  for (const char* text : {"", "sm_", "sm_x", "120", "sm_120:", "sm_120:96", "sm_120:96MB",
                           "sm_120:0GB", "sm_120:-1GB", "sm_120 x0", "sm_120 x", "sm_120x-2",
                           "sm_120:99999999999999999999GB", "sm_99999999999999999999"}) {
    ASSERT_FALSE(parse_device(text)) << text;
    EXPECT_EQ(parse_device(text).error().rule, "peer_device");
  }
}

}  // namespace
}  // namespace pellucid::peers
