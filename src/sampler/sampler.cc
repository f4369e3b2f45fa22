#include "sampler/sampler.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "base/check.h"
#include "numerics/numbers.h"
#include "sampler/exponential.h"
#include "sampler/philox.h"

namespace pellucid::sampler {
namespace {

constexpr float kBan = -100;

/// log(sum exp(logit)) over `logits`, all of which are finite or -inf, one at least finite.
double log_sum_exp(std::span<const float> logits) {
  const double largest = *std::max_element(logits.begin(), logits.end());
  double sum = 0;
  for (const float logit : logits) sum += exponential(logit - largest);
  return largest + std::log(sum);
}

Error not_finite(std::uint64_t step, std::string found) {
  return {.kind = ErrorKind::kNumeric,
          .rule = "logits_finite",
          .object = "logits of step " + std::to_string(step),
          .found = std::move(found),
          .expected = "finite values, or -inf where masked",
          .source = "model output",
          .fix = ""};
}

}  // namespace

Sampler::Sampler(const SamplingParams& params, std::int64_t real_vocab)
    : params_(params),
      real_vocab_(static_cast<std::size_t>(real_vocab)),
      greedy_(params.temperature < std::numeric_limits<float>::min()),
      bias_(real_vocab_),
      banned_(real_vocab_),
      seen_(real_vocab_),
      output_count_(real_vocab_) {
  for (const LogitBias& entry : params.logit_bias) {
    const auto token = static_cast<std::size_t>(entry.token);
    bias_[token] = entry.bias;
    banned_[token] = entry.bias == kBan;
  }
  candidates_.reserve(real_vocab_);
  top_logprobs_.reserve(static_cast<std::size_t>(params.top_logprobs) + 1);
}

Expected<Sampler> Sampler::create(const SamplingParams& params, std::int64_t real_vocab) {
  PELLUCID_CHECK(real_vocab > 0);
  PELLUCID_TRY_VOID(validate(params, real_vocab));
  return Sampler(params, real_vocab);
}

void Sampler::add_prompt(std::span<const std::int32_t> tokens) {
  for (const std::int32_t token : tokens) {
    PELLUCID_CHECK(token >= 0 && static_cast<std::size_t>(token) < real_vocab_);
    seen_[static_cast<std::size_t>(token)] = true;
  }
}

Expected<Sample> Sampler::sample(std::span<const float> logits) {
  PELLUCID_CHECK(logits.size() >= real_vocab_);
  logits = logits.first(real_vocab_);
  PELLUCID_TRY_VOID(check_finite(logits));
  collect_candidates(logits);
  if (candidates_.empty()) {
    return fail({.kind = ErrorKind::kInvalid,
                 .rule = "no_candidate_token",
                 .object = "candidates of step " + std::to_string(step_),
                 .found = "every token banned",
                 .expected = "one token at least",
                 .source = "logit_bias",
                 .fix = "ban fewer tokens"});
  }
  const std::int32_t token = choose();
  const double log_normaliser = log_sum_exp(logits);
  fill_top_logprobs(logits, log_normaliser);
  const auto index = static_cast<std::size_t>(token);
  seen_[index] = true;
  ++output_count_[index];
  ++step_;
  return Sample{.token = token,
                .logprob = static_cast<float>(logits[index] - log_normaliser),
                .top_logprobs = top_logprobs_};
}

Expected<void> Sampler::check_finite(std::span<const float> logits) const {
  bool any_finite = false;
  for (std::size_t id = 0; id < logits.size(); ++id) {
    const float logit = logits[id];
    if (numerics::is_finite(logit)) {
      any_finite = true;
      continue;
    }
    if (numerics::is_nan(logit)) {
      return fail(not_finite(step_, "NaN at token id " + std::to_string(id)));
    }
    if (logit > 0) return fail(not_finite(step_, "+Inf at token id " + std::to_string(id)));
  }
  if (!any_finite) return fail(not_finite(step_, "-Inf at every token id"));
  return {};
}

void Sampler::collect_candidates(std::span<const float> logits) {
  candidates_.clear();
  for (std::size_t id = 0; id < logits.size(); ++id) {
    if (banned_[id] || !numerics::is_finite(logits[id])) continue;
    candidates_.push_back({.logit = penalised(logits[id], id) + static_cast<double>(bias_[id]),
                           .probability = 0,
                           .token = static_cast<std::int32_t>(id)});
  }
}

double Sampler::penalised(double logit, std::size_t token) const {
  if (!seen_[token]) return logit;
  // Keskar et al. 2019 (CTRL), section 4.1; the sign rule keeps a penalty > 1 a penalty.
  logit = logit > 0 ? logit / params_.repetition_penalty : logit * params_.repetition_penalty;
  const std::uint32_t count = output_count_[token];
  if (count == 0) return logit;
  return logit - params_.frequency_penalty * count - params_.presence_penalty;
}

bool Sampler::better(const Candidate& a, const Candidate& b) {
  if (a.logit != b.logit) return a.logit > b.logit;
  return a.token < b.token;
}

std::int32_t Sampler::choose() {
  const Candidate best = *std::min_element(candidates_.begin(), candidates_.end(), better);
  if (greedy_) return best.token;
  keep_top_k();
  weigh_candidates(best.logit);
  keep_top_p();
  keep_min_p();
  return draw();
}

void Sampler::weigh_candidates(double best_logit) {
  for (Candidate& candidate : candidates_) {
    candidate.probability = exponential((candidate.logit - best_logit) / params_.temperature);
  }
}

void Sampler::keep_top_k() {
  const auto k = static_cast<std::size_t>(params_.top_k);
  if (k == 0 || k >= candidates_.size()) return;
  std::partial_sort(candidates_.begin(), candidates_.begin() + params_.top_k, candidates_.end(),
                    better);
  candidates_.resize(k);
}

// The shortest prefix, best first, whose probability reaches top_p. A heap gives that prefix
// without sorting the vocabulary: 150,000 candidates and a few kept is the common case.
void Sampler::keep_top_p() {
  if (params_.top_p >= 1) return;
  double total = 0;
  for (const Candidate& candidate : candidates_) total += candidate.probability;
  const auto worse = [](const Candidate& a, const Candidate& b) { return better(b, a); };
  std::make_heap(candidates_.begin(), candidates_.end(), worse);
  double kept = 0;
  auto heap_end = candidates_.end();
  while (heap_end != candidates_.begin() && kept < params_.top_p * total) {
    std::pop_heap(candidates_.begin(), heap_end, worse);
    --heap_end;
    kept += heap_end->probability;
  }
  // Popped candidates stand at the back, worst first.
  std::reverse(candidates_.begin(), candidates_.end());
  candidates_.resize(static_cast<std::size_t>(candidates_.end() - heap_end));
}

void Sampler::keep_min_p() {
  // The best candidate has probability 1 in these relative units and is always kept.
  std::erase_if(candidates_, [this](const Candidate& c) { return c.probability < params_.min_p; });
}

std::int32_t Sampler::draw() const {
  double total = 0;
  for (const Candidate& candidate : candidates_) total += candidate.probability;
  const double target = uniform_draw(params_.seed, step_) * total;  // < total, as the draw is < 1
  double cumulative = 0;
  for (const Candidate& candidate : candidates_) {
    cumulative += candidate.probability;
    if (cumulative > target) return candidate.token;
  }
  PELLUCID_CHECK(!"the same sum in the same order exceeds every part of itself");
}

void Sampler::fill_top_logprobs(std::span<const float> logits, double log_normaliser) {
  top_logprobs_.clear();
  const auto wanted = static_cast<std::size_t>(params_.top_logprobs);
  // By logits: two of them may share one rounded logprob.
  const auto better_logit = [logits](const TokenLogprob& a, const TokenLogprob& b) {
    const float x = logits[static_cast<std::size_t>(a.token)];
    const float y = logits[static_cast<std::size_t>(b.token)];
    return x != y ? x > y : a.token < b.token;
  };
  for (std::size_t id = 0; wanted > 0 && id < logits.size(); ++id) {
    const TokenLogprob entry{.token = static_cast<std::int32_t>(id),
                             .logprob = static_cast<float>(logits[id] - log_normaliser)};
    if (top_logprobs_.size() == wanted && !better_logit(entry, top_logprobs_.back())) continue;
    const auto place =
        std::upper_bound(top_logprobs_.begin(), top_logprobs_.end(), entry, better_logit);
    top_logprobs_.insert(place, entry);
    if (top_logprobs_.size() > wanted) top_logprobs_.pop_back();
  }
}

}  // namespace pellucid::sampler
