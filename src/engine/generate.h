#pragma once
// One answer: prefill, then sample and decode until a stop token, the token limit, or the caller
// says stop.

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "engine/engine.h"
#include "sampler/sampler.h"

namespace pellucid::engine {

enum class FinishReason { kStop, kLength, kCancelled };
/// "stop", "length", "cancelled".
[[nodiscard]] std::string_view finish_reason_name(FinishReason reason);

enum class OnToken { kContinue, kStop };

struct GenerateRequest {
  std::span<const std::int32_t> prompt;  ///< at least one id; appended to the sequence
  sampler::SamplingParams sampling;
  std::span<const std::int32_t> stop_ids;
  /// Default: what is left of the context. prompt + max_tokens over the context is an error.
  std::optional<std::int64_t> max_tokens;
  const std::atomic<bool>* cancel = nullptr;  ///< checked before every chunk and every step
};

struct GenerateTimings {
  std::int64_t prompt_tokens = 0;
  double prefill_seconds = 0;
  std::int64_t decode_steps = 0;  ///< forward passes after the prompt
  double decode_seconds = 0;      ///< of those passes, their sampling and on_token
};

struct GenerateResult {
  std::vector<std::int32_t> tokens;  ///< with the stop id, if one ended it
  FinishReason finish_reason = FinishReason::kStop;
  GenerateTimings timings;
};

/// `on_token` is called for every token, the stop id included. kStop from it, or `cancel`, ends the
/// answer as kCancelled. The sequence holds the
/// prompt and the answer without its last token; after an error or a cancelled prefill, what had
/// been processed until then.
[[nodiscard]] Expected<GenerateResult> generate(
    Engine& engine, Sequence& sequence, const GenerateRequest& request,
    const std::function<OnToken(const sampler::Sample&)>& on_token = {});

}  // namespace pellucid::engine
