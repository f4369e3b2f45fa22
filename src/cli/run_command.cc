#include <utility>

#include "base/utf8.h"

#include "cli/answer.h"
#include "cli/cli.h"
#include "cli/facts.h"
#include "config/explain.h"

namespace pellucid::cli {
namespace {

Expected<void> check_flags(const RunFlags& flags) {
  const auto conflict = [](std::string object, std::string expected) {
    return fail({.rule = "setting_conflict",
                 .object = std::move(object),
                 .expected = std::move(expected),
                 .source = "command line"});
  };
  if (flags.tokens && flags.prompt) return conflict("--tokens and a prompt", "one of them");
  const bool has_prompt = flags.prompt || flags.tokens;
  if (flags.json && !has_prompt) return conflict("--json", "a prompt, -, or --tokens");
  if (flags.raw && !has_prompt) return conflict("--raw", "a prompt, - or --tokens");
  return {};
}

/// Settings that this call has no use for, if the user gave them.
Expected<void> check_settings(const RunFlags& flags, const config::Resolution& resolution) {
  const auto refuse = [&](std::string_view key, std::string object, std::string expected) {
    return fail({.rule = "setting_conflict",
                 .object = std::move(object),
                 .expected = std::move(expected),
                 .source = resolution.effective(key).origin});
  };
  for (const std::string_view key : {"chat.system", "chat.thinking", "chat.reasoning_effort"}) {
    if ((flags.raw || flags.tokens) && !resolution.effective(key).typed.empty()) {
      return refuse(key, std::string(key) + " with --raw or --tokens",
                    "a templated prompt: this setting speaks to the template");
    }
  }
  if (resolution.views().sampling.top_logprobs != 0 && !flags.json) {
    return refuse("sampling.top_logprobs", "--top-logprobs",
                  "--json as well: only its object shows them");
  }
  return {};
}

/// Reads the headers of the checkpoint once for the facts; the engine reads them again when it
/// loads, since it must not trust what another reader saw.
Expected<config::Resolution> resolve_settings(const RunFlags& flags) {
  PELLUCID_TRY(const auto declarations, read_declarations(flags.settings));
  PELLUCID_TRY(config::DeviceFacts device, read_device_facts("host", /*measure=*/false));
  PELLUCID_TRY(CheckpointReading checkpoint, read_checkpoint_facts(flags.model));
  if (checkpoint.refusal) return fail(*std::move(checkpoint.refusal));
  PELLUCID_TRY(config::Resolution resolution,
               config::resolve(declarations, {.checkpoint = std::move(checkpoint.facts),
                                              .device = std::move(device)}));
  if (!resolution.refusals().empty()) return fail(resolution.refusals().front().to_error());
  PELLUCID_TRY_VOID(check_settings(flags, resolution));
  return resolution;
}

json::Array first_messages(const config::ChatSettings& settings, const std::string& prompt) {
  json::Array messages;
  if (settings.system) {
    messages.push_back(json::Object{{"role", "system"}, {"content", *settings.system}});
  }
  messages.push_back(json::Object{{"role", "user"}, {"content", prompt}});
  return messages;
}

/// What the tokenizer puts before a text that no template rendered (BOS), then the text.
Expected<std::vector<std::int32_t>> raw_ids(const tokenizer::Tokenizer& tokenizer,
                                            std::string_view text) {
  PELLUCID_TRY(const auto encoded, tokenizer.encode(text, tokenizer::Special::kAsTokens));
  std::vector<std::int32_t> ids(tokenizer.prefix_ids().begin(), tokenizer.prefix_ids().end());
  ids.insert(ids.end(), encoded.begin(), encoded.end());
  return ids;
}

Expected<std::vector<std::int32_t>> prompt_ids(const RunFlags& flags,
                                               const config::ChatSettings& settings,
                                               const TextSide& text) {
  if (flags.tokens) return parse_ids(*flags.tokens, "--tokens");
  std::string prompt = *flags.prompt;
  if (prompt == "-") {
    PELLUCID_TRY(prompt, read_standard_input());
  }
  PELLUCID_TRY_VOID(check_utf8(prompt, *flags.prompt == "-" ? "-" : "prompt"));
  if (flags.raw) return raw_ids(*text.tokenizer, prompt);
  return encode_conversation(text, template_variables(settings, first_messages(settings, prompt)));
}

Expected<int> run_once(const RunFlags& flags, const config::Settings& settings,
                       const TextSide& text, engine::Engine& engine,
                       const sampler::SamplingParams& sampling) {
  PELLUCID_TRY(const std::vector<std::int32_t> prompt, prompt_ids(flags, settings.chat, text));
  PELLUCID_TRY(engine::Sequence sequence, engine.new_sequence());
  InterruptGuard interrupt;
  const AnswerRequest request{.prompt = prompt,
                              .sampling = sampling,
                              .max_tokens = settings.sampling.max_tokens,
                              .stream = !flags.json};
  PELLUCID_TRY(const Answer result, answer(engine, sequence, text, request, interrupt));
  if (flags.json) {
    write_out(json::dump(answer_to_json(result, text, prompt, sampling)) + "\n");
  } else if (!flags.quiet) {
    print_timings(result, engine);
  }
  return result.finish_reason == engine::FinishReason::kCancelled ? kInterrupted : kOk;
}

}  // namespace

Expected<int> run_command(const RunFlags& flags) {
  PELLUCID_TRY_VOID(check_flags(flags));
  PELLUCID_TRY(const TextSide text, load_text_side(flags));
  PELLUCID_TRY(const config::Resolution resolution, resolve_settings(flags));
  const config::Settings& settings = resolution.views();
  if (!flags.quiet) {
    write_err(terminal_safe(config::summary_line(resolution)) + "\n");
  }
  PELLUCID_TRY(engine::Engine engine, load_engine(flags, settings, text));
  const sampler::SamplingParams sampling = sampling_params(settings.sampling);
  PELLUCID_TRY_VOID(sampler::validate(sampling, engine.id_limit()));
  if (!flags.prompt && !flags.tokens) return chat(settings, text, engine, sampling, !flags.quiet);
  return run_once(flags, settings, text, engine, sampling);
}

}  // namespace pellucid::cli
