#include "checkpoint/plain_json.h"

#include <gtest/gtest.h>

#include <string>

namespace pellucid::checkpoint {
namespace {

// Strings are tested 8 bytes at a time: every byte at every place of every length around 8 and 16.
TEST(PlainJson, TakesStringsOfPrintableAsciiWithoutEscapes) {
  for (std::size_t size = 1; size <= 17; ++size) {
    for (std::size_t at = 0; at < size; ++at) {
      for (int byte = 0; byte < 256; ++byte) {
        std::string contents(size, 'a');
        contents[at] = static_cast<char>(byte);
        const std::string text = "\"" + contents + "\"";
        const auto read = PlainJson(text).string();
        const bool is_plain = byte >= 0x20 && byte < 0x7F && byte != '\\';
        ASSERT_EQ(read.has_value(), is_plain) << size << " " << at << " " << byte;
        if (!is_plain) continue;
        ASSERT_EQ(*read, byte == '"' ? contents.substr(0, at) : contents);
      }
    }
  }
}

TEST(PlainJson, TakesAnExpectedStringOnlyWhole) {
  for (const char* text :
       {"", "\"", "\"ab\"", "\"abcd\"", "\"abd\"", "\"abc", "abc\"", "x\"abc\""}) {
    PlainJson json(text);
    EXPECT_FALSE(json.accept_string("abc")) << text;
  }
  PlainJson json(" \n\"abc\":1");
  EXPECT_TRUE(json.accept_string("abc"));
  EXPECT_TRUE(json.accept(':'));
  EXPECT_EQ(json.number(), 1U);
  EXPECT_TRUE(json.at_end());
}

}  // namespace
}  // namespace pellucid::checkpoint
