#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tokenizer/tokenizer_parts.h"

namespace pellucid::tokenizer {
namespace {

using testing::ElementsAre;

std::string base64(std::string_view bytes) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    std::uint32_t bits = 0;
    for (std::size_t j = 0; j < 3; ++j) {
      const char c = i + j < bytes.size() ? bytes[i + j] : '\0';
      bits = bits << 8 | static_cast<unsigned char>(c);
    }
    for (std::size_t j = 0; j < 4; ++j) {
      out.push_back(i + j > bytes.size() ? '=' : kDigits[bits >> (18 - 6 * j) & 63]);
    }
  }
  return out;
}

std::string line(std::string_view token, std::int64_t rank) {
  return base64(token) + " " + std::to_string(rank) + "\n";
}

/// 256 bytes; then "bc" 256, "ab" 257, "abc" 258, "bcd" 259.
std::string ranks() {
  std::string text;
  for (int byte = 0; byte < 256; ++byte)
    text += line(std::string(1, static_cast<char>(byte)), byte);
  int rank = 256;
  for (const char* token : {"bc", "ab", "abc", "bcd"}) text += line(token, rank++);
  return text;
}

TokenizerConfig kimi_config() {
  TokenizerConfig config;
  config.tokenizer_class = "tokenization_kimi.TikTokenTokenizer";
  return config;
}

std::vector<TokenId> encode(const TokenizerParts& parts, std::string_view piece) {
  std::vector<TokenId> ids;
  Bpe::Scratch scratch;
  parts.bpe.encode(piece, ids, scratch);
  return ids;
}

TEST(Tiktoken, MergesTheLowestRankOfTheJoinedBytes) {
  const auto parts = parse_tiktoken(ranks(), "tiktoken.model", kimi_config());
  ASSERT_TRUE(parts) << parts.error().to_string();
  EXPECT_THAT(encode(*parts, "abd"), ElementsAre(257, 'd'));
  EXPECT_THAT(encode(*parts, "abcd"), ElementsAre(258, 'd'));  // bc, then a+bc before bc+d
  EXPECT_THAT(encode(*parts, "xbcd"), ElementsAre('x', 259));
  EXPECT_THAT(encode(*parts, "abc"), ElementsAre(258));
}

TEST(Tiktoken, SlotsAfterTheRanksAreReserved) {
  TokenizerConfig config = kimi_config();
  config.added_tokens = {{.id = 261, .content = "<think>", .special = false, .normalized = true},
                         {.id = 260, .content = "[BOS]", .special = true, .normalized = false}};
  config.add_bos_token = true;
  config.bos_token = "[BOS]";
  const auto parts = parse_tiktoken(ranks(), "tiktoken.model", config);
  ASSERT_TRUE(parts) << parts.error().to_string();
  EXPECT_EQ(parts->vocabulary.id_limit(), 260 + 256);
  EXPECT_EQ(parts->vocabulary.bytes_of(260), "[BOS]");
  EXPECT_EQ(parts->vocabulary.kind_of(261), TokenKind::kAdded);
  EXPECT_EQ(parts->vocabulary.bytes_of(262), "<|reserved_token_262|>");
  EXPECT_EQ(parts->vocabulary.kind_of(515), TokenKind::kAddedSpecial);
  EXPECT_EQ(parts->added.id_of("<|reserved_token_515|>"), 515);
  EXPECT_THAT(parts->prefix_ids, ElementsAre(260));
}

TEST(Tiktoken, LinesMayEndInCarriageReturnAndOrderIsFree) {
  std::string text = line("bc", 256) + "\r\n";
  for (int byte = 255; byte >= 0; --byte) {
    text += base64(std::string(1, static_cast<char>(byte))) + " " + std::to_string(byte) + "\r\n";
  }
  const auto parts = parse_tiktoken(text, "tiktoken.model", kimi_config());
  ASSERT_TRUE(parts) << parts.error().to_string();
  EXPECT_THAT(encode(*parts, "abc"), ElementsAre('a', 256));
}

TEST(Tiktoken, RefusalsNameTheRule) {
  const std::string good = ranks();
  const struct {
    const char* name;
    std::string text;
    const char* rule;
  } kCases[] = {
      {"empty", "", "tokenizer_alphabet"},
      {"a byte is missing", line("a", 0), "tokenizer_alphabet"},
      {"no space", good + "QUJD\n", "tiktoken_line"},
      {"no rank", good + "QUJD \n", "tiktoken_line"},
      {"rank not a number", good + "QUJD x\n", "tiktoken_line"},
      {"rank with a tail", good + "QUJD 260 1\n", "tiktoken_line"},
      {"rank beyond int64", good + "QUJD 99999999999999999999\n", "tiktoken_line"},
      {"empty token", good + " 260\n", "tiktoken_line"},
      {"base64 cut", good + "QUJ 260\n", "tiktoken_line"},
      {"base64 of another alphabet", good + "Q-_D 260\n", "tiktoken_line"},
      {"base64 with only padding", good + "==== 260\n", "tiktoken_line"},
      {"base64 padded in the middle", good + "QQ==QUJD 260\n", "tiktoken_line"},
      {"base64 with loose bits", good + "QR== 260\n", "tiktoken_line"},
      {"rank negative", good + line("xx", -1), "tokenizer_ids"},
      {"rank twice", good + line("xx", 7), "tokenizer_ids"},
      {"rank 2^31", good + line("xx", std::int64_t{1} << 31), "tokenizer_ids"},
      {"rank with a gap", good + line("xx", 1000), "tokenizer_ids"},
      {"token twice", good + line("ab", 260), "tokenizer_ids"},
      {"a token of a megabyte", good + line(std::string(1 << 20, 'a'), 260), "tokenizer_limit"},
  };
  for (const auto& [name, text, rule] : kCases) {
    SCOPED_TRACE(name);
    const auto parts = parse_tiktoken(text, "tiktoken.model", kimi_config());
    ASSERT_FALSE(parts);
    EXPECT_EQ(parts.error().rule, rule) << parts.error().to_string();
  }
}

TEST(Tiktoken, RefusesOtherTokenizerClasses) {
  const auto parts = parse_tiktoken(ranks(), "tiktoken.model", TokenizerConfig{});
  ASSERT_FALSE(parts);
  EXPECT_EQ(parts.error().rule, "tokenizer_unsupported");
}

TEST(Tiktoken, RefusesAddedTokensOutsideTheirSlots) {
  for (const std::int64_t id :
       {std::int64_t{-1}, std::int64_t{5}, std::int64_t{516}, std::int64_t{1} << 40}) {
    TokenizerConfig config = kimi_config();
    config.added_tokens = {{.id = id, .content = "<x>", .special = true, .normalized = false}};
    const auto parts = parse_tiktoken(ranks(), "tiktoken.model", config);
    ASSERT_FALSE(parts) << id;
    EXPECT_EQ(parts.error().rule, "tokenizer_added");
  }
}

}  // namespace
}  // namespace pellucid::tokenizer
