#include "engine/generate.h"

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>

namespace pellucid::engine {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

bool cancelled(const GenerateRequest& request) {
  return request.cancel != nullptr && request.cancel->load(std::memory_order_relaxed);
}

bool is_stop_id(const GenerateRequest& request, std::int32_t token) {
  return std::find(request.stop_ids.begin(), request.stop_ids.end(), token) !=
         request.stop_ids.end();
}

/// Tokens that may be generated; the error comes before any work.
Expected<std::int64_t> token_budget(const Engine& engine, const Sequence& sequence,
                                    const GenerateRequest& request) {
  const auto prompt = static_cast<std::int64_t>(request.prompt.size());
  const std::int64_t room = engine.context_max() - sequence.length() - prompt;
  const std::int64_t wanted = request.max_tokens.value_or(std::max<std::int64_t>(room, 1));
  if (wanted >= 1 && wanted <= room) return wanted;
  if (wanted < 1) {
    return fail({.kind = ErrorKind::kInvalid,
                 .rule = "max_tokens",
                 .object = "max_tokens (--max-tokens)",
                 .found = std::to_string(wanted),
                 .expected = "1 or more",
                 .source = "request",
                 .fix = ""});
  }
  return fail({.kind = ErrorKind::kLimit,
               .rule = "context_length_exceeded",
               .object = "tokens of the request",
               .found = std::to_string(sequence.length()) + " before, " + std::to_string(prompt) +
                        " in the prompt, " + std::to_string(wanted) + " to generate",
               .expected = "at most " + std::to_string(engine.context_max()) + " together",
               .source = "engine.context",
               .fix = "shorten the prompt, lower --max-tokens or raise --context"});
}

/// Logits after the prompt; no value when cancelled on the way.
Expected<std::optional<std::span<const float>>> prefill_prompt(Engine& engine, Sequence& sequence,
                                                               const GenerateRequest& request) {
  const auto chunk = static_cast<std::size_t>(engine.chunk_tokens());
  std::optional<std::span<const float>> logits;
  std::size_t done = 0;
  do {  // once even without a prompt: prefill refuses that
    if (cancelled(request)) return std::nullopt;
    const std::size_t count = std::min(chunk, request.prompt.size() - done);
    PELLUCID_TRY(logits, engine.prefill(sequence, request.prompt.subspan(done, count)));
    done += count;
  } while (done < request.prompt.size());
  return logits;
}

}  // namespace

std::string_view finish_reason_name(FinishReason reason) {
  switch (reason) {
    case FinishReason::kStop:
      return "stop";
    case FinishReason::kLength:
      return "length";
    case FinishReason::kCancelled:
      return "cancelled";
  }
  return "";
}

Expected<GenerateResult> generate(Engine& engine, Sequence& sequence,
                                  const GenerateRequest& request,
                                  const std::function<OnToken(const sampler::Sample&)>& on_token) {
  PELLUCID_TRY(auto sampler, sampler::Sampler::create(request.sampling, engine.id_limit()));
  PELLUCID_TRY(const std::int64_t budget, token_budget(engine, sequence, request));
  GenerateResult out;
  out.finish_reason = FinishReason::kCancelled;
  out.timings.prompt_tokens = static_cast<std::int64_t>(request.prompt.size());
  out.tokens.reserve(static_cast<std::size_t>(budget));

  const Clock::time_point prefill_start = Clock::now();
  PELLUCID_TRY(auto logits, prefill_prompt(engine, sequence, request));
  out.timings.prefill_seconds = seconds_since(prefill_start);
  if (!logits) return out;

  sampler.add_prompt(sequence.tokens());
  const Clock::time_point decode_start = Clock::now();
  while (!cancelled(request)) {
    PELLUCID_TRY(const sampler::Sample sample, sampler.sample(*logits));
    out.tokens.push_back(sample.token);
    const OnToken verdict = on_token ? on_token(sample) : OnToken::kContinue;
    if (is_stop_id(request, sample.token)) {
      out.finish_reason = FinishReason::kStop;
      break;
    }
    if (verdict == OnToken::kStop) break;
    if (static_cast<std::int64_t>(out.tokens.size()) == budget) {
      out.finish_reason = FinishReason::kLength;
      break;
    }
    PELLUCID_TRY(logits, engine.decode(sequence, sample.token));
    ++out.timings.decode_steps;
  }
  out.timings.decode_seconds = seconds_since(decode_start);
  return out;
}

}  // namespace pellucid::engine
