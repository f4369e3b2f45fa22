#include "cli/answer.h"

#include <fmt/format.h>

#include <ctime>
#include <utility>

#include "base/utf8.h"
#include "observe/progress.h"
#include "tokenizer/prompt.h"

namespace pellucid::cli {
namespace {

double per_second(std::int64_t count, double seconds) {
  return seconds > 0 ? static_cast<double>(count) / seconds : 0;
}

constexpr std::string_view kThink = "<think>";
constexpr std::string_view kThinkEnd = "</think>";

bool ends_in_reasoning(const TextSide& text, std::span<const std::int32_t> prompt) {
  if (!text.tokenizer || prompt.empty()) return false;
  return text.tokenizer->id_of(kThink) == prompt.back();
}

/// Streams the text of tokens; ids when there is no tokenizer.
class Printer {
 public:
  Printer(const TextSide& text, bool stream) : stream_(stream), escape_(stdout_is_terminal()) {
    if (text.tokenizer) detokenizer_.emplace(*text.tokenizer);
  }

  Expected<void> push(std::int32_t token) {
    if (!detokenizer_) {
      emit(fmt::format("{}{}", text_.empty() ? "" : ",", token));
      return {};
    }
    PELLUCID_TRY(const std::string piece, detokenizer_->push(token));
    emit(piece);
    return {};
  }

  /// Ends the line, unless nothing was shown and an error follows.
  std::string finish(bool failed) {
    if (detokenizer_) emit(detokenizer_->finish());
    if (shown_ || !failed) show("\n");
    return std::move(text_);
  }

  /// The prompt ended inside the reasoning: what comes first is not the answer.
  void begin_reasoning() { show(kThink); }

 private:
  void emit(std::string_view piece) {
    text_ += piece;
    show(escape_ ? terminal_safe(piece) : std::string(piece));
    if (piece.ends_with(kThinkEnd)) show("\n");
  }

  void show(std::string_view text) {
    if (!stream_ || text.empty()) return;
    shown_ = true;
    write_out(text);
  }

  bool stream_;
  bool escape_;
  bool shown_ = false;
  std::optional<tokenizer::Detokenizer> detokenizer_;
  std::string text_;
};

json::Value token_json(std::int32_t token, float logprob, const TextSide& text) {
  json::Object object = {{"token", static_cast<std::int64_t>(token)},
                         {"logprob", static_cast<double>(logprob)}};
  if (text.tokenizer) {
    const auto bytes = text.tokenizer->bytes_of(token);
    object.emplace_back("text", utf8::replace_invalid(bytes.value_or("")));
  }
  return object;
}

json::Array id_array(std::span<const std::int32_t> ids) {
  json::Array out;
  for (const std::int32_t id : ids) out.emplace_back(static_cast<std::int64_t>(id));
  return out;
}

json::Value timings_json(const engine::GenerateTimings& t) {
  return json::Object{{"prefill_tokens", t.prompt_tokens},
                      {"prefill_seconds", t.prefill_seconds},
                      {"prefill_tokens_per_second", per_second(t.prompt_tokens, t.prefill_seconds)},
                      {"decode_tokens", t.decode_steps},
                      {"decode_seconds", t.decode_seconds},
                      {"decode_tokens_per_second", per_second(t.decode_steps, t.decode_seconds)}};
}

}  // namespace

Expected<TextSide> load_text_side(const RunFlags& flags) {
  TextSide text;
  auto loaded = tokenizer::Tokenizer::load(flags.model);
  if (loaded) {
    text.tokenizer.emplace(*std::move(loaded));
  } else if (!flags.tokens || loaded.error().kind != ErrorKind::kNotFound) {
    return fail(std::move(loaded).error());
  }
  if (flags.raw || flags.tokens) return text;
  PELLUCID_TRY(text.chat_template, tokenizer::ChatTemplate::load(flags.model));
  return text;
}

Expected<engine::Engine> load_engine(const RunFlags& flags, const config::Settings& settings,
                                     const TextSide& text) {
  engine::EngineOptions options = engine_options(settings);
  if (text.tokenizer) options.id_limit = text.tokenizer->id_limit();
  observe::Progress scales("checking scales", observe::Progress::Unit::kBytes);
  observe::Progress layers("loading layers", observe::Progress::Unit::kCount);
  return engine::Engine::load(flags.model, options, [&](const engine::LoadProgress& p) {
    observe::Progress& line = p.stage == engine::LoadProgress::Stage::kScales ? scales : layers;
    line.update(static_cast<std::uint64_t>(p.done), static_cast<std::uint64_t>(p.total));
  });
}

json::Value template_variables(const config::ChatSettings& settings, json::Array messages) {
  json::Object variables = {{"messages", std::move(messages)},
                            {"add_generation_prompt", true},
                            {"enable_thinking", settings.thinking}};
  if (settings.reasoning_effort) {
    variables.emplace_back("reasoning_effort", *settings.reasoning_effort);
  }
  return variables;
}

Expected<std::vector<std::int32_t>> encode_conversation(const TextSide& text,
                                                        const json::Value& variables) {
  return tokenizer::encode_chat(*text.tokenizer, *text.chat_template, variables,
                                static_cast<std::int64_t>(std::time(nullptr)));
}

Expected<Answer> answer(engine::Engine& engine, engine::Sequence& sequence, const TextSide& text,
                        const AnswerRequest& request, InterruptGuard& interrupt) {
  Answer out;
  Printer printer(text, request.stream);
  std::optional<Error> print_error;
  const auto on_token = [&](const sampler::Sample& sample) {
    if (out.records.empty() && ends_in_reasoning(text, request.prompt)) printer.begin_reasoning();
    out.records.push_back(
        {sample.token, sample.logprob, {sample.top_logprobs.begin(), sample.top_logprobs.end()}});
    if (auto pushed = printer.push(sample.token); !pushed) {
      print_error = std::move(pushed).error();
      return engine::OnToken::kStop;
    }
    return engine::OnToken::kContinue;
  };
  const engine::GenerateRequest generate_request{.prompt = request.prompt,
                                                 .sampling = request.sampling,
                                                 .stop_ids = engine.config().eos_token_ids,
                                                 .max_tokens = request.max_tokens,
                                                 .cancel = &interrupt.flag()};
  auto result = engine::generate(engine, sequence, generate_request, on_token);
  out.text = printer.finish(print_error.has_value() || !result.has_value());
  if (print_error) return fail(*std::move(print_error));
  if (!result) return fail(std::move(result).error());
  out.finish_reason = result->finish_reason;
  out.timings = result->timings;
  return out;
}

void print_timings(const Answer& answer, const engine::Engine& engine) {
  const engine::GenerateTimings& t = answer.timings;
  write_err(fmt::format(
      "{}; prefill {} tokens, {:.0f} tokens/s; decode {} tokens, {:.0f} tokens/s; "
      "{} kernels, {} threads\n",
      engine::finish_reason_name(answer.finish_reason), t.prompt_tokens,
      per_second(t.prompt_tokens, t.prefill_seconds), t.decode_steps,
      per_second(t.decode_steps, t.decode_seconds), engine.ops_name(), engine.threads()));
}

json::Value answer_to_json(const Answer& answer, const TextSide& text,
                           std::span<const std::int32_t> prompt,
                           const sampler::SamplingParams& sampling) {
  json::Array tokens;
  json::Array logprobs;
  json::Array top_logprobs;
  for (const TokenRecord& record : answer.records) {
    tokens.emplace_back(static_cast<std::int64_t>(record.token));
    logprobs.emplace_back(static_cast<double>(record.logprob));
    json::Array top;
    for (const auto& t : record.top_logprobs) top.push_back(token_json(t.token, t.logprob, text));
    top_logprobs.emplace_back(std::move(top));
  }
  json::Object object = {{"prompt_tokens", id_array(prompt)},
                         {"tokens", std::move(tokens)},
                         {"text", text.tokenizer ? json::Value(answer.text) : json::Value()},
                         {"logprobs", std::move(logprobs)}};
  if (sampling.top_logprobs > 0) object.emplace_back("top_logprobs", std::move(top_logprobs));
  object.emplace_back("finish_reason", engine::finish_reason_name(answer.finish_reason));
  object.emplace_back("seed", sampling.seed);
  object.emplace_back("timings", timings_json(answer.timings));
  return object;
}

}  // namespace pellucid::cli
