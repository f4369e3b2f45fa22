// Long hostile texts. A quadratic step would take minutes here; the bound of 5 s is about 10 times
// what the slowest of them needs (0.6 s), so it does not fail on a busy machine.

#include <gtest/gtest.h>

#include <chrono>

#include "base/utf8.h"
#include "tokenizer/tokenizer.h"

namespace pellucid::tokenizer {
namespace {

constexpr std::size_t kBytes = 1 << 20;
constexpr std::chrono::seconds kTimeMax{5};

std::string repeated(std::string_view unit) {
  std::string text;
  while (text.size() < kBytes) text += unit;
  return text;
}

class TokenizerScale : public testing::TestWithParam<const char*> {};

TEST_P(TokenizerScale, MegabytesOfOneThingTakeLinearTime) {
  const std::filesystem::path source = PELLUCID_SOURCE_DIR;
  auto tokenizer = Tokenizer::load(source / GetParam());
  ASSERT_TRUE(tokenizer) << tokenizer.error().to_string();
  for (const std::string_view unit :
       {std::string_view("a"), std::string_view("A"), std::string_view("1"), std::string_view(" "),
        std::string_view("\r\n"), std::string_view("'s"), std::string_view("."),
        std::string_view("\0", 1), std::string_view("\u0301"), std::string_view("中"),
        std::string_view("👩‍💻"), std::string_view(" \u0301"),
        std::string_view("\U00031350"), std::string_view("<think>"), std::string_view("\xff")}) {
    // The last character differs, so that a run is not the end of the text.
    const std::string text = repeated(unit) + "x";
    const auto begin = std::chrono::steady_clock::now();
    const auto ids = tokenizer->encode(text, Special::kAsTokens);
    const auto time = std::chrono::steady_clock::now() - begin;
    SCOPED_TRACE(utf8::escape_for_display(unit));
    ASSERT_TRUE(ids) << ids.error().to_string();
    EXPECT_LT(time, kTimeMax);
    EXPECT_EQ(tokenizer->decode_bytes(*ids).value(), utf8::replace_invalid(text));
  }
}

INSTANTIATE_TEST_SUITE_P(All, TokenizerScale,
                         testing::Values("tests/golden/tokenizer/glm",
                                         "tests/golden/tokenizer/deepseek",
                                         "tests/golden/tokenizer/kimi"));

TEST(TokenizerLimits, TextBeyondTheLimitIsAnError) {
  const std::filesystem::path source = PELLUCID_SOURCE_DIR;
  auto tokenizer = Tokenizer::load(source / "models/tiny");
  ASSERT_TRUE(tokenizer) << tokenizer.error().to_string();
  const auto ids = tokenizer->encode(std::string((64 << 20) + 1, 'a'), Special::kAsText);
  ASSERT_FALSE(ids);
  EXPECT_EQ(ids.error().rule, "tokenize_limit");
  EXPECT_EQ(ids.error().kind, ErrorKind::kLimit);
}

}  // namespace
}  // namespace pellucid::tokenizer
