#include <charconv>

#include "tokenizer/tokenizer_parts.h"

namespace pellucid::tokenizer {
namespace {

/// A token that is written as a string or as an added-token object; empty when absent.
Expected<std::string> token_content(const JsonFields& config, std::string_view key) {
  if (config.is_null(key)) return std::string();
  if (config.find(key)->is_string()) return config.find(key)->string();
  PELLUCID_TRY(const JsonFields token, config.object(key));
  PELLUCID_TRY(const std::string_view content, token.string("content"));
  return std::string(content);
}

/// `auto_map` names code of the model: {"AutoTokenizer": ["module.Class", null]}. The class decides
/// how the files are read, so its name takes precedence over `tokenizer_class`.
Expected<std::string> class_name(const JsonFields& config) {
  if (!config.is_null("auto_map")) {
    PELLUCID_TRY(const JsonFields auto_map, config.object("auto_map"));
    PELLUCID_TRY(const json::Value* classes, auto_map.require("AutoTokenizer", json::Type::kArray));
    if (!classes->array().empty() && classes->array().front().is_string()) {
      return classes->array().front().string();
    }
  }
  if (config.is_null("tokenizer_class")) return std::string();
  PELLUCID_TRY(const std::string_view name, config.string("tokenizer_class"));
  return std::string(name);
}

Expected<std::vector<AddedToken>> added_tokens_decoder(const JsonFields& config) {
  std::vector<AddedToken> tokens;
  if (config.is_null("added_tokens_decoder")) return tokens;
  PELLUCID_TRY(const JsonFields decoder, config.object("added_tokens_decoder"));
  const json::Value& members = *config.find("added_tokens_decoder");
  for (const auto& [key, value] : members.object()) {
    std::int64_t id = 0;
    const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), id);
    if (error != std::errc() || end != key.data() + key.size()) {
      return fail({.kind = ErrorKind::kInvalid,
                   .rule = "tokenizer_ids",
                   .object = decoder.path_of(key),
                   .found = "a key that is not an id",
                   .expected = "a decimal integer",
                   .source = config.source(),
                   .fix = {}});
    }
    PELLUCID_TRY(const JsonFields entry,
                 JsonFields::of(value, decoder.path_of(key), config.source()));
    PELLUCID_TRY(AddedToken token, parse_added_token(entry, id));
    tokens.push_back(std::move(token));
  }
  return tokens;
}

}  // namespace

Expected<AddedToken> parse_added_token(const JsonFields& entry, std::int64_t id) {
  AddedToken token{.id = id, .content = {}, .special = false, .normalized = false};
  PELLUCID_TRY(const std::string_view content, entry.string("content"));
  token.content = content;
  PELLUCID_TRY(token.special, entry.boolean_or("special", false));
  PELLUCID_TRY(token.normalized, entry.boolean_or("normalized", !token.special));
  for (const std::string_view flag : {"single_word", "lstrip", "rstrip"}) {
    PELLUCID_TRY(const bool value, entry.boolean_or(flag, false));
    if (value) return entry.unsupported(flag, "false");
  }
  return token;
}

Expected<TokenizerConfig> parse_tokenizer_config(std::string_view text, std::string_view source) {
  PELLUCID_TRY(const json::Value root, json::parse(text, source, kTokenizerJsonLimits));
  PELLUCID_TRY(const JsonFields fields, JsonFields::of(root, "", source));
  TokenizerConfig config;
  PELLUCID_TRY(config.added_tokens, added_tokens_decoder(fields));
  PELLUCID_TRY(config.bos_token, token_content(fields, "bos_token"));
  PELLUCID_TRY(config.tokenizer_class, class_name(fields));
  if (!fields.is_null("add_bos_token")) {
    PELLUCID_TRY(config.add_bos_token, fields.boolean_or("add_bos_token", false));
  }
  if (!fields.is_null("add_eos_token")) {
    PELLUCID_TRY(const bool add_eos, fields.boolean_or("add_eos_token", false));
    if (add_eos) return fields.unsupported("add_eos_token", "false");
  }
  return config;
}

Expected<void> add_config_prefix(const TokenizerConfig& config, std::string_view source,
                                 TokenizerParts& parts) {
  if (!config.add_bos_token || !parts.prefix_ids.empty()) return {};
  const std::optional<TokenId> bos = parts.added.id_of(config.bos_token);
  if (!bos) {
    return fail({.kind = ErrorKind::kInvalid,
                 .rule = "tokenizer_added",
                 .object = "bos_token of tokenizer_config.json",
                 .found = "'" + config.bos_token + "', and add_bos_token true",
                 .expected = "an added token",
                 .source = std::string(source),
                 .fix = {}});
  }
  parts.prefix_ids.push_back(*bos);
  return {};
}

}  // namespace pellucid::tokenizer
