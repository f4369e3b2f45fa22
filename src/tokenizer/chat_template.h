#pragma once
// Chat templates: a bounded interpreter of the Jinja subset that the templates of these model
// families use (model.md 7.2-7.4). The template comes with the model and is not trusted: parsing
// and rendering have limits on steps, depth, output and memory; nothing reflective exists.
//
// A ChatTemplate is immutable and thread-safe. Environment as Hugging Face sets it up:
// trim_blocks, lstrip_blocks, loop controls, tojson(ensure_ascii, indent, separators, sort_keys),
// raise_exception, strftime_now, undefined names render as empty and fail on attribute access.

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/json.h"

namespace pellucid::tokenizer {

struct TemplateLimits {
  std::uint64_t source_bytes_max = 1 << 20;
  std::uint32_t depth_max = 128;        ///< nesting of the source and of calls
  std::uint64_t steps_max = 2'000'000;  ///< evaluated nodes
  std::uint64_t output_bytes_max = 16 << 20;
  /// Bytes of all strings and containers ever made, so this bounds the time spent copying as well:
  /// a conversation of 4 MB (a million tokens) with five copies of its text fits.
  std::uint64_t memory_bytes_max = 32 << 20;
};

class ChatTemplate {
 public:
  /// Rules: "template_syntax", "template_size", "template_depth".
  [[nodiscard]] static Expected<ChatTemplate> parse(std::string_view text, std::string_view source,
                                                    const TemplateLimits& limits = {});
  /// chat_template.jinja of the directory, else `chat_template` of tokenizer_config.json (string,
  /// or the list form: the entry named "default"). NotFound when there is none.
  [[nodiscard]] static Expected<ChatTemplate> load(const std::filesystem::path& directory,
                                                   const TemplateLimits& limits = {});
  ChatTemplate(ChatTemplate&&) noexcept;
  ChatTemplate& operator=(ChatTemplate&&) noexcept;
  ~ChatTemplate();

  /// Renders with `variables` (an object: messages, tools, add_generation_prompt, ...; bos_token
  /// and kin from tokenizer_config.json are added by load()). `unix_time` feeds strftime_now (UTC).
  /// Rules: "template_budget" (steps, output, memory), "template_depth", "template_rejected"
  /// (raise_exception), "template_error" (undefined attribute, type error, division by zero).
  [[nodiscard]] Expected<std::string> render(const json::Value& variables,
                                             std::int64_t unix_time = 0) const;

 private:
  struct State;
  explicit ChatTemplate(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace pellucid::tokenizer
