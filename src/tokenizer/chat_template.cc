#include "tokenizer/chat_template.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "base/file.h"
#include "base/utf8.h"
#include "tokenizer/jinja/import.h"
#include "tokenizer/jinja/interpreter.h"
#include "tokenizer/jinja/parser.h"

namespace pellucid::tokenizer {
namespace {

constexpr std::string_view kTemplateFile = "chat_template.jinja";
constexpr std::string_view kConfigFile = "tokenizer_config.json";
constexpr std::uint64_t kConfigBytesMax = 64ULL << 20;
constexpr std::array<std::string_view, 4> kTokenKeys = {"bos_token", "eos_token", "pad_token",
                                                        "unk_token"};

Error at_source(Error error, std::string_view source) {
  error.source =
      error.source.empty() ? std::string(source) : std::string(source) + " " + error.source;
  return error;
}

std::unexpected<Error> config_error(std::string_view key, std::string_view found,
                                    std::string_view expected) {
  return fail({.kind = ErrorKind::kInvalid,
               .rule = "tokenizer_config",
               .object = std::string(key),
               .found = std::string(found),
               .expected = std::string(expected),
               .source = std::string(kConfigFile)});
}

/// A token of tokenizer_config.json: text, or an object whose `content` is the text.
Expected<json::Value> special_token(std::string_view key, const json::Value& value) {
  if (value.is_string() || value.is_null()) return value;
  const json::Value* content = value.is_object() ? value.find("content") : nullptr;
  if (content != nullptr && content->is_string()) return *content;
  return config_error(key, json::type_name(value.type()), "a string or an object with content");
}

Expected<json::Object> special_tokens(const json::Value& config) {
  json::Object tokens;
  for (const std::string_view key : kTokenKeys) {
    const json::Value* value = config.find(key);
    if (value == nullptr) continue;
    PELLUCID_TRY(auto token, special_token(key, *value));
    if (!token.is_null()) tokens.emplace_back(std::string(key), std::move(token));
  }
  return tokens;
}

/// The text of `chat_template`: a string, or the entry "default" of a list of {name, template}.
Expected<std::string> template_of(const json::Value& value) {
  if (value.is_string()) return value.string();
  if (!value.is_array()) {
    return config_error("chat_template", json::type_name(value.type()), "a string or a list");
  }
  for (const json::Value& entry : value.array()) {
    const json::Value* name = entry.is_object() ? entry.find("name") : nullptr;
    const json::Value* text = entry.is_object() ? entry.find("template") : nullptr;
    if (name == nullptr || text == nullptr || !name->is_string() || !text->is_string()) {
      return config_error("chat_template", "a list entry", "an object with name and template");
    }
    if (name->string() == "default") return text->string();
  }
  return config_error("chat_template", "a list without the entry 'default'", "that entry");
}

Expected<json::Value> read_config(const Directory& directory) {
  if (!directory.contains(kConfigFile)) return json::Value(json::Object{});
  PELLUCID_TRY(const std::string text, directory.read(kConfigFile, kConfigBytesMax));
  PELLUCID_TRY(auto config, json::parse(text, kConfigFile));
  if (!config.is_object()) return config_error("file", json::type_name(config.type()), "an object");
  return config;
}

std::unexpected<Error> no_template(const std::filesystem::path& directory) {
  return fail({.kind = ErrorKind::kNotFound,
               .rule = "template_missing",
               .object = "chat template",
               .found = "neither " + std::string(kTemplateFile) + " nor chat_template in " +
                        std::string(kConfigFile),
               .expected = "one of them",
               .source = directory.string()});
}

std::unexpected<Error> too_large(std::uint64_t size, std::uint64_t size_max,
                                 std::string_view source) {
  return fail({.kind = ErrorKind::kLimit,
               .rule = "template_size",
               .object = "chat template",
               .found = std::to_string(size) + " bytes",
               .expected = "at most " + std::to_string(size_max),
               .source = std::string(source)});
}

}  // namespace

struct ChatTemplate::State {
  jinja::Program program;
  TemplateLimits limits;
  std::string source;
  json::Object tokens;  ///< bos_token and kin
};

ChatTemplate::ChatTemplate(std::unique_ptr<State> state) : state_(std::move(state)) {}
ChatTemplate::ChatTemplate(ChatTemplate&&) noexcept = default;
ChatTemplate& ChatTemplate::operator=(ChatTemplate&&) noexcept = default;
ChatTemplate::~ChatTemplate() = default;

Expected<ChatTemplate> ChatTemplate::parse(std::string_view text, std::string_view source,
                                           const TemplateLimits& limits) {
  if (text.size() > limits.source_bytes_max) {
    return too_large(text.size(), limits.source_bytes_max, source);
  }
  if (!utf8::is_valid(text)) {
    return fail({.kind = ErrorKind::kInvalid,
                 .rule = "template_syntax",
                 .object = "chat template",
                 .found = "invalid UTF-8",
                 .expected = "UTF-8 text",
                 .source = std::string(source)});
  }
  const std::string normalized = jinja::normalize_newlines(text);
  auto program = jinja::Parser(normalized, limits.depth_max).parse();
  if (!program) return fail(at_source(std::move(program).error(), source));
  auto state = std::make_unique<State>();
  state->program = *std::move(program);
  state->limits = limits;
  state->source = std::string(source);
  return ChatTemplate(std::move(state));
}

Expected<ChatTemplate> ChatTemplate::load(const std::filesystem::path& directory,
                                          const TemplateLimits& limits) {
  PELLUCID_TRY(const auto files, Directory::open(directory));
  PELLUCID_TRY(const json::Value config, read_config(files));
  std::string text;
  std::string_view source = kTemplateFile;
  if (files.contains(kTemplateFile)) {
    PELLUCID_TRY(text, files.read(kTemplateFile, limits.source_bytes_max));
  } else {
    source = kConfigFile;
    const json::Value* value = config.find("chat_template");
    if (value == nullptr || value->is_null()) return no_template(directory);
    PELLUCID_TRY(text, template_of(*value));
  }
  PELLUCID_TRY(auto parsed, parse(text, source, limits));
  PELLUCID_TRY(parsed.state_->tokens, special_tokens(config));
  return parsed;
}

Expected<std::string> ChatTemplate::render(const json::Value& variables,
                                           std::int64_t unix_time) const {
  jinja::Runtime runtime(state_->limits, unix_time);
  const auto render_now = [&]() -> jinja::Result<std::string> {
    PELLUCID_TRY(auto globals, jinja::globals(runtime, state_->program, variables, state_->tokens));
    PELLUCID_TRY(auto literals, jinja::literals(runtime, state_->program));
    return jinja::Interpreter(state_->program, runtime, std::move(globals), std::move(literals))
        .run();
  };
  auto text = render_now();
  if (!text) return fail(at_source(std::move(text).error(), state_->source));
  return *std::move(text);
}

}  // namespace pellucid::tokenizer
