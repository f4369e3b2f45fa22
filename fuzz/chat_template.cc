// A chat template of a stranger, rendered over a conversation within its budgets.

#include "tokenizer/chat_template.h"

#include "base/utf8.h"
#include "fuzz.h"

namespace {

constexpr std::string_view kConversation = R"({
  "messages": [
    {"role": "system", "content": "be brief"},
    {"role": "user", "content": [{"type": "text", "text": "hi é"}]},
    {"role": "assistant", "content": "", "reasoning_content": " why ",
     "tool_calls": [{"function": {"name": "f", "arguments": {"a": 1, "b": [true, null, 1.5]}}}]},
    {"role": "tool", "content": "42"}],
  "tools": [{"type": "function", "function": {"name": "f", "parameters": {"x": "<y>"}}}],
  "add_generation_prompt": true, "bos_token": "<s>"})";

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const auto variables = *pellucid::json::parse(kConversation, "conversation");
  const pellucid::tokenizer::TemplateLimits limits{
      .steps_max = 20'000, .output_bytes_max = 1 << 18, .memory_bytes_max = 4 << 20};
  const auto chat_template =
      pellucid::tokenizer::ChatTemplate::parse(as_text(data, size), "fuzz.jinja", limits);
  if (!chat_template) {
    PELLUCID_CHECK(!chat_template.error().rule.empty());
    return 0;
  }
  const auto text = chat_template->render(variables, 1'700'000'000);
  if (!text) {
    PELLUCID_CHECK(!text.error().rule.empty());
    return 0;
  }
  PELLUCID_CHECK(text->size() <= limits.output_bytes_max);
  PELLUCID_CHECK(pellucid::utf8::is_valid(*text));
  PELLUCID_CHECK(*chat_template->render(variables, 1'700'000'000) == *text);
  return 0;
}
