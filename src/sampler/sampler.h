#pragma once
// From logits to a token. A sample is a pure function of the logits, the parameters and the tokens
// seen so far: same seed, same logits, same tokens, on every machine.
//
// Order (model.md section 8): repetition, presence and frequency penalties, logit bias,
// temperature, top_k, top_p, min_p, draw. Each filter works on the distribution that the filter
// before it left, renormalised. Candidates are ordered by logit descending, then id ascending;
// temperature 0 takes the first of them. Arithmetic is f64.
//
// Not thread-safe; one Sampler serves one sequence. sample() allocates nothing. Refuses: parameters
// out of range, and logits with NaN or +Inf or without any finite value, which are an Error
// kNumeric and never skipped or repaired.

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace pellucid::sampler {

struct LogitBias {
  std::int32_t token = 0;
  float bias = 0;  ///< [-100, 100]; -100 bans the token
};

inline constexpr std::int32_t kTopLogprobsMax = 20;

/// Each neutral by default except temperature 1, which samples from the model's distribution.
struct SamplingParams {
  double temperature = 1;         ///< [0, 100]; 0 or subnormal: greedy
  std::int64_t top_k = 0;         ///< >= 0; 0: off
  double top_p = 1;               ///< (0, 1]; 1: off
  double min_p = 0;               ///< [0, 1]; 0: off; relative to the largest probability
  double repetition_penalty = 1;  ///< [0.01, 100]; prompt and output tokens
  double presence_penalty = 0;    ///< [-2, 2]; output tokens, once each
  double frequency_penalty = 0;   ///< [-2, 2]; output tokens, per occurrence
  std::vector<LogitBias> logit_bias = {};
  std::uint64_t seed = 0;
  std::int32_t top_logprobs = 0;  ///< [0, kTopLogprobsMax]
};

/// Every bound above. The error's object is the field's name. Rule: "sampling_range".
[[nodiscard]] Expected<void> validate(const SamplingParams& params, std::int64_t real_vocab);

struct TokenLogprob {
  std::int32_t token = 0;
  float logprob = 0;  ///< natural log, from the unmodified logits over the real vocabulary
};

struct Sample {
  std::int32_t token = 0;
  float logprob = 0;                                ///< of `token`, as TokenLogprob::logprob
  std::span<const TokenLogprob> top_logprobs = {};  ///< best first; valid until the next sample()
};

class Sampler {
 public:
  /// Logits have `real_vocab` or more entries; ids from real_vocab up are padding rows of the
  /// output matrix and can never be chosen.
  [[nodiscard]] static Expected<Sampler> create(const SamplingParams& params,
                                                std::int64_t real_vocab);

  /// Counts tokens of the prompt, which the repetition penalty covers.
  /// Ids are in [0, real_vocab).
  void add_prompt(std::span<const std::int32_t> tokens);

  /// Draws the next token and counts it as output. Rules: "logits_finite", "no_candidate_token".
  [[nodiscard]] Expected<Sample> sample(std::span<const float> logits);

  /// Samples drawn so far.
  [[nodiscard]] std::uint64_t steps() const { return step_; }

 private:
  struct Candidate {
    double logit = 0;
    double probability = 0;  ///< relative to the best candidate
    std::int32_t token = 0;
  };

  Sampler(const SamplingParams& params, std::int64_t real_vocab);
  [[nodiscard]] Expected<void> check_finite(std::span<const float> logits) const;
  void collect_candidates(std::span<const float> logits);
  [[nodiscard]] double penalised(double logit, std::size_t token) const;
  [[nodiscard]] std::int32_t choose();
  [[nodiscard]] std::int32_t draw() const;
  void weigh_candidates(double best_logit);
  void keep_top_k();
  void keep_top_p();
  void keep_min_p();
  [[nodiscard]] static bool better(const Candidate& a, const Candidate& b);
  void fill_top_logprobs(std::span<const float> logits, double log_normaliser);

  SamplingParams params_;
  std::size_t real_vocab_;
  bool greedy_;
  std::uint64_t step_ = 0;
  std::vector<float> bias_;  ///< [real_vocab], empty when no bias is set
  std::vector<bool> banned_;
  std::vector<bool> seen_;  ///< in prompt or output
  std::vector<std::uint32_t> output_count_;
  std::vector<Candidate> candidates_;
  std::vector<TokenLogprob> top_logprobs_;
};

}  // namespace pellucid::sampler
