#include "base/utf8.h"

#include <gtest/gtest.h>

namespace pellucid::utf8 {
namespace {

TEST(Utf8, EveryCodePointRoundTrips) {
  for (char32_t c = 0; c <= 0x10FFFF; ++c) {
    if (c >= 0xD800 && c <= 0xDFFF) continue;
    std::string text;
    append(text, c);
    const Decoded d = decode(text, 0);
    ASSERT_TRUE(d.valid) << static_cast<std::uint32_t>(c);
    ASSERT_EQ(d.code_point, c);
    ASSERT_EQ(d.length, text.size());
  }
}

TEST(Utf8, RefusesOverlongSurrogatesAndBeyond) {
  for (const char* bad :
       {"\xC0\x80", "\xC1\xBF", "\xE0\x9F\xBF", "\xED\xA0\x80", "\xF0\x8F\xBF\xBF",
        "\xF4\x90\x80\x80", "\xF5\x80\x80\x80", "\x80", "\xFF", "\xE2\x82"}) {
    EXPECT_FALSE(is_valid(bad)) << escape_for_display(bad);
  }
}

TEST(Utf8, ReplacesMaximalSubpartsAsPythonDoes) {
  // python3: b"...".decode("utf-8", "replace")
  EXPECT_EQ(replace_invalid("a\xF0\x9F\x98z"), "a\uFFFDz");
  EXPECT_EQ(replace_invalid("\xE2\x82\xE2\x82\xAC"), "\uFFFD\u20AC");
  EXPECT_EQ(replace_invalid("\xC0\xAF"), "\uFFFD\uFFFD");
  EXPECT_EQ(replace_invalid("\xED\xA0\x80"), "\uFFFD\uFFFD\uFFFD");
}

TEST(Utf8, IncompleteSuffixIsWhatLaterBytesCouldComplete) {
  EXPECT_EQ(incomplete_suffix("abc"), 0U);
  EXPECT_EQ(incomplete_suffix("a\xF0\x9F\x98"), 3U);
  EXPECT_EQ(incomplete_suffix("a\xF0"), 1U);
  EXPECT_EQ(incomplete_suffix("\xE2\x82\xAC"), 0U);
  EXPECT_EQ(incomplete_suffix("\x80"), 0U);
  EXPECT_EQ(incomplete_suffix("\xED\xA0"), 0U);
}

TEST(Utf8, EscapesWhatCouldDriveATerminal) {
  EXPECT_EQ(escape_for_display("a\x1b[31m\n"), "a\\x1b[31m\\n");
  EXPECT_EQ(escape_for_display("\xFF"), "\\xff");
  EXPECT_EQ(escape_for_display("\u202e"), "\\xe2\\x80\\xae");
  EXPECT_EQ(escape_for_display("é"), "é");
}

}  // namespace
}  // namespace pellucid::utf8
