#include "tokenizer/pattern.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tokenizer/pretokenizer.h"

namespace pellucid::tokenizer {
namespace {

constexpr std::string_view kGlm =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*)"
    R"(|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kQwen =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*)"
    R"(|\s*[\r\n]+|\s+(?!\S)|\s+)";

TEST(Pattern, AcceptsKnownTokenizers) {
  for (const std::string_view pattern : {kGlm, kQwen, kGpt2Pattern, kKimiPattern}) {
    const auto translated = translate_pattern(pattern, "test");
    EXPECT_TRUE(translated) << translated.error().to_string();
  }
}

TEST(Pattern, AcceptsLinearForms) {
  for (const char* pattern : {"a", "a+", "[a-z]+", "ab?c{1,3}d*", R"(\p{Lu}\p{Ll}+)", R"(\p{N}{3})",
                              R"(\p{N}{2,})", R"(\.+|\-)", "é+", R"([^\s])", R"(\P{L}+)",
                              R"(\s+(?!\S)|x)", "(?i:'s|'t|'re|'ve|'m|'ll|'d)"}) {
    EXPECT_TRUE(translate_pattern(pattern, "test")) << pattern;
  }
}

TEST(Pattern, RefusesWhatIsNotProvablyLinear) {
  for (const char* pattern : {
           "(a+)+$",                         // nested repeats
           "(a|a)*b",                        // a repeated group
           "(?:a)",                          // a group
           "(?:a+)+",                        //
           R"((a)\1)",                       // back-reference
           R"(\1)",                          //
           "(?<=a)b",                        // look-behind
           "(?<!a)b",                        //
           "(?=a)b",                         // look-ahead
           "a(?!b)",                         //
           R"(\s+$)",                        // anchor
           "^a",                             //
           "a+b",                            // gives back
           "a*b",                            //
           "a+a+",                           //
           "[ab]*[bc]+",                     //
           "a{2,}b",                         //
           "a+?",                            // lazy
           "a++",                            // possessive
           "a?+",                            //
           "a{1,3}+",                        //
           "a*",                             // can match nothing
           "",                               //
           "a|",                             //
           "a||b",                           //
           "b?c?",                           //
           "a{0,1000}",                      // large counts
           "a{1000}",                        //
           "a{3,2}",                         //
           "a{,3}",                          //
           "a{0}",                           //
           "a{x}",                           //
           "a{1",                            //
           "a{0,60}b{0,60}c",                // many ways
           ".",                              // differs between engines
           R"(\w+)",                         //
           R"(\b)",                          //
           R"(\v)",                          //
           R"(\h)",                          //
           R"(\R)",                          //
           R"(\X)",                          //
           R"(\Qa)",                         //
           R"(\x{41})",                      //
           R"(\p{Greek}+)",                  // PCRE2 takes script extensions
           R"(\p{^L})",                      //
           R"(\pL)",                         //
           "[a",                             // malformed
           "[",                              //
           "[]a]",                           //
           "a]",                             //
           "a\\",                            //
           "[a\\",                           //
           ")",                              //
           "(",                              //
           "*a",                             //
           "[a[b]]",                         // set operations
           "[a&&b]",                         //
           "[a--b]",                         //
           "[a~~b]",                         //
           "[[:alpha:]]",                    //
           "(?i:'s|'t|'re|'ve|'m|'ll|'d)+",  // the contractions, repeated
           "(?i:x)",                         //
           R"(\s*[\r\n]+)",                  // linear only before \s+(?!\S)|\s+
           R"(\s*[\r\n]+|\s|\s+)",           //
           R"(\s*[\r\n]+|\s+)",              //
       }) {
    const auto translated = translate_pattern(pattern, "test");
    ASSERT_FALSE(translated) << pattern << " became " << *translated;
    EXPECT_EQ(translated.error().rule, "tokenizer_pattern") << pattern;
    EXPECT_EQ(translated.error().kind, ErrorKind::kUnsupported) << pattern;
  }
}

TEST(Pattern, RefusesTheFirstHalfOfKimisPairAlone) {
  std::string pattern(kKimiPattern);
  const std::size_t second =
      pattern.find(R"(|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+)");
  ASSERT_NE(second, std::string::npos);
  pattern.erase(second, pattern.find(R"(|\p{N}{1,3})") - second);
  EXPECT_FALSE(translate_pattern(pattern, "test"));
}

TEST(Pattern, BoundsTheWorkOfOneAttempt) {
  EXPECT_TRUE(translate_pattern(std::string(1024, 'a'), "test"));
  EXPECT_FALSE(translate_pattern(std::string(1025, 'a'), "test"));
  EXPECT_FALSE(translate_pattern("[^x]{64}" + std::string(1000, 'a'), "test"));
  std::string alternatives = "a";
  for (int i = 1; i < 1024; ++i) alternatives += "|a";
  EXPECT_TRUE(translate_pattern(alternatives, "test"));
  EXPECT_FALSE(translate_pattern(alternatives + "|a", "test"));
  EXPECT_FALSE(translate_pattern(std::string(5000, '|'), "test"));
}

std::vector<std::string> split(const std::vector<std::string>& patterns, std::string_view text) {
  auto pre_tokenizer = PreTokenizer::create(patterns, "test");
  EXPECT_TRUE(pre_tokenizer) << pre_tokenizer.error().to_string();
  std::vector<std::string> pieces;
  const auto scratch = PreTokenizer::make_scratch();
  EXPECT_TRUE(pre_tokenizer->split(text, *scratch,
                                   [&](std::string_view piece) { pieces.emplace_back(piece); }));
  return pieces;
}

using Pieces = std::vector<std::string>;

TEST(PreTokenizer, GapsBetweenMatchesArePieces) {
  EXPECT_EQ(split({"b+"}, "abbcabd"), (Pieces{"a", "bb", "ca", "b", "d"}));
  EXPECT_EQ(split({"b+"}, "xyz"), (Pieces{"xyz"}));
  EXPECT_EQ(split({"b+"}, ""), Pieces{});
  EXPECT_EQ(split({}, "ab"), (Pieces{"ab"}));
}

TEST(PreTokenizer, LaterSplitsSeeOnlyThePiece) {
  // Within "ab " nothing follows the space, so the look-ahead holds; in the whole text it does not.
  EXPECT_EQ(split({R"(\p{N}{1,3})", R"(\s+(?!\S)|\p{L}+)"}, "ab 1234"),
            (Pieces{"ab", " ", "123", "4"}));
  EXPECT_EQ(split({R"(\s+(?!\S)|[^\s]+)"}, "ab 1234"), (Pieces{"ab", " ", "1234"}));
}

TEST(PreTokenizer, GlmDetails) {
  const std::vector<std::string> glm = {std::string(kGlm)};
  EXPECT_EQ(split(glm, "it'ſ 12345"), (Pieces{"it", "'ſ", " ", "123", "45"}));
  // U+180E is no white space (it was until Unicode 6.3, and PCRE2's \s still has it).
  EXPECT_EQ(split(glm, "a \u180e1"), (Pieces{"a", " \u180e", "1"}));
  EXPECT_EQ(split(glm, "a\u3000\u3000b\u0085"), (Pieces{"a", "\u3000", "\u3000b", "\u0085"}));
  EXPECT_EQ(split(glm, "a  \r\n\n b"), (Pieces{"a", "  \r\n\n", " b"}));
}

TEST(PreTokenizer, KimiSplitsHanFromOtherLetters) {
  const std::vector<std::string> kimi = {std::string(kKimiPattern)};
  EXPECT_EQ(split(kimi, "模型model模型"), (Pieces{"模型", "model", "模型"}));
  EXPECT_EQ(split(kimi, "camelCaseHTTP's"), (Pieces{"camel", "Case", "HTTP's"}));
  // U+30FB is Han by script extensions only, and no letter; U+3005 is a letter and Han by script.
  EXPECT_EQ(split(kimi, "人々ア・ア"), (Pieces{"人々", "ア", "・ア"}));
}

TEST(PreTokenizer, CodePointsYoungerThanTheTablesOfPcre2) {
  const std::vector<std::string> kimi = {std::string(kKimiPattern)};
  // U+31350: CJK extension H, Unicode 15.0. U+A7CB: a capital letter of 16.0. U+11F50: a digit.
  EXPECT_EQ(split(kimi, "中\U00031350a\ua7cb"), (Pieces{"中\U00031350", "a", "\ua7cb"}));
  EXPECT_EQ(split(kimi, "\U00011f50\U00011f50\U00011f50\U00011f50"),
            (Pieces{"\U00011f50\U00011f50\U00011f50", "\U00011f50"}));
}

TEST(PreTokenizer, RefusesTooManySplits) {
  EXPECT_TRUE(PreTokenizer::create(std::vector<std::string>(16, "a"), "test"));
  const auto refused = PreTokenizer::create(std::vector<std::string>(17, "a"), "test");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().rule, "tokenizer_pattern");
}

}  // namespace
}  // namespace pellucid::tokenizer
