#include <cmath>
#include <limits>
#include <string>

#include "numerics/numbers.h"
#include "sampler/sampler.h"

namespace pellucid::sampler {
namespace {

Error out_of_range(std::string field, std::string found, std::string expected) {
  return {.kind = ErrorKind::kInvalid,
          .rule = "sampling_range",
          .object = field,
          .found = std::move(found),
          .expected = std::move(expected),
          .source = "sampling parameters",
          .fix = ""};
}

struct Range {
  const char* field;
  double value;
  double low;
  double high;
  const char* expected;
};

Expected<void> validate_bias(const std::vector<LogitBias>& biases, std::int64_t real_vocab) {
  for (const LogitBias& entry : biases) {
    if (entry.token < 0 || entry.token >= real_vocab) {
      return fail(out_of_range("logit_bias", "token id " + std::to_string(entry.token),
                               "token ids from 0 to " + std::to_string(real_vocab - 1)));
    }
    // Written so that NaN fails.
    if (!(entry.bias >= -100 && entry.bias <= 100)) {
      return fail(out_of_range("logit_bias", std::to_string(entry.bias), "from -100 to 100"));
    }
  }
  return {};
}

}  // namespace

Expected<void> validate(const SamplingParams& params, std::int64_t real_vocab) {
  // The smallest double above 0 stands for the open end of top_p.
  constexpr double kAboveZero = std::numeric_limits<double>::denorm_min();
  const Range ranges[] = {
      {"temperature", params.temperature, 0, 100, "from 0 to 100"},
      {"top_p", params.top_p, kAboveZero, 1, "above 0, at most 1"},
      {"min_p", params.min_p, 0, 1, "from 0 to 1"},
      {"repetition_penalty", params.repetition_penalty, 0.01, 100, "from 0.01 to 100"},
      {"presence_penalty", params.presence_penalty, -2, 2, "from -2 to 2"},
      {"frequency_penalty", params.frequency_penalty, -2, 2, "from -2 to 2"},
  };
  for (const Range& range : ranges) {
    if (!(range.value >= range.low && range.value <= range.high)) {  // NaN fails
      return fail(out_of_range(range.field, std::to_string(range.value), range.expected));
    }
  }
  if (params.top_k < 0) {
    return fail(out_of_range("top_k", std::to_string(params.top_k), "0 (off) or more"));
  }
  if (params.top_logprobs < 0 || params.top_logprobs > kTopLogprobsMax) {
    return fail(out_of_range("top_logprobs", std::to_string(params.top_logprobs),
                             "from 0 to " + std::to_string(kTopLogprobsMax)));
  }
  return validate_bias(params.logit_bias, real_vocab);
}

}  // namespace pellucid::sampler
