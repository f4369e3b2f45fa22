#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <random>

#include "base/utf8.h"
#include "tokenizer/tokenizer.h"

namespace pellucid::tokenizer {
namespace {

class DetokenizerTest : public testing::Test {
 protected:
  void SetUp() override {
    auto loaded = Tokenizer::load(std::filesystem::path(PELLUCID_SOURCE_DIR) / "models/tiny");
    ASSERT_TRUE(loaded) << loaded.error().to_string();
    tokenizer.emplace(*std::move(loaded));
  }
  [[nodiscard]] TokenId byte(int value) const {
    return tokenizer->id_of(std::string(1, static_cast<char>(value))).value();
  }
  std::optional<Tokenizer> tokenizer;
};

TEST_F(DetokenizerTest, HoldsBackWhatMayBecomeACodePoint) {
  Detokenizer detokenizer(*tokenizer);
  EXPECT_EQ(detokenizer.push(byte(0xF0)).value(), "");
  EXPECT_EQ(detokenizer.push(byte(0x9F)).value(), "");
  EXPECT_EQ(detokenizer.push(byte(0x99)).value(), "");
  EXPECT_EQ(detokenizer.push(byte(0x82)).value(), "🙂");
  EXPECT_EQ(detokenizer.push(byte('x')).value(), "x");
  EXPECT_EQ(detokenizer.finish(), "");
}

TEST_F(DetokenizerTest, GivesOutWhatCannotAsReplacement) {
  Detokenizer detokenizer(*tokenizer);
  EXPECT_EQ(detokenizer.push(byte(0xF0)).value(), "");
  EXPECT_EQ(detokenizer.push(byte('a')).value(), "\ufffda");
  EXPECT_EQ(detokenizer.push(byte(0x80)).value(), "\ufffd");
  EXPECT_EQ(detokenizer.push(byte(0xE0)).value(), "");
  EXPECT_EQ(detokenizer.push(byte(0x80)).value(), "\ufffd\ufffd");  // overlong from its second byte
  EXPECT_EQ(detokenizer.push(byte(0xE4)).value(), "");
  EXPECT_EQ(detokenizer.push(byte(0xB8)).value(), "");
  EXPECT_EQ(detokenizer.finish(), "\ufffd");  // one for the maximal subpart
  EXPECT_EQ(detokenizer.finish(), "");
}

TEST_F(DetokenizerTest, RandomBytesJoinToTheLossyDecodingOfAll) {
  std::mt19937 rng(20261201);
  // Bytes that begin, continue and end code points more often than uniform ones would.
  const std::string pool = "a\x7f\x80\x8f\x90\x9f\xa0\xbf\xc1\xc3\xe0\xe4\xed\xef\xf0\xf4\xf5\xff";
  for (int round = 0; round < 3000; ++round) {
    Detokenizer detokenizer(*tokenizer);
    std::string bytes;
    std::string joined;
    for (std::size_t n = 1 + rng() % 12; n > 0; --n) {
      const char c = pool[rng() % pool.size()];
      bytes.push_back(c);
      joined += detokenizer.push(byte(static_cast<unsigned char>(c))).value();
    }
    joined += detokenizer.finish();
    ASSERT_EQ(joined, utf8::replace_invalid(bytes)) << utf8::escape_for_display(bytes);
  }
}

TEST_F(DetokenizerTest, SpecialTokensAreLeftOutOnRequest) {
  const TokenId user = tokenizer->id_of("<|user|>").value();
  const TokenId think = tokenizer->id_of("<think>").value();
  ASSERT_TRUE(tokenizer->is_special(user));
  ASSERT_FALSE(tokenizer->is_special(think));
  Detokenizer skipping(*tokenizer);
  EXPECT_EQ(skipping.push(user).value(), "");
  EXPECT_EQ(skipping.push(think).value(), "<think>");
  Detokenizer keeping(*tokenizer, false);
  EXPECT_EQ(keeping.push(user).value(), "<|user|>");
}

TEST_F(DetokenizerTest, IdsWithoutATokenAreErrors) {
  Detokenizer detokenizer(*tokenizer);
  const auto limit = static_cast<TokenId>(tokenizer->id_limit());
  for (const TokenId id : {-1, limit, limit + 1, INT32_MAX, INT32_MIN}) {
    const auto pushed = detokenizer.push(id);
    ASSERT_FALSE(pushed) << id;
    EXPECT_EQ(pushed.error().rule, "token_id");
    EXPECT_EQ(tokenizer->bytes_of(id), std::nullopt);
    EXPECT_FALSE(tokenizer->is_special(id));
  }
}

}  // namespace
}  // namespace pellucid::tokenizer
