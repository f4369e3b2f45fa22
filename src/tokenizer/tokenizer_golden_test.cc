// The ids of the reference implementations, for every text of tests/golden/tokenizer.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <charconv>
#include <fstream>
#include <iterator>
#include <ranges>

#include "base/json.h"
#include "base/utf8.h"
#include "tokenizer/pretokenizer.h"
#include "tokenizer/tokenizer.h"

namespace pellucid::tokenizer {
namespace {

const std::filesystem::path kSource = PELLUCID_SOURCE_DIR;
const std::filesystem::path kGolden = kSource / "tests/golden/tokenizer";

json::Value read_json(const std::filesystem::path& path) {
  std::ifstream file(path);
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  auto value = json::parse(text, path.string());
  EXPECT_TRUE(value) << (value ? "" : value.error().to_string());
  return value ? *std::move(value) : json::Value();
}

std::string from_hex(std::string_view hex) {
  std::string bytes;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2) {
    unsigned char byte = 0;
    std::from_chars(hex.data() + i, hex.data() + i + 2, byte, 16);
    bytes.push_back(static_cast<char>(byte));
  }
  return bytes;
}

std::vector<std::string> read_texts() {
  std::vector<std::string> texts;
  const json::Value list = read_json(kGolden / "texts.json");
  for (const json::Value& text : list.array()) {
    texts.push_back(text.is_string() ? text.string() : from_hex(text.find("hex")->string()));
  }
  return texts;
}

std::vector<TokenId> ids_of(const json::Value& list) {
  std::vector<TokenId> ids;
  for (const json::Value& id : list.array()) ids.push_back(static_cast<TokenId>(id.integer()));
  return ids;
}

struct Case {
  const char* name;
  std::filesystem::path directory;
};

class TokenizerGolden : public testing::TestWithParam<Case> {};

TEST_P(TokenizerGolden, IdsEqualTheReference) {
  auto tokenizer = Tokenizer::load(GetParam().directory);
  ASSERT_TRUE(tokenizer) << tokenizer.error().to_string();
  const std::vector<std::string> texts = read_texts();
  const json::Value rows = read_json(kGolden / (std::string(GetParam().name) + ".ids.json"));
  ASSERT_GE(texts.size(), 2000u);
  ASSERT_EQ(rows.array().size(), texts.size());
  std::size_t differing_modes = 0;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    SCOPED_TRACE("text " + std::to_string(i) + ": " + utf8::escape_for_display(texts[i]));
    const json::Array& row = rows.array()[i].array();
    const auto as_tokens = tokenizer->encode(texts[i], Special::kAsTokens);
    const auto as_text = tokenizer->encode(texts[i], Special::kAsText);
    ASSERT_TRUE(as_tokens && as_text);
    EXPECT_EQ(*as_tokens, ids_of(row.front()));
    EXPECT_EQ(*as_text, ids_of(row.back()));
    if (row.size() == 2) ++differing_modes;
  }
  EXPECT_GE(differing_modes, 10u) << "the texts no longer hold added tokens";
}

TEST_P(TokenizerGolden, DecodingGivesTheTextBack) {
  auto tokenizer = Tokenizer::load(GetParam().directory);
  ASSERT_TRUE(tokenizer) << tokenizer.error().to_string();
  for (const std::string& text : read_texts()) {
    SCOPED_TRACE(utf8::escape_for_display(text));
    const auto ids = tokenizer->encode(text, Special::kAsTokens);
    ASSERT_TRUE(ids);
    EXPECT_EQ(tokenizer->decode_bytes(*ids).value(), utf8::replace_invalid(text));
  }
}

TEST_P(TokenizerGolden, UntrustedTextNeverBecomesASpecialToken) {
  auto tokenizer = Tokenizer::load(GetParam().directory);
  ASSERT_TRUE(tokenizer) << tokenizer.error().to_string();
  for (const std::string& text : read_texts()) {
    const auto ids = tokenizer->encode(text, Special::kAsText);
    ASSERT_TRUE(ids);
    for (const TokenId id : *ids) {
      ASSERT_FALSE(tokenizer->is_special(id)) << utf8::escape_for_display(text);
    }
  }
}

TEST_P(TokenizerGolden, PushedTextsJoinToTheWholeDecoding) {
  auto tokenizer = Tokenizer::load(GetParam().directory);
  ASSERT_TRUE(tokenizer) << tokenizer.error().to_string();
  for (const std::string& text : read_texts()) {
    SCOPED_TRACE(utf8::escape_for_display(text));
    auto ids = tokenizer->encode(text, Special::kAsTokens);
    ASSERT_TRUE(ids);
    // Backwards too: then most sequences of bytes are not UTF-8.
    for (int round = 0; round < 2; ++round) {
      Detokenizer detokenizer(*tokenizer, false);
      std::string joined;
      for (const TokenId id : *ids) {
        const auto pushed = detokenizer.push(id);
        ASSERT_TRUE(pushed);
        ASSERT_TRUE(utf8::is_valid(*pushed));
        joined += *pushed;
      }
      joined += detokenizer.finish();
      EXPECT_EQ(joined, utf8::replace_invalid(tokenizer->decode_bytes(*ids).value()));
      std::ranges::reverse(*ids);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, TokenizerGolden,
                         testing::Values(Case{"tiny", kSource / "models/tiny"},
                                         Case{"glm", kGolden / "glm"},
                                         Case{"deepseek", kGolden / "deepseek"},
                                         Case{"kimi", kGolden / "kimi"},
                                         Case{"gpt2", kGolden / "gpt2"}),
                         [](const auto& test) { return test.param.name; });

// --- every code point ---

std::size_t count_code_points(std::string_view text) {
  return static_cast<std::size_t>(
      std::ranges::count_if(text, [](char c) { return (c & 0xC0) != 0x80; }));
}

/// The text around a code point whose pieces tell how the pre-tokenizer treats it.
std::string probe(char32_t code_point) {
  std::string x;
  utf8::append(x, code_point);
  return "a" + x + "a1" + x + " " + x + "A" + x + "." + x + "'" + x + "\n" + x + x;
}

class CodePoints : public testing::TestWithParam<const char*> {};

TEST_P(CodePoints, AreSplitAsTheReferenceDoes) {
  const json::Value golden = read_json(kGolden / (std::string(GetParam()) + ".code_points.json"));
  std::vector<std::string> splits;
  for (const json::Value& split : golden.find("splits")->array()) splits.push_back(split.string());
  auto pre_tokenizer = PreTokenizer::create(splits, "code_points.json");
  ASSERT_TRUE(pre_tokenizer) << pre_tokenizer.error().to_string();
  const auto scratch = PreTokenizer::make_scratch();
  std::size_t code_points = 0;
  for (const json::Value& run : golden.find("runs")->array()) {
    const auto index = static_cast<std::size_t>(run.array()[2].integer());
    const std::vector<TokenId> expected = ids_of(golden.find("signatures")->array()[index]);
    for (std::int64_t c = run.array()[0].integer(); c < run.array()[1].integer(); ++c) {
      std::vector<TokenId> lengths;
      ASSERT_TRUE(pre_tokenizer->split(
          probe(static_cast<char32_t>(c)), *scratch, [&](std::string_view piece) {
            lengths.push_back(static_cast<TokenId>(count_code_points(piece)));
          }));
      ASSERT_EQ(lengths, expected) << "U+" << std::hex << c;
      ++code_points;
    }
  }
  EXPECT_GT(code_points, 210'000u);
}

INSTANTIATE_TEST_SUITE_P(All, CodePoints, testing::Values("glm", "deepseek", "kimi"),
                         [](const auto& test) { return std::string(test.param); });

}  // namespace
}  // namespace pellucid::tokenizer
