// Shapes of tokenizer.json: what is read, and what is refused under which rule (rows M23 to M25 of
// the list of hostile inputs).

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "base/check.h"
#include "base/json.h"
#include "base/utf8.h"
#include "tokenizer/tokenizer_parts.h"

namespace pellucid::tokenizer {
namespace {

using json::Array;
using json::Object;
using json::Value;
using testing::ElementsAre;

/// GPT-2's alphabet, by byte.
std::string spelling(int byte) {
  std::string out;
  const auto stands = [](int b) { return (b > 0x20 && b < 0x7F) || (b > 0xA0 && b != 0xAD); };
  char32_t next = 0x100;
  for (int b = 0; b < byte; ++b) next += stands(b) ? 0 : 1;
  utf8::append(out, stands(byte) ? static_cast<char32_t>(byte) : next);
  return out;
}

Value added(std::int64_t id, std::string content, bool special = true) {
  return Object{
      {"id", id},        {"content", std::move(content)}, {"single_word", false}, {"lstrip", false},
      {"rstrip", false}, {"normalized", false},           {"special", special}};
}

/// 256 bytes as ids 0 to 255; "he" 256, "hel" 257, "lo" 258, " t" 259; "<s>" is added as 260.
Value document() {
  Object vocab;
  for (int byte = 0; byte < 256; ++byte) vocab.emplace_back(spelling(byte), byte);
  int id = 256;
  for (const char* token : {"he", "hel", "lo", "Ġt"}) vocab.emplace_back(token, id++);
  return Object{
      {"version", "1.0"},
      {"truncation", nullptr},
      {"padding", nullptr},
      {"added_tokens", Array{added(260, "<s>")}},
      {"normalizer", nullptr},
      {"pre_tokenizer", Object{{"type", "ByteLevel"},
                               {"add_prefix_space", false},
                               {"trim_offsets", true},
                               {"use_regex", true}}},
      {"post_processor", nullptr},
      {"decoder", Object{{"type", "ByteLevel"}}},
      {"model", Object{{"type", "BPE"},
                       {"ignore_merges", false},
                       {"vocab", std::move(vocab)},
                       {"merges", Array{"h e", "he l", "l o", "Ġ t"}}}},
  };
}

/// The member at a path of keys; it must exist.
Value& at(Value& value, std::initializer_list<std::string_view> path) {
  Value* here = &value;
  for (const std::string_view key : path) {
    Value* next = nullptr;
    for (auto& [name, member] : here->object()) {
      if (name == key) next = &member;
    }
    PELLUCID_CHECK(next != nullptr);
    here = next;
  }
  return *here;
}

using Edit = std::function<void(Value&)>;

Expected<Tokenizer> edited(const Edit& edit) {
  Value value = document();
  edit(value);
  return Tokenizer::from_json(json::dump(value), "tokenizer.json");
}

std::vector<TokenId> encode(const Tokenizer& tokenizer, std::string_view text,
                            Special special = Special::kAsTokens) {
  const auto ids = tokenizer.encode(text, special);
  EXPECT_TRUE(ids);
  return *ids;
}

TEST(TokenizerJson, ReadsTheBaseDocument) {
  const auto tokenizer = edited([](Value&) {});
  ASSERT_TRUE(tokenizer) << tokenizer.error().to_string();
  EXPECT_THAT(encode(*tokenizer, "hello to<s>"), ElementsAre(257, 258, 259, 'o', 260));
  EXPECT_THAT(encode(*tokenizer, "<s>", Special::kAsText), ElementsAre('<', 's', '>'));
  EXPECT_EQ(tokenizer->id_limit(), 261);
  EXPECT_EQ(tokenizer->bytes_of(259), " t");
  EXPECT_EQ(tokenizer->id_of(" t"), 259);
  EXPECT_EQ(tokenizer->id_of("<s>"), 260);
  EXPECT_EQ(tokenizer->id_of("absent"), std::nullopt);
  EXPECT_TRUE(tokenizer->prefix_ids().empty());
}

TEST(TokenizerJson, MergesInBothSpellingsAreTheSame) {
  const auto pairs = edited([](Value& v) {
    at(v, {"model", "merges"}) = Array{Array{"h", "e"}, Array{"he", "l"}, "l o", Array{"Ġ", "t"}};
  });
  ASSERT_TRUE(pairs) << pairs.error().to_string();
  EXPECT_THAT(encode(*pairs, "hello t"), ElementsAre(257, 258, 259));
}

TEST(TokenizerJson, IgnoreMergesTakesWholePieces) {
  const Edit whole = [](Value& v) {
    at(v, {"model", "vocab"}).object().emplace_back("hexlo", 300);  // no merge builds it
  };
  const auto without = edited(whole);
  const auto with = edited([&](Value& v) {
    whole(v);
    at(v, {"model", "ignore_merges"}) = true;
  });
  ASSERT_TRUE(without && with);
  EXPECT_THAT(encode(*without, "hexlo"), ElementsAre(256, 'x', 258));
  EXPECT_THAT(encode(*with, "hexlo"), ElementsAre(300));
  EXPECT_EQ(with->id_limit(), 301);
  EXPECT_EQ(with->bytes_of(280), std::nullopt);
}

// Untrusted text may spell an added token that is also a word, but only as that word; a special one
// not even with ignore_merges.
TEST(TokenizerJson, WholePiecesAreNeverAddedTokens) {
  const auto tokenizer = edited([](Value& v) {
    at(v, {"model", "ignore_merges"}) = true;
    at(v, {"model", "vocab"}).object().emplace_back("stop", 300);
    at(v, {"added_tokens"}).array().push_back(added(300, "stop"));
    at(v, {"added_tokens"}).array().push_back(added(256, "he", false));
  });
  ASSERT_TRUE(tokenizer) << tokenizer.error().to_string();
  EXPECT_THAT(encode(*tokenizer, "stop"), ElementsAre(300));
  EXPECT_THAT(encode(*tokenizer, "stop", Special::kAsText), ElementsAre('s', 't', 'o', 'p'));
  EXPECT_THAT(encode(*tokenizer, "he", Special::kAsText), ElementsAre(256));
}

TEST(TokenizerJson, PrefixOfATemplateIsToldAndNotAdded) {
  const auto tokenizer = edited([](Value& v) {
    at(v, {"post_processor"}) =
        Object{{"type", "Sequence"},
               {"processors",
                Array{Object{{"type", "ByteLevel"}},
                      Object{{"type", "TemplateProcessing"},
                             {"single", Array{Object{{"SpecialToken", Object{{"id", "<s>"}}}},
                                              Object{{"Sequence", Object{{"id", "A"}}}}}},
                             {"special_tokens", Object{{"<s>", Object{{"ids", Array{260}}}}}}}}}};
  });
  ASSERT_TRUE(tokenizer) << tokenizer.error().to_string();
  EXPECT_THAT(tokenizer->prefix_ids(), ElementsAre(260));
  EXPECT_THAT(encode(*tokenizer, "he"), ElementsAre(256));
}

TEST(TokenizerJson, DigitsAndSequencesOfSplits) {
  const auto tokenizer = edited([](Value& v) {
    at(v, {"model", "vocab"}).object().emplace_back("11", 300);
    at(v, {"model", "merges"}).array().push_back("1 1");
    at(v, {"pre_tokenizer"}) = Object{
        {"type", "Sequence"},
        {"pretokenizers",
         Array{Object{{"type", "Digits"}, {"individual_digits", true}},
               Object{{"type", "Split"},
                      {"pattern", Object{{"Regex", "e"}}},
                      {"behavior", "Isolated"},
                      {"invert", false}},
               Object{{"type", "ByteLevel"}, {"add_prefix_space", false}, {"use_regex", false}}}}};
  });
  ASSERT_TRUE(tokenizer) << tokenizer.error().to_string();
  EXPECT_THAT(encode(*tokenizer, "he11"), ElementsAre('h', 'e', '1', '1'));
}

TEST(TokenizerJson, ConfigEntriesTakePrecedence) {
  const auto config = parse_tokenizer_config(
      R"({"add_bos_token": true, "bos_token": {"content": "<s>"},
          "added_tokens_decoder": {"260": {"content": "<s>", "special": false},
                                   "261": {"content": "<new>", "special": true}}})",
      "tokenizer_config.json");
  ASSERT_TRUE(config) << config.error().to_string();
  const auto parts = parse_tokenizer_json(json::dump(document()), "tokenizer.json", *config);
  ASSERT_TRUE(parts) << parts.error().to_string();
  EXPECT_EQ(parts->vocabulary.kind_of(260), TokenKind::kAdded);
  EXPECT_EQ(parts->vocabulary.kind_of(261), TokenKind::kAddedSpecial);
  EXPECT_THAT(parts->prefix_ids, ElementsAre(260));
}

TEST(TokenizerConfig, RefusesWhatWouldChangeTheIds) {
  const struct {
    const char* text;
    const char* rule;
  } kCases[] = {
      {R"({"add_eos_token": true})", "tokenizer_unsupported"},
      {R"({"add_bos_token": 1})", "tokenizer_json"},
      {R"({"bos_token": 1})", "tokenizer_json"},
      {R"({"tokenizer_class": []})", "tokenizer_json"},
      {R"({"added_tokens_decoder": {"x": {"content": "a"}}})", "tokenizer_ids"},
      {R"({"added_tokens_decoder": {"99999999999999999999": {"content": "a"}}})", "tokenizer_ids"},
      {R"({"added_tokens_decoder": {"1": {"content": "a", "rstrip": true}}})",
       "tokenizer_unsupported"},
      {R"([])", "tokenizer_json"},
  };
  for (const auto& [text, rule] : kCases) {
    const auto config = parse_tokenizer_config(text, "tokenizer_config.json");
    ASSERT_FALSE(config) << text;
    EXPECT_EQ(config.error().rule, rule) << config.error().to_string();
  }
}

struct Refusal {
  const char* name;
  const char* rule;
  Edit edit;
};

Edit set(std::vector<std::string> path, Value to) {
  return [path = std::move(path), to = std::move(to)](Value& v) {
    Value* here = &v;
    for (const std::string& key : path) here = &at(*here, {key});
    *here = to;
  };
}
Edit append_member(std::vector<std::string> path, std::string key, Value to) {
  return [=](Value& v) {
    Value* here = &v;
    for (const std::string& step : path) here = &at(*here, {step});
    here->object().emplace_back(key, to);
  };
}
Edit append_added(Value token) {
  return [=](Value& v) { at(v, {"added_tokens"}).array().push_back(token); };
}
Edit append_merge(Value merge) {
  return [=](Value& v) { at(v, {"model", "merges"}).array().push_back(merge); };
}
Value split_step(const char* regex) {
  return Object{{"type", "Split"},
                {"pattern", Object{{"Regex", regex}}},
                {"behavior", "Isolated"},
                {"invert", false}};
}
Value sequence(Array steps) {
  return Object{{"type", "Sequence"}, {"pretokenizers", std::move(steps)}};
}
Value byte_level() {
  return Object{{"type", "ByteLevel"}, {"add_prefix_space", false}, {"use_regex", false}};
}

std::vector<Refusal> refusals() {
  Value flagged = added(270, "<x>");
  at(flagged, {"lstrip"}) = true;
  Value not_a_string = added(270, "<x>");
  at(not_a_string, {"content"}) = 5;
  return {
      // ids
      {"id negative", "tokenizer_ids", append_member({"model", "vocab"}, "zz", -1)},
      {"id twice", "tokenizer_ids", append_member({"model", "vocab"}, "zz", 5)},
      {"id 2^31", "tokenizer_ids", append_member({"model", "vocab"}, "zz", std::int64_t{1} << 31)},
      {"id at the limit", "tokenizer_ids", append_member({"model", "vocab"}, "zz", kIdLimit)},
      {"id beyond int64", "tokenizer_ids", append_member({"model", "vocab"}, "zz", UINT64_MAX)},
      {"id a fraction", "tokenizer_ids", append_member({"model", "vocab"}, "zz", 1.5)},
      {"id a string", "tokenizer_ids", append_member({"model", "vocab"}, "zz", "7")},
      {"token twice", "duplicate_key", append_member({"model", "vocab"}, "he", 300)},
      {"added id negative", "tokenizer_ids", append_added(added(-1, "<x>"))},
      {"added id 2^40", "tokenizer_ids", append_added(added(std::int64_t{1} << 40, "<x>"))},
      {"added id of a word", "tokenizer_ids", append_added(added(256, "<x>"))},
      {"added id twice", "tokenizer_ids", append_added(added(260, "<x>"))},
      {"byte without a token", "tokenizer_alphabet",
       [](Value& v) { at(v, {"model", "vocab"}).object()[65].first = "zz"; }},
      // merges
      {"merge of an absent left", "tokenizer_merges", append_merge("zz h")},
      {"merge of an absent right", "tokenizer_merges", append_merge("h zz")},
      {"merge into an absent token", "tokenizer_merges", append_merge("h h")},
      {"merge twice", "tokenizer_merges", append_merge(Array{"h", "e"})},
      {"merge of one", "tokenizer_merges", append_merge("he")},
      {"merge of three", "tokenizer_merges", append_merge("h e l")},
      {"merge of three in an array", "tokenizer_merges", append_merge(Array{"h", "e", "l"})},
      {"merge of nothing", "tokenizer_merges", append_merge("he ")},
      {"merge of numbers", "tokenizer_merges", append_merge(Array{1, 2})},
      {"merge null", "tokenizer_merges", append_merge(nullptr)},
      {"merge into a special token", "tokenizer_merges", append_added(added(258, "lo"))},
      {"merges an object", "tokenizer_json", set({"model", "merges"}, Object{})},
      // added tokens
      {"added empty", "tokenizer_added", append_added(added(270, ""))},
      {"added twice", "tokenizer_added", append_added(added(270, "<s>"))},
      {"added word with another id", "tokenizer_added", append_added(added(270, "he"))},
      {"added long", "tokenizer_added", append_added(added(270, std::string(257, 'x')))},
      {"added byte that is special", "tokenizer_added", append_added(added('A', "A"))},
      {"added with lstrip", "tokenizer_unsupported", append_added(flagged)},
      {"added not a string", "tokenizer_json", append_added(not_a_string)},
      {"added not an object", "tokenizer_json", append_added("<x>")},
      // pre-tokenizer
      {"pattern exponential", "tokenizer_pattern",
       set({"pre_tokenizer"}, sequence({split_step("(a+)+$"), byte_level()}))},
      {"pattern with look-behind", "tokenizer_pattern",
       set({"pre_tokenizer"}, sequence({split_step("(?<=a)b"), byte_level()}))},
      {"no pre-tokenizer", "tokenizer_json", set({"pre_tokenizer"}, nullptr)},
      {"no ByteLevel", "tokenizer_unsupported", set({"pre_tokenizer"}, split_step("a"))},
      {"step after ByteLevel", "tokenizer_unsupported",
       set({"pre_tokenizer"}, sequence({byte_level(), split_step("a")}))},
      {"unknown step", "tokenizer_unsupported",
       set({"pre_tokenizer"}, Object{{"type", "Metaspace"}})},
      {"prefix space", "tokenizer_unsupported", set({"pre_tokenizer", "add_prefix_space"}, true)},
      {"split removed", "tokenizer_unsupported",
       set({"pre_tokenizer"}, Object{{"type", "Split"},
                                     {"pattern", Object{{"Regex", "a"}}},
                                     {"behavior", "Removed"},
                                     {"invert", false}})},
      {"split inverted", "tokenizer_unsupported",
       set({"pre_tokenizer"}, Object{{"type", "Split"},
                                     {"pattern", Object{{"Regex", "a"}}},
                                     {"behavior", "Isolated"},
                                     {"invert", true}})},
      {"split by a string", "tokenizer_unsupported",
       set({"pre_tokenizer"}, Object{{"type", "Split"},
                                     {"pattern", Object{{"String", "a"}}},
                                     {"behavior", "Isolated"},
                                     {"invert", false}})},
      // other settings
      {"normalizer", "tokenizer_unsupported", set({"normalizer"}, Object{{"type", "NFC"}})},
      {"truncation", "tokenizer_unsupported", set({"truncation"}, Object{{"max_length", 5}})},
      {"unknown key", "tokenizer_unsupported", append_member({}, "surprise", 1)},
      {"unknown model key", "tokenizer_unsupported", append_member({"model"}, "surprise", 1)},
      {"model of another type", "tokenizer_unsupported", set({"model", "type"}, "Unigram")},
      {"byte fallback", "tokenizer_unsupported", append_member({"model"}, "byte_fallback", true)},
      {"dropout", "tokenizer_unsupported", append_member({"model"}, "dropout", 0.1)},
      {"suffix", "tokenizer_unsupported", append_member({"model"}, "end_of_word_suffix", "</w>")},
      {"decoder", "tokenizer_unsupported", set({"decoder", "type"}, "Metaspace")},
      {"no decoder", "tokenizer_json", set({"decoder"}, nullptr)},
      {"post-processor", "tokenizer_unsupported",
       set({"post_processor"}, Object{{"type", "BertProcessing"}})},
      {"suffix of a template", "tokenizer_unsupported",
       set({"post_processor"},
           Object{{"type", "TemplateProcessing"},
                  {"single", Array{Object{{"Sequence", Object{{"id", "A"}}}},
                                   Object{{"SpecialToken", Object{{"id", "<s>"}}}}}},
                  {"special_tokens", Object{{"<s>", Object{{"ids", Array{260}}}}}}})},
      {"template id without a token", "tokenizer_unsupported",
       set({"post_processor"},
           Object{{"type", "TemplateProcessing"},
                  {"single", Array{Object{{"SpecialToken", Object{{"id", "<s>"}}}},
                                   Object{{"Sequence", Object{{"id", "A"}}}}}},
                  {"special_tokens", Object{{"<s>", Object{{"ids", Array{299}}}}}}})},
      {"no model", "tokenizer_json", set({"model"}, nullptr)},
      {"not an object", "tokenizer_json", [](Value& v) { v = Array{}; }},
  };
}

TEST(TokenizerJson, RefusalsNameTheRuleAndTheFile) {
  for (const Refusal& refusal : refusals()) {
    SCOPED_TRACE(refusal.name);
    const auto tokenizer = edited(refusal.edit);
    ASSERT_FALSE(tokenizer);
    EXPECT_EQ(tokenizer.error().rule, refusal.rule) << tokenizer.error().to_string();
    EXPECT_THAT(tokenizer.error().to_string(), testing::HasSubstr("tokenizer.json"));
    EXPECT_LT(tokenizer.error().to_string().size(), 2000u);
  }
}

TEST(TokenizerJson, RefusesTenMillionMerges) {
  std::string text = R"({"model": {"merges": [)";
  for (int i = 0; i < 10'000'000; ++i) text += "0,";
  const auto tokenizer = Tokenizer::from_json(text + "0]}}", "tokenizer.json");
  ASSERT_FALSE(tokenizer);
  EXPECT_EQ(tokenizer.error().rule, "json_limit");
}

TEST(TokenizerJson, ReadsATokenOfAMegabyte) {
  const std::string token(1 << 20, 'q');
  const auto tokenizer = edited([&](Value& v) {
    at(v, {"model", "ignore_merges"}) = true;
    at(v, {"model", "vocab"}).object().emplace_back(token, 300);
  });
  ASSERT_TRUE(tokenizer) << tokenizer.error().to_string();
  EXPECT_THAT(encode(*tokenizer, token), ElementsAre(300));
}

TEST(TokenizerJson, DeepNestingIsRefused) {
  Value steps = byte_level();
  for (int i = 0; i < 100; ++i) steps = sequence({std::move(steps)});
  const auto tokenizer = edited(set({"pre_tokenizer"}, steps));
  ASSERT_FALSE(tokenizer);
  EXPECT_EQ(tokenizer.error().rule, "json_depth");
}

TEST(TokenizerLoad, NamesWhatIsMissing) {
  const auto tokenizer =
      Tokenizer::load(std::filesystem::path(PELLUCID_SOURCE_DIR) / "tests/golden/tokenizer");
  ASSERT_FALSE(tokenizer);
  EXPECT_EQ(tokenizer.error().rule, "tokenizer_missing");
  EXPECT_EQ(tokenizer.error().kind, ErrorKind::kNotFound);
}

}  // namespace
}  // namespace pellucid::tokenizer
