#include <boost/unordered/unordered_flat_map.hpp>

#include "base/utf8.h"
#include "tokenizer/byte_alphabet.h"
#include "tokenizer/pattern.h"
#include "tokenizer/tokenizer_parts.h"

namespace pellucid::tokenizer {
namespace {

/// `model.vocab` as the file spells it: views into the document.
using Keys = boost::unordered_flat_map<std::string_view, TokenId>;

// --- pre_tokenizer, decoder, post_processor ---

struct PreTokenizerSteps {
  std::vector<std::string> patterns;
  bool byte_level = false;
};

Expected<void> read_pre_tokenizer(const JsonFields& fields, PreTokenizerSteps& steps);

Expected<void> read_sequence(const JsonFields& fields, PreTokenizerSteps& steps) {
  PELLUCID_TRY_VOID(fields.only({"type", "pretokenizers"}));
  PELLUCID_TRY(const json::Value* list, fields.require("pretokenizers", json::Type::kArray));
  for (std::size_t i = 0; i < list->array().size(); ++i) {
    const std::string path = fields.path_of("pretokenizers") + "[" + std::to_string(i) + "]";
    PELLUCID_TRY(const JsonFields step, JsonFields::of(list->array()[i], path, fields.source()));
    PELLUCID_TRY_VOID(read_pre_tokenizer(step, steps));
  }
  return {};
}

Expected<void> read_split(const JsonFields& fields, PreTokenizerSteps& steps) {
  PELLUCID_TRY_VOID(fields.only({"type", "pattern", "behavior", "invert"}));
  PELLUCID_TRY(const JsonFields pattern, fields.object("pattern"));
  if (pattern.is_null("Regex")) return fields.unsupported("pattern", "a Regex");
  PELLUCID_TRY(const std::string_view regex, pattern.string("Regex"));
  PELLUCID_TRY(const std::string_view behavior, fields.string("behavior"));
  if (behavior != "Isolated") return fields.unsupported("behavior", "Isolated");
  PELLUCID_TRY(const bool invert, fields.boolean_or("invert", false));
  if (invert) return fields.unsupported("invert", "false");
  steps.patterns.emplace_back(regex);
  return {};
}

Expected<void> read_byte_level(const JsonFields& fields, PreTokenizerSteps& steps) {
  PELLUCID_TRY_VOID(fields.only({"type", "add_prefix_space", "trim_offsets", "use_regex"}));
  PELLUCID_TRY(const bool prefix_space, fields.boolean_or("add_prefix_space", true));
  if (prefix_space) return fields.unsupported("add_prefix_space", "false");
  PELLUCID_TRY(const bool use_regex, fields.boolean_or("use_regex", true));
  if (use_regex) steps.patterns.emplace_back(kGpt2Pattern);
  steps.byte_level = true;
  return {};
}

/// Runs of decimal digits and other numbers (category N), or each of them.
Expected<void> read_digits(const JsonFields& fields, PreTokenizerSteps& steps) {
  PELLUCID_TRY_VOID(fields.only({"type", "individual_digits"}));
  PELLUCID_TRY(const bool individual, fields.boolean_or("individual_digits", false));
  steps.patterns.emplace_back(individual ? R"(\p{N})" : R"(\p{N}+)");
  return {};
}

Expected<void> read_pre_tokenizer(const JsonFields& fields, PreTokenizerSteps& steps) {
  PELLUCID_TRY(const std::string_view type, fields.string("type"));
  // ByteLevel rewrites the text into its alphabet: a pattern after it would see other characters.
  if (steps.byte_level) return fields.unsupported("type", "nothing after ByteLevel");
  if (type == "Sequence") return read_sequence(fields, steps);
  if (type == "Split") return read_split(fields, steps);
  if (type == "ByteLevel") return read_byte_level(fields, steps);
  if (type == "Digits") return read_digits(fields, steps);
  return fields.unsupported("type", "Sequence, Split, ByteLevel or Digits");
}

Expected<PreTokenizer> make_pre_tokenizer(const JsonFields& root) {
  PELLUCID_TRY(const JsonFields fields, root.object("pre_tokenizer"));
  PreTokenizerSteps steps;
  PELLUCID_TRY_VOID(read_pre_tokenizer(fields, steps));
  if (!steps.byte_level) return root.unsupported("pre_tokenizer", "ByteLevel as its last step");
  return PreTokenizer::create(steps.patterns, root.source());
}

Expected<void> check_decoder(const JsonFields& root) {
  PELLUCID_TRY(const JsonFields decoder, root.object("decoder"));
  PELLUCID_TRY(const std::string_view type, decoder.string("type"));
  if (type != "ByteLevel") return decoder.unsupported("type", "ByteLevel");
  return {};
}

/// The ids of a special token that TemplateProcessing puts in.
Expected<void> read_template_ids(const JsonFields& processor, std::string_view token,
                                 std::vector<TokenId>& ids) {
  PELLUCID_TRY(const JsonFields special_tokens, processor.object("special_tokens"));
  PELLUCID_TRY(const JsonFields entry, special_tokens.object(token));
  PELLUCID_TRY(const json::Value* list, entry.require("ids", json::Type::kArray));
  for (const json::Value& id : list->array()) {
    if (id.type() != json::Type::kInt || id.integer() < 0 || id.integer() >= kIdLimit) {
      return entry.unsupported("ids", "ids of tokens");
    }
    ids.push_back(static_cast<TokenId>(id.integer()));
  }
  return {};
}

Expected<void> read_template(const JsonFields& processor, std::vector<TokenId>& prefix) {
  PELLUCID_TRY(const json::Value* single, processor.require("single", json::Type::kArray));
  bool after_text = false;
  for (const json::Value& piece : single->array()) {
    PELLUCID_TRY(const JsonFields fields,
                 JsonFields::of(piece, processor.path_of("single[]"), processor.source()));
    if (!fields.is_null("Sequence")) {
      if (after_text) return processor.unsupported("single", "the text once");
      after_text = true;
      continue;
    }
    PELLUCID_TRY(const JsonFields special, fields.object("SpecialToken"));
    PELLUCID_TRY(const std::string_view token, special.string("id"));
    if (after_text) return processor.unsupported("single", "special tokens only before the text");
    PELLUCID_TRY_VOID(read_template_ids(processor, token, prefix));
  }
  if (!after_text) return processor.unsupported("single", "the text once");
  return {};
}

Expected<void> read_post_processor(const JsonFields& fields, std::vector<TokenId>& prefix) {
  PELLUCID_TRY(const std::string_view type, fields.string("type"));
  if (type == "ByteLevel") return {};  // moves offsets, adds nothing
  if (type == "TemplateProcessing") return read_template(fields, prefix);
  if (type != "Sequence") {
    return fields.unsupported("type", "ByteLevel, TemplateProcessing or Sequence");
  }
  PELLUCID_TRY(const json::Value* list, fields.require("processors", json::Type::kArray));
  for (const json::Value& value : list->array()) {
    PELLUCID_TRY(const JsonFields processor,
                 JsonFields::of(value, fields.path_of("processors[]"), fields.source()));
    PELLUCID_TRY_VOID(read_post_processor(processor, prefix));
  }
  return {};
}

// --- model ---

Expected<void> check_model(const JsonFields& model) {
  PELLUCID_TRY_VOID(
      model.only({"type", "dropout", "unk_token", "continuing_subword_prefix", "end_of_word_suffix",
                  "fuse_unk", "byte_fallback", "ignore_merges", "vocab", "merges"}));
  PELLUCID_TRY(const std::string_view type, model.string("type"));
  if (type != "BPE") return model.unsupported("type", "BPE");
  const json::Value* dropout = model.find("dropout");
  if (dropout != nullptr && !dropout->is_null() &&
      !(dropout->is_number() && dropout->number() == 0)) {
    return model.unsupported("dropout", "null or 0");
  }
  for (const std::string_view key : {"continuing_subword_prefix", "end_of_word_suffix"}) {
    const json::Value* affix = model.find(key);
    if (affix == nullptr || affix->is_null()) continue;
    if (!affix->is_string() || !affix->string().empty()) {
      return model.unsupported(key, "null or an empty string");
    }
  }
  PELLUCID_TRY(const bool byte_fallback, model.boolean_or("byte_fallback", false));
  if (byte_fallback) return model.unsupported("byte_fallback", "false");
  // unk_token and fuse_unk have no effect: every byte has a token (checked).
  return {};
}

/// Fills the id table. A token with a character outside the byte alphabet cannot come out of BPE;
/// its bytes are its text (as the reference's decoder has it).
Expected<Keys> read_vocab(const JsonFields& model, Vocabulary& vocabulary) {
  PELLUCID_TRY(const json::Value* vocab, model.require("vocab", json::Type::kObject));
  Keys keys;
  keys.reserve(vocab->object().size());
  for (const auto& [key, id] : vocab->object()) {
    if (id.type() != json::Type::kInt) {
      return fail({.kind = ErrorKind::kInvalid,
                   .rule = "tokenizer_ids",
                   .object = "token '" + utf8::escape_for_display(key.substr(0, 64)) + "'",
                   .found = json::dump(id).substr(0, 64),
                   .expected = "an integer id",
                   .source = model.source(),
                   .fix = {}});
    }
    PELLUCID_TRY_VOID(vocabulary.add(id.integer(), bytes_of_alphabet(key).value_or(key),
                                     TokenKind::kOrdinary, model.source()));
    keys.emplace(key, static_cast<TokenId>(id.integer()));
  }
  return keys;
}

struct MergePair {
  std::string_view left;
  std::string_view right;
};

/// Both spellings: "l r" and ["l", "r"].
std::optional<MergePair> merge_pair(const json::Value& merge) {
  if (merge.is_array()) {
    const json::Array& pair = merge.array();
    if (pair.size() != 2 || !pair[0].is_string() || !pair[1].is_string()) return std::nullopt;
    return MergePair{.left = pair[0].string(), .right = pair[1].string()};
  }
  if (!merge.is_string()) return std::nullopt;
  const std::string_view text = merge.string();
  const std::size_t space = text.find(' ');
  if (space == std::string_view::npos || text.find(' ', space + 1) != std::string_view::npos) {
    return std::nullopt;
  }
  return MergePair{.left = text.substr(0, space), .right = text.substr(space + 1)};
}

Expected<void> read_merges(const JsonFields& model, const Keys& keys, TokenizerParts& parts) {
  PELLUCID_TRY(const json::Value* merges, model.require("merges", json::Type::kArray));
  std::uint32_t rank = 0;
  std::string joined;
  for (const json::Value& merge : merges->array()) {
    const auto refuse = [&](std::string found, std::string expected) {
      return fail({.kind = ErrorKind::kInvalid,
                   .rule = "tokenizer_merges",
                   .object = model.path_of("merges[") + std::to_string(rank) + "] " +
                             json::dump(merge).substr(0, 128),
                   .found = std::move(found),
                   .expected = std::move(expected),
                   .source = model.source(),
                   .fix = {}});
    };
    const std::optional<MergePair> pair = merge_pair(merge);
    if (!pair) return refuse("another shape", "\"left right\" or [\"left\", \"right\"]");
    joined.assign(pair->left).append(pair->right);
    const auto left = keys.find(pair->left);
    const auto right = keys.find(pair->right);
    const auto merged = keys.find(joined);
    if (left == keys.end() || right == keys.end() || merged == keys.end()) {
      return refuse("a piece that is not in the vocabulary", "both pieces and their join in it");
    }
    if (parts.vocabulary.kind_of(merged->second) == TokenKind::kAddedSpecial) {
      return refuse("a special token as the result", "merges that build ordinary tokens");
    }
    if (!parts.bpe.add_merge(left->second, right->second, rank, merged->second)) {
      return refuse("the pair a second time", "each pair once");
    }
    ++rank;
  }
  return {};
}

// --- added tokens ---

/// The entries of the file, with those of `config` in place of or after them.
Expected<std::vector<AddedToken>> read_added_tokens(const JsonFields& root,
                                                    const TokenizerConfig& config) {
  std::vector<AddedToken> tokens;
  boost::unordered_flat_map<std::string, std::size_t> by_content;
  if (!root.is_null("added_tokens")) {
    PELLUCID_TRY(const json::Value* list, root.require("added_tokens", json::Type::kArray));
    for (const json::Value& value : list->array()) {
      PELLUCID_TRY(const JsonFields entry,
                   JsonFields::of(value, "added_tokens[" + std::to_string(tokens.size()) + "]",
                                  root.source()));
      PELLUCID_TRY(const json::Value* id, entry.require("id", json::Type::kInt));
      PELLUCID_TRY(AddedToken token, parse_added_token(entry, id->integer()));
      by_content.emplace(token.content, tokens.size());
      tokens.push_back(std::move(token));
    }
  }
  for (const AddedToken& token : config.added_tokens) {
    const auto same = by_content.find(token.content);
    if (same == by_content.end()) {
      tokens.push_back(token);
      continue;
    }
    if (tokens[same->second].id != token.id) {
      return fail({.kind = ErrorKind::kInvalid,
                   .rule = "tokenizer_added",
                   .object = "added token '" + utf8::escape_for_display(token.content) + "'",
                   .found = "id " + std::to_string(token.id) + " in tokenizer_config.json",
                   .expected = "id " + std::to_string(tokens[same->second].id) + " as here",
                   .source = root.source(),
                   .fix = {}});
    }
    tokens[same->second] = token;
  }
  return tokens;
}

/// A content that is also a token of the vocabulary must have that token's id, and a special one
/// must not be a single byte: ordinary text could spell it.
Expected<void> add_added_token(const AddedToken& token, const Keys& keys, std::string_view source,
                               TokenizerParts& parts) {
  PELLUCID_TRY_VOID(parts.added.add(token, source));
  const TokenKind kind = token.special ? TokenKind::kAddedSpecial : TokenKind::kAdded;
  const auto in_vocabulary = keys.find(token.content);
  if (in_vocabulary == keys.end()) {
    return parts.vocabulary.add(token.id, token.content, kind, source);
  }
  const auto refuse = [&](std::string found, std::string expected) {
    return fail({.kind = ErrorKind::kInvalid,
                 .rule = "tokenizer_added",
                 .object = "added token '" + utf8::escape_for_display(token.content) + "'",
                 .found = std::move(found),
                 .expected = std::move(expected),
                 .source = std::string(source),
                 .fix = {}});
  };
  if (in_vocabulary->second != token.id) {
    return refuse("id " + std::to_string(token.id), "id " + std::to_string(in_vocabulary->second) +
                                                        ", which the vocabulary gives it");
  }
  if (token.special && bytes_of_alphabet(token.content).value_or("").size() == 1) {
    return refuse("special, and the token of a byte", "a text that is not one byte");
  }
  parts.vocabulary.mark_added(in_vocabulary->second, token.content, kind);
  return {};
}

/// Tells `bpe` the tokens that it may give out: added ones not as whole pieces, so that untrusted
/// text cannot name them.
Expected<void> fill_bpe(const JsonFields& model, const Keys& keys, TokenizerParts& parts) {
  for (const auto& [key, id] : keys) {
    if (bytes_of_alphabet(key)) parts.bpe.add_token(*parts.vocabulary.bytes_of(id), id);
  }
  if (const std::optional<int> byte = parts.bpe.missing_byte()) {
    return fail({.kind = ErrorKind::kInvalid,
                 .rule = "tokenizer_alphabet",
                 .object = model.path_of("vocab"),
                 .found = "no token for byte " + std::to_string(*byte),
                 .expected = "a token for each of the 256 bytes",
                 .source = model.source(),
                 .fix = {}});
  }
  for (const auto& [key, id] : keys) {
    if (parts.vocabulary.kind_of(id) != TokenKind::kOrdinary) {
      parts.bpe.forget_whole(*parts.vocabulary.bytes_of(id));
    }
  }
  PELLUCID_TRY(const bool ignore_merges, model.boolean_or("ignore_merges", false));
  parts.bpe.set_whole_piece_first(ignore_merges);
  return read_merges(model, keys, parts);
}

Expected<void> read_prefix(const JsonFields& root, const TokenizerConfig& config,
                           TokenizerParts& parts) {
  if (!root.is_null("post_processor")) {
    PELLUCID_TRY(const JsonFields processor, root.object("post_processor"));
    PELLUCID_TRY_VOID(read_post_processor(processor, parts.prefix_ids));
  }
  for (const TokenId id : parts.prefix_ids) {
    if (parts.vocabulary.kind_of(id) != TokenKind::kAbsent) continue;
    return root.unsupported("post_processor", "ids of tokens");
  }
  return add_config_prefix(config, root.source(), parts);
}

}  // namespace

Expected<TokenizerParts> parse_tokenizer_json(std::string_view text, std::string_view source,
                                              const TokenizerConfig& config) {
  PELLUCID_TRY(const json::Value document, json::parse(text, source, kTokenizerJsonLimits));
  PELLUCID_TRY(const JsonFields root, JsonFields::of(document, "", source));
  PELLUCID_TRY_VOID(root.only({"version", "truncation", "padding", "added_tokens", "normalizer",
                               "pre_tokenizer", "post_processor", "decoder", "model"}));
  for (const std::string_view key : {"truncation", "padding", "normalizer"}) {
    if (!root.is_null(key)) return root.unsupported(key, "null");
  }
  PELLUCID_TRY(const JsonFields model, root.object("model"));
  PELLUCID_TRY_VOID(check_model(model));
  PELLUCID_TRY_VOID(check_decoder(root));
  PELLUCID_TRY(PreTokenizer pre_tokenizer, make_pre_tokenizer(root));
  TokenizerParts parts{.vocabulary = {},
                       .added = {},
                       .bpe = {},
                       .pre_tokenizer = std::move(pre_tokenizer),
                       .prefix_ids = {}};
  PELLUCID_TRY(const Keys keys, read_vocab(model, parts.vocabulary));
  PELLUCID_TRY(const std::vector<AddedToken> added, read_added_tokens(root, config));
  for (const AddedToken& token : added) {
    PELLUCID_TRY_VOID(add_added_token(token, keys, source, parts));
  }
  PELLUCID_TRY_VOID(fill_bpe(model, keys, parts));
  PELLUCID_TRY_VOID(read_prefix(root, config, parts));
  return parts;
}

}  // namespace pellucid::tokenizer
