#include "tokenizer/pretokenizer.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>

#include "base/check.h"
#include "tokenizer/pattern.h"
#include "tokenizer/unicode_proxy.h"

namespace pellucid::tokenizer {
namespace {

constexpr std::size_t kStepsMax = 16;
// Accepted patterns need a few steps per byte of a piece; far beyond that is a bug of the checker.
constexpr std::uint64_t kMatchStepsBase = 1'000'000;
constexpr std::uint64_t kMatchStepsPerByte = 16;
// The interpreter that runs where the JIT compiler cannot (no executable memory).
constexpr std::uint32_t kInterpreterDepthMax = 10'000;
constexpr std::uint32_t kInterpreterHeapKib = 64 * 1024;

template <auto free_fn>
struct Free {
  template <class T>
  void operator()(T* pointer) const {
    free_fn(pointer);
  }
};
using CodePtr = std::unique_ptr<pcre2_code, Free<pcre2_code_free>>;
using MatchDataPtr = std::unique_ptr<pcre2_match_data, Free<pcre2_match_data_free>>;
using MatchContextPtr = std::unique_ptr<pcre2_match_context, Free<pcre2_match_context_free>>;

std::string pcre2_message(int code) {
  std::array<PCRE2_UCHAR, 256> message{};
  pcre2_get_error_message(code, message.data(), message.size());
  return reinterpret_cast<const char*>(message.data());
}

}  // namespace

struct PreTokenizer::Regex {
  CodePtr code;
};

class PreTokenizer::Scratch {
 public:
  Scratch()
      : match_(pcre2_match_data_create(1, nullptr)), context_(pcre2_match_context_create(nullptr)) {
    PELLUCID_CHECK(match_ != nullptr && context_ != nullptr);
    pcre2_set_depth_limit(context_.get(), kInterpreterDepthMax);
    pcre2_set_heap_limit(context_.get(), kInterpreterHeapKib);
  }

  /// `proxy`: the text with the same offsets that is matched in its place.
  void start(std::string_view text, std::string_view proxy) {
    PELLUCID_CHECK(text.size() == proxy.size());
    text_ = text;
    proxy_ = proxy;
    const std::uint64_t steps = kMatchStepsBase + kMatchStepsPerByte * text.size();
    pcre2_set_match_limit(context_.get(),
                          static_cast<std::uint32_t>(std::min<std::uint64_t>(steps, UINT32_MAX)));
  }
  [[nodiscard]] std::string_view piece(Range range) const {
    return text_.substr(range.begin, range.end - range.begin);
  }
  /// The first match of `code` in `range` from `from` on; the text outside the range is not seen.
  /// Unexpected: PCRE2's error.
  std::expected<std::optional<Range>, int> find(const pcre2_code* code, Range range,
                                                std::size_t from) {
    const auto* subject = reinterpret_cast<PCRE2_SPTR>(proxy_.data()) + range.begin;
    const int found = pcre2_match(code, subject, range.end - range.begin, from - range.begin,
                                  PCRE2_NO_UTF_CHECK, match_.get(), context_.get());
    if (found == PCRE2_ERROR_NOMATCH) return std::nullopt;
    if (found < 0) return std::unexpected(found);
    const PCRE2_SIZE* ends = pcre2_get_ovector_pointer(match_.get());
    PELLUCID_CHECK(ends[0] < ends[1]);  // pattern.cc refuses what can match nothing
    return Range{.begin = range.begin + ends[0], .end = range.begin + ends[1]};
  }

 private:
  MatchDataPtr match_;
  MatchContextPtr context_;
  std::string_view text_;
  std::string_view proxy_;
};

void PreTokenizer::ScratchDeleter::operator()(Scratch* scratch) const {
  delete scratch;
}

PreTokenizer::ScratchPtr PreTokenizer::make_scratch() {
  return ScratchPtr(new Scratch);
}

PreTokenizer::PreTokenizer(std::vector<std::unique_ptr<const Regex>> steps)
    : steps_(std::move(steps)) {}
PreTokenizer::PreTokenizer(PreTokenizer&&) noexcept = default;
PreTokenizer& PreTokenizer::operator=(PreTokenizer&&) noexcept = default;
PreTokenizer::~PreTokenizer() = default;

Expected<PreTokenizer> PreTokenizer::create(const std::vector<std::string>& patterns,
                                            std::string_view source) {
  const auto refuse = [&](std::string object, std::string found, std::string expected) {
    return fail({.kind = ErrorKind::kUnsupported,
                 .rule = "tokenizer_pattern",
                 .object = std::move(object),
                 .found = std::move(found),
                 .expected = std::move(expected),
                 .source = std::string(source),
                 .fix = {}});
  };
  if (patterns.size() > kStepsMax) {
    return refuse("pre-tokenizer", std::to_string(patterns.size()) + " splits",
                  "at most " + std::to_string(kStepsMax));
  }
  std::vector<std::unique_ptr<const Regex>> steps;
  for (const std::string& pattern : patterns) {
    PELLUCID_TRY(const std::string translated, translate_pattern(pattern, source));
    int error = 0;
    PCRE2_SIZE offset = 0;
    CodePtr code(pcre2_compile(reinterpret_cast<PCRE2_SPTR>(translated.data()), translated.size(),
                               PCRE2_UTF | PCRE2_UCP | PCRE2_NEVER_BACKSLASH_C, &error, &offset,
                               nullptr));
    if (code == nullptr) {
      return refuse("pre-tokenizer pattern '" + translated + "'", pcre2_message(error),
                    "a pattern that PCRE2 compiles");
    }
    // Without executable memory there is no JIT; matching then goes through the interpreter, with
    // the same result.
    pcre2_jit_compile(code.get(), PCRE2_JIT_COMPLETE);
    steps.push_back(std::make_unique<const Regex>(Regex{.code = std::move(code)}));
  }
  return PreTokenizer(std::move(steps));
}

Expected<void> PreTokenizer::split(std::string_view text, Scratch& scratch,
                                   const Sink& sink) const {
  const std::optional<std::string> proxy = unicode_proxy(text);
  scratch.start(text, proxy ? std::string_view(*proxy) : text);
  return split_from(0, {.begin = 0, .end = text.size()}, scratch, sink);
}

Expected<void> PreTokenizer::split_from(std::size_t step, Range range, Scratch& scratch,
                                        const Sink& sink) const {
  if (range.begin == range.end) return {};
  if (step == steps_.size()) {
    sink(scratch.piece(range));
    return {};
  }
  std::size_t rest = range.begin;
  while (rest < range.end) {
    const auto found = scratch.find(steps_[step]->code.get(), range, rest);
    if (!found) {
      return fail({.kind = ErrorKind::kLimit,
                   .rule = "tokenize_limit",
                   .object = "text of " + std::to_string(range.end - range.begin) + " bytes",
                   .found = pcre2_message(found.error()),
                   .expected = "a match within the limits of the pre-tokenizer",
                   .source = "text to encode",
                   .fix = {}});
    }
    if (!*found) break;
    PELLUCID_TRY_VOID(split_from(step + 1, {.begin = rest, .end = (*found)->begin}, scratch, sink));
    PELLUCID_TRY_VOID(split_from(step + 1, **found, scratch, sink));
    rest = (*found)->end;
  }
  return split_from(step + 1, {.begin = rest, .end = range.end}, scratch, sink);
}

}  // namespace pellucid::tokenizer
