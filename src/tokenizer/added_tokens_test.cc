#include "tokenizer/added_tokens.h"

#include <gtest/gtest.h>

#include <string>

namespace pellucid::tokenizer {
namespace {

AddedTokens make(const std::vector<AddedToken>& tokens) {
  AddedTokens added;
  for (const AddedToken& token : tokens) EXPECT_TRUE(added.add(token, "test"));
  return added;
}

/// Parts as "text" or "<id>", joined by '|'.
std::string shown(const AddedTokens& added, std::string_view text) {
  std::string out;
  for (const AddedTokens::Part& part : added.split(text)) {
    if (!out.empty()) out += '|';
    out += part.id ? "<" + std::to_string(*part.id) + ">" : std::string(part.text);
  }
  return out;
}

TEST(AddedTokens, LeftmostThenLongest) {
  const AddedTokens added = make({{.id = 1, .content = "ab"},
                                  {.id = 2, .content = "abcd"},
                                  {.id = 3, .content = "bcdefg"},
                                  {.id = 4, .content = "c"}});
  EXPECT_EQ(shown(added, "ab"), "<1>");
  EXPECT_EQ(shown(added, "xabcdefgx"), "x|<2>|efgx");
  EXPECT_EQ(shown(added, "abcx"), "<1>|<4>|x");  // "abcd" fails after "ab" matched
  EXPECT_EQ(shown(added, "bcdefc"), "b|<4>|def|<4>");
  EXPECT_EQ(shown(added, "bcdefgab"), "<3>|<1>");
  EXPECT_EQ(shown(added, "none of them"), "none of them");
  EXPECT_EQ(shown(added, ""), "");
}

TEST(AddedTokens, NormalizedOnesOnlyInWhatTheOthersLeave) {
  const AddedTokens added = make({{.id = 1, .content = "bc"},
                                  {.id = 2, .content = "abc", .normalized = true},
                                  {.id = 3, .content = "a", .normalized = true}});
  EXPECT_EQ(shown(added, "abc"), "<3>|<1>");
  EXPECT_EQ(shown(added, "abxa"), "<3>|bx|<3>");
}

TEST(AddedTokens, MatchesWithinMultiByteTextKeepCharactersWhole) {
  const AddedTokens added = make({{.id = 1, .content = "é"}, {.id = 2, .content = "｜"}});
  EXPECT_EQ(shown(added, "ée\u0301｜Ãé"), "<1>|e\u0301|<2>|Ã|<1>");
}

TEST(AddedTokens, IdOfNamesExactContents) {
  const AddedTokens added = make({{.id = 7, .content = "<think>"}});
  EXPECT_EQ(added.id_of("<think>"), 7);
  EXPECT_EQ(added.id_of("<think"), std::nullopt);
}

TEST(AddedTokens, RefusesEmptyLongAndRepeatedContents) {
  AddedTokens added;
  ASSERT_TRUE(added.add({.id = 1, .content = "x"}, "test"));
  ASSERT_TRUE(added.add({.id = 2, .content = std::string(kAddedBytesMax, 'y')}, "test"));
  for (const std::string& content :
       {std::string(), std::string("x"), std::string(kAddedBytesMax + 1, 'y')}) {
    const auto result = added.add({.id = 3, .content = content}, "test");
    ASSERT_FALSE(result) << content;
    EXPECT_EQ(result.error().rule, "tokenizer_added");
  }
}

}  // namespace
}  // namespace pellucid::tokenizer
