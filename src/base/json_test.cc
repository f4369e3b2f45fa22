#include "base/json.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

namespace pellucid::json {
namespace {

std::string rule_of(std::string_view text, const Limits& limits = {}) {
  const Expected<Value> value = parse(text, "test.json", limits);
  return value ? "accepted" : value.error().rule;
}

TEST(JsonParse, KeepsTypesApart) {
  const Value v = *parse(R"({"a":1,"b":1.0,"c":18446744073709551615,"d":-5,"e":null})", "t");
  EXPECT_EQ(v.find("a")->type(), Type::kInt);
  EXPECT_EQ(v.find("b")->type(), Type::kDouble);
  EXPECT_EQ(v.find("c")->uinteger(), std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(v.find("d")->integer(), -5);
  EXPECT_TRUE(v.find("e")->is_null());
  EXPECT_EQ(v.find("missing"), nullptr);
}

TEST(JsonParse, KeepsTheOrderOfMembers) {
  const Value v = *parse(R"({"z":1,"a":2,"m":3})", "t");
  ASSERT_EQ(v.object().size(), 3U);
  EXPECT_EQ(v.object()[0].first, "z");
  EXPECT_EQ(v.object()[2].first, "m");
}

TEST(JsonParse, RefusesByRule) {
  struct Case {
    std::string text;
    const char* rule;
  };
  const std::vector<Case> cases = {
      {"", "json_syntax"},
      {"{", "json_syntax"},
      {"[1,]", "json_syntax"},
      {"{\"a\":1,}", "json_syntax"},
      {"[1] [2]", "json_syntax"},
      {"[1]x", "json_syntax"},
      {"\xEF\xBB\xBF[1]", "json_syntax"},
      {"NaN", "json_syntax"},
      {"[Infinity]", "json_syntax"},
      {"[01]", "json_syntax"},
      {"// comment\n1", "json_syntax"},
      {"'a'", "json_syntax"},
      {"\"\x01\"", "json_syntax"},
      {R"({"a":1,"a":2})", "duplicate_key"},
      {R"([{"x":{"k":1,"k":1}}])", "duplicate_key"},
      {R"({"a":1,"\u0061":2})", "duplicate_key"},
      {"[x\xC3\xA9]", "json_syntax"},
      {"\"\xC0\x80\"", "json_utf8"},
      {"\"\xED\xA0\x80\"", "json_utf8"},
      {R"("\ud800")", "json_utf8"},
      {R"("\ud800x")", "json_utf8"},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(rule_of(c.text), c.rule) << c.text << parse(c.text, "t").error().to_string();
  }
}

TEST(JsonParse, LimitsDepthWithoutUsingTheStack) {
  const std::string deep(100'000, '[');
  EXPECT_EQ(rule_of(deep), "json_depth");
  const std::string nested = std::string(64, '[') + std::string(64, ']');
  EXPECT_EQ(rule_of(nested), "accepted");
  EXPECT_EQ(rule_of("[" + nested + "]"), "json_depth");
}

TEST(JsonParse, LimitsBytesAndValues) {
  EXPECT_EQ(rule_of("[1,2,3]", {.bytes_max = 6}), "json_limit");
  EXPECT_EQ(rule_of("[1,2,3]", {.values_max = 3}), "json_limit");
  EXPECT_EQ(rule_of("[1,2,3]", {.values_max = 4}), "accepted");
  EXPECT_EQ(rule_of("[[1],[2]]", {.values_max = 5}), "accepted");
}

TEST(JsonParse, NumbersOutOfRangeAreInfiniteOrRefusedNeverWrapped) {
  const Expected<Value> big = parse("[36893488147419103232]", "t");
  ASSERT_TRUE(big);
  EXPECT_EQ(big->array()[0].type(), Type::kDouble);
  EXPECT_DOUBLE_EQ(big->array()[0].number(), 36893488147419103232.0);
}

// Decimals that Boost.JSON 1.81 by itself reads one unit in the last place off, and the ends of the
// range. The compiler's own conversion of the literal is the reference.
TEST(JsonParse, DoublesAreCorrectlyRounded) {
  const Expected<Value> v = parse(
      "[184467440737372036854775808, 12345678901234566789012345678901, 1.7976931348623157e308,"
      " 2.2250738585072014e-308, 4.9e-324, 9007199254740993.0, -0.0, 1e-400, 1E999]",
      "t");
  ASSERT_TRUE(v);
  const std::vector<double> want = {184467440737372036854775808.0,
                                    12345678901234566789012345678901.0,
                                    1.7976931348623157e308,
                                    2.2250738585072014e-308,
                                    4.9e-324,
                                    9007199254740993.0,
                                    -0.0,
                                    0.0,
                                    std::numeric_limits<double>::infinity()};
  ASSERT_EQ(v->array().size(), want.size());
  for (std::size_t i = 0; i < want.size(); ++i) {
    EXPECT_EQ(std::bit_cast<std::uint64_t>(v->array()[i].number()),
              std::bit_cast<std::uint64_t>(want[i]))
        << want[i];
  }
  EXPECT_EQ(parse("-184467440737372036854775808", "t")->number(), -184467440737372036854775808.0);
}

TEST(JsonParse, ErrorNamesSourceAndByte) {
  const Expected<Value> v = parse("[1, x]", "config.json");
  ASSERT_FALSE(v);
  EXPECT_NE(v.error().to_string().find("config.json"), std::string::npos);
  EXPECT_NE(v.error().to_string().find("byte 4"), std::string::npos) << v.error().to_string();
}

TEST(JsonDump, WritesWhatParsesBackEqual) {
  const std::string text =
      R"({"s":"a\"\\\n\u0001é😀","n":[0,-1,9223372036854775807,18446744073709551615,1.5,1e+300,0.1])"
      R"(,"b":[true,false,null],"o":{}})";
  const Value v = *parse(text, "t");
  EXPECT_EQ(*parse(dump(v), "t"), v);
  EXPECT_EQ(*parse(dump(v, {.indent = 2, .ensure_ascii = true}), "t"), v);
}

TEST(JsonDump, MatchesPythonForDoubles) {
  struct Case {
    double value;
    const char* text;
  };
  for (const Case& c : std::vector<Case>{{1.0, "1.0"},
                                         {0.0, "0.0"},
                                         {-0.0, "-0.0"},
                                         {0.1, "0.1"},
                                         {1e16, "1e+16"},
                                         {9999999999999998.0, "9999999999999998.0"},
                                         {1e-5, "1e-05"},
                                         {0.0001, "0.0001"},
                                         {1.5e300, "1.5e+300"}}) {
    EXPECT_EQ(dump(Value(c.value)), c.text);
  }
}

TEST(JsonDump, NonFiniteIsNull) {
  EXPECT_EQ(dump(Value(std::nan(""))), "null");
  EXPECT_EQ(dump(Value(std::numeric_limits<double>::infinity())), "null");
}

TEST(JsonDump, Styles) {
  const Value v = *parse(R"({"b":[1,2],"a":"é"})", "t");
  EXPECT_EQ(dump(v), R"({"b":[1,2],"a":"é"})");
  EXPECT_EQ(dump(v, {.item_separator = ", ", .key_separator = ": "}), R"({"b": [1, 2], "a": "é"})");
  EXPECT_EQ(dump(v, {.ensure_ascii = true, .sort_keys = true}), R"({"a":"\u00e9","b":[1,2]})");
  EXPECT_EQ(dump(v, {.indent = 1, .key_separator = ": "}),
            "{\n \"b\": [\n  1,\n  2\n ],\n \"a\": \"é\"\n}");
}

TEST(JsonParse, DuplicateKeysAreFoundAmongManyMembers) {
  for (const int first : {0, 14, 15, 16, 38}) {
    std::string text = "{";
    for (int i = 0; i < 40; ++i) text += "\"k" + std::to_string(i) + "\":0,";
    EXPECT_TRUE(parse(text + "\"last\":0}", "t")) << first;
    const auto twice = parse(text + "\"k" + std::to_string(first) + "\":0}", "t");
    ASSERT_FALSE(twice) << first;
    EXPECT_EQ(twice.error().rule, "duplicate_key");
  }
}

}  // namespace
}  // namespace pellucid::json
