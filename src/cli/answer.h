#pragma once
// A loaded model ready to answer: tokenizer, template and engine together, and one answer streamed.

#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/json.h"
#include "cli/cli.h"
#include "cli/terminal.h"
#include "engine/engine.h"
#include "engine/generate.h"
#include "sampler/sampler.h"
#include "tokenizer/chat_template.h"
#include "tokenizer/tokenizer.h"

namespace pellucid::cli {

/// Everything of the model directory that turns text into ids and back; absent parts stay empty.
struct TextSide {
  std::optional<tokenizer::Tokenizer> tokenizer;
  std::optional<tokenizer::ChatTemplate> chat_template;
};

/// Loads what the flags need: nothing for --tokens without a tokenizer, no template for --raw.
[[nodiscard]] Expected<TextSide> load_text_side(const RunFlags& flags);

/// Loads the weights, with progress, after checking the tokenizer against the vocabulary.
[[nodiscard]] Expected<engine::Engine> load_engine(const RunFlags& flags,
                                                   const config::Settings& settings,
                                                   const TextSide& text);

/// Variables for the chat template.
[[nodiscard]] json::Value template_variables(const config::ChatSettings& settings,
                                             json::Array messages);

/// Ids of a conversation; text of people cannot become special tokens.
[[nodiscard]] Expected<std::vector<std::int32_t>> encode_conversation(const TextSide& text,
                                                                      const json::Value& variables);

struct TokenRecord {
  std::int32_t token = 0;
  float logprob = 0;
  std::vector<sampler::TokenLogprob> top_logprobs;
};

struct Answer {
  std::vector<TokenRecord> records;
  std::string text;  ///< special tokens left out
  engine::FinishReason finish_reason = engine::FinishReason::kStop;
  engine::GenerateTimings timings;
};

struct AnswerRequest {
  std::span<const std::int32_t> prompt;
  const sampler::SamplingParams& sampling;
  std::optional<std::int64_t> max_tokens;
  bool stream = true;  ///< write the text to stdout as it comes
};

/// Generates one answer on `sequence`. Streams text, or ids when there is no tokenizer, and ends
/// the line. Streamed reasoning begins with the "<think>" that the prompt ended with and ends its
/// line.
[[nodiscard]] Expected<Answer> answer(engine::Engine& engine, engine::Sequence& sequence,
                                      const TextSide& text, const AnswerRequest& request,
                                      InterruptGuard& interrupt);

/// "stop; prefill 13 tokens, 1234 tokens/s; decode ...", to stderr.
void print_timings(const Answer& answer, const engine::Engine& engine);

/// The object of --json.
[[nodiscard]] json::Value answer_to_json(const Answer& answer, const TextSide& text,
                                         std::span<const std::int32_t> prompt,
                                         const sampler::SamplingParams& sampling);

/// A chat on the terminal until end of input or /exit.
[[nodiscard]] Expected<int> chat(const config::Settings& settings, const TextSide& text,
                                 engine::Engine& engine, const sampler::SamplingParams& sampling,
                                 bool show_timings);

}  // namespace pellucid::cli
