#include "tokenizer/prompt.h"

#include <string>

#include "base/utf8.h"

namespace pellucid::tokenizer {
namespace {

/// Noncharacters, which no text should hold, U+FDD0 to U+FDEF.
constexpr char32_t kGuardFirst = 0xFDD0;
constexpr char32_t kGuardLast = 0xFDEF;

/// The first noncharacter that does not occur in `text`; empty when all do.
std::string choose_guard(std::string_view text) {
  for (char32_t c = kGuardFirst; c <= kGuardLast; ++c) {
    std::string guard;
    utf8::append(guard, c);
    if (text.find(guard) == std::string_view::npos) return guard;
  }
  return {};
}

// Recursion depth is that of a JSON value, which json::parse bounds.
json::Value guarded(const json::Value& value, const Tokenizer& tokenizer, std::string_view guard) {
  if (value.is_string()) return tokenizer.guard_text(value.string(), guard);
  if (value.is_array()) {
    json::Array out;
    for (const json::Value& item : value.array()) out.push_back(guarded(item, tokenizer, guard));
    return out;
  }
  if (value.is_object()) {
    json::Object out;
    for (const auto& [key, item] : value.object()) {
      out.emplace_back(tokenizer.guard_text(key, guard), guarded(item, tokenizer, guard));
    }
    return out;
  }
  return value;
}

bool is_assistant(const json::Value& message) {
  const json::Value* role = message.is_object() ? message.find("role") : nullptr;
  return role != nullptr && role->is_string() && role->string() == "assistant";
}

json::Value guard_messages(const json::Value& messages, const Tokenizer& tokenizer,
                           std::string_view guard) {
  if (!messages.is_array()) return messages;
  json::Array out;
  for (const json::Value& message : messages.array()) {
    out.push_back(is_assistant(message) ? message : guarded(message, tokenizer, guard));
  }
  return out;
}

json::Value guard_variables(const json::Value& variables, const Tokenizer& tokenizer,
                            std::string_view guard) {
  json::Object out;
  for (const auto& [key, value] : variables.object()) {
    if (key == "messages") {
      out.emplace_back(key, guard_messages(value, tokenizer, guard));
    } else if (key == "tools" || key == "documents") {
      out.emplace_back(key, guarded(value, tokenizer, guard));
    } else {
      out.emplace_back(key, value);
    }
  }
  return out;
}

std::string erase_all(std::string text, std::string_view part) {
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at)) {
    text.erase(at, part.size());
  }
  return text;
}

std::unexpected<Error> guard_error(std::string found) {
  return fail({.kind = ErrorKind::kUnsupported,
               .rule = "template_guard",
               .object = "text of the conversation",
               .found = std::move(found),
               .expected = "text that the template copies as it is",
               .source = "chat template",
               .fix = "remove special-token text from the messages"});
}

}  // namespace

Expected<std::vector<TokenId>> encode_chat(const Tokenizer& tokenizer,
                                           const ChatTemplate& chat_template,
                                           const json::Value& variables, std::int64_t unix_time) {
  PELLUCID_TRY(const std::string plain, chat_template.render(variables, unix_time));
  const std::string guard = choose_guard(plain + json::dump(variables));
  if (guard.empty()) return guard_error("every noncharacter from U+FDD0 to U+FDEF");
  const json::Value guarded_variables = guard_variables(variables, tokenizer, guard);
  PELLUCID_TRY(const std::string rendered, chat_template.render(guarded_variables, unix_time));
  if (erase_all(rendered, guard) != plain) {
    return guard_error("special-token text that changes what the template does");
  }
  return tokenizer.encode_guarded(rendered, guard);
}

}  // namespace pellucid::tokenizer
