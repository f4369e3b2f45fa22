#include "checkpoint/index.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace pellucid::checkpoint {
namespace {

std::string rule_of(std::string_view text) {
  const auto index = parse_index(text);
  return index ? "accepted" : index.error().rule;
}

TEST(Index, NumbersShardsInTheOrderOfFirstMention) {
  const auto index = parse_index(
      R"({"metadata": {"total_size": 3}, "weight_map": {"a": "two", "b": "one", "c": "two"}})");
  ASSERT_TRUE(index) << index.error().to_string();
  EXPECT_EQ(index->shards, (std::vector<std::string>{"two", "one"}));
  ASSERT_EQ(index->tensors.size(), 3U);
  EXPECT_EQ(index->tensors[0].second, 0U);
  EXPECT_EQ(index->tensors[1].second, 1U);
  EXPECT_EQ(index->tensors[2].second, 0U);
}

// An escape anywhere sends the text to the strict parser, whose names are no views into the text.
TEST(Index, ReadsEscapedAndUnsortedNames) {
  const auto index = parse_index(R"({"weight_map": {"b": "x", "\u0061": "y", "c\n": "x"}})");
  ASSERT_TRUE(index) << index.error().to_string();
  EXPECT_EQ(index->tensors, (std::vector<std::pair<std::string_view, std::uint32_t>>{
                                {"b", 0}, {"a", 1}, {"c\n", 0}}));
  const auto unsorted = parse_index(R"({"weight_map": {"b": "x", "a": "y", "c": "x"}})");
  ASSERT_TRUE(unsorted) << unsorted.error().to_string();
  EXPECT_EQ(unsorted->tensors, (std::vector<std::pair<std::string_view, std::uint32_t>>{
                                   {"b", 0}, {"a", 1}, {"c", 0}}));
}

// What the plain reader skips must be no less strict than what it keeps.
TEST(Index, RefusesWhatIsNotStrictJsonAnywhere) {
  EXPECT_EQ(rule_of(R"({"metadata": {"a": 1, "b": {"a": 2}}, "weight_map": {"a": "x"}})"),
            "accepted");
  for (const char* text :
       {R"({"weight_map": {"a": "x", "a": "x"}})",
        R"({"weight_map": {"b": "x", "a": "x", "b": "y"}})",
        R"({"weight_map": {"a": "x"}, "weight_map": {"b": "x"}})",
        R"({"metadata": {}, "metadata": {}, "weight_map": {"a": "x"}})",
        R"({"metadata": {"k": 1, "k": 2}, "weight_map": {"a": "x"}})",
        R"({"metadata": {"k": {"l": "", "l": ""}}, "weight_map": {"a": "x"}})"}) {
    EXPECT_EQ(rule_of(text), "duplicate_tensor") << text;
  }
  EXPECT_EQ(rule_of(R"({"weight_map": {"a": "x"}} )"), "accepted");
  EXPECT_EQ(rule_of(R"({"weight_map": {"a": "x"}}])"), "index_json");
}

TEST(Index, RefusesPathsOutOfTheDirectory) {
  for (const char* name : {"", "/x", "../x", "a/../x", "a//x", "./x", "a/", "a/.."}) {
    EXPECT_EQ(rule_of(std::string(R"({"weight_map": {"a": ")") + name + "\"}}"), "shard_path")
        << name;
  }
  EXPECT_EQ(rule_of(R"({"weight_map": {"a": "x\u0000"}})"), "shard_path");
  EXPECT_EQ(rule_of(R"({"weight_map": {"a": "sub/x.safetensors"}})"), "accepted");
}

}  // namespace
}  // namespace pellucid::checkpoint
