#include "tokenizer/pattern.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "base/utf8.h"

namespace pellucid::tokenizer {
namespace {

constexpr std::size_t kPatternBytesMax = 4096;
constexpr std::uint32_t kUnbounded = UINT32_MAX;
constexpr std::uint32_t kRepeatMax = 64;
// Characters that one attempt at one place may look at in vain, over all alternatives: the ways to
// divide a text between the bounded repeats, times what these span. Known patterns need below 40.
constexpr std::uint64_t kWorkMax = 1024;

constexpr std::string_view kContractions = "(?i:'s|'t|'re|'ve|'m|'ll|'d)";
constexpr std::string_view kSpaceAtEnd = R"(\s+(?!\S))";

/// Alternatives that the general rule does not cover, with their PCRE2 spelling.
struct KnownAlternative {
  std::string_view text;
  std::string_view pcre2;
  /// The alternatives that must follow for the pattern to stay linear, joined by '|'; empty: none.
  std::string_view followed_by;
};

// \s*[\r\n]+ gives back a run of n spaces without a line break in n steps and fails; the two that
// follow then consume n - 1 of them, so each space is given back once.
//
// \s+(?!\S) gives back at most one space.
//
// Kimi: A*B+ with overlapping classes. A run of n characters in A and not in B is given back in n
// steps; the alternative that follows (A+B*) then consumes the run. [A&&[^\p{Han}]] is the
// complement of everything outside A, and of Han: the general categories are a partition.
#define KIMI_UPPER R"([^\p{Ll}\p{N}\p{P}\p{S}\p{Z}\p{C}\p{sc:Han}])"
#define KIMI_LOWER R"([^\p{Lu}\p{Lt}\p{N}\p{P}\p{S}\p{Z}\p{C}\p{sc:Han}])"
constexpr std::array<KnownAlternative, 5> kKnown = {{
    {R"(\s*[\r\n]+)", R"(\p{wspace}*[\r\n]+)", R"(\s+(?!\S)|\s+)"},
    {R"(\s*[\r\n])", R"(\p{wspace}*[\r\n])", R"(\s+(?!\S)|\s+)"},
    {kSpaceAtEnd, R"(\p{wspace}+(?!\P{wspace}))", ""},
    {R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*)"
     R"([\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?)",
     R"([^\r\n\p{L}\p{N}]?)" KIMI_UPPER "*" KIMI_LOWER R"(+(?i:'s|'t|'re|'ve|'m|'ll|'d)?)",
     R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+)"
     R"([\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?)"},
    {R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+)"
     R"([\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?)",
     R"([^\r\n\p{L}\p{N}]?)" KIMI_UPPER "+" KIMI_LOWER R"(*(?i:'s|'t|'re|'ve|'m|'ll|'d)?)", ""},
}};
#undef KIMI_UPPER
#undef KIMI_LOWER

constexpr std::array<std::string_view, 30> kCategories = {
    "L",  "Lu", "Ll", "Lt", "Lm", "Lo", "M",  "Mn", "Mc", "Me", "N",  "Nd", "Nl", "No", "P",
    "Pc", "Pd", "Ps", "Pe", "Pi", "Pf", "Po", "S",  "Sm", "Sc", "Sk", "So", "Z",  "Zs", "Zl"};

/// Reads one alternative; translates it and judges its cost.
class AlternativeReader {
 public:
  explicit AlternativeReader(std::string_view text) : text_(text) {}

  /// Empty when the alternative is accepted, else the reason against it.
  [[nodiscard]] std::string read() {
    while (error_.empty() && at_ < text_.size()) item();
    if (error_.empty() && !mandatory_) return "an alternative that can match nothing";
    return error_;
  }
  [[nodiscard]] const std::string& translation() const { return out_; }
  /// Characters that a failed attempt may look at.
  [[nodiscard]] std::uint64_t work() const { return ways_ * span_; }

 private:
  [[nodiscard]] bool starts_with(std::string_view prefix) const {
    return text_.substr(at_).starts_with(prefix);
  }
  bool take(std::string_view prefix) {
    if (!starts_with(prefix)) return false;
    at_ += prefix.size();
    return true;
  }
  void refuse(std::string reason) {
    if (error_.empty()) error_ = std::move(reason);
  }

  void item() {
    const bool is_group = take(kContractions);
    if (is_group) {
      out_ += kContractions;
    } else {
      atom();
    }
    if (error_.empty()) repeat(is_group);
  }

  void atom() {
    const char c = text_[at_];
    if (c == '\\') {
      escape();
      return;
    }
    if (c == '[') {
      character_class();
      return;
    }
    if (std::string_view("(){}^$.*+?|]").contains(c)) {
      refuse("'" + std::string(text_.substr(at_, 8)) + "'");
      return;
    }
    code_point();
  }

  void code_point() {
    const utf8::Decoded c = utf8::decode(text_, at_);
    out_ += text_.substr(at_, c.length);
    at_ += c.length;
  }

  /// An escape, which is the same inside and outside a class.
  void escape() {
    if (take(R"(\p{Han})")) {
      out_ += R"(\p{sc:Han})";
      return;
    }
    for (const std::string_view category : kCategories) {
      for (const std::string_view kind : {R"(\p{)", R"(\P{)"}) {
        const std::string spelling = std::string(kind) + std::string(category) + "}";
        if (!take(spelling)) continue;
        out_ += spelling;
        return;
      }
    }
    for (const auto& [from, to] :
         {std::pair{R"(\s)", R"(\p{wspace})"}, std::pair{R"(\S)", R"(\P{wspace})"},
          std::pair{R"(\d)", R"(\p{Nd})"}, std::pair{R"(\r)", R"(\r)"}, std::pair{R"(\n)", R"(\n)"},
          std::pair{R"(\t)", R"(\t)"}}) {
      if (!take(from)) continue;
      out_ += to;
      return;
    }
    constexpr std::string_view kPunctuation = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~ ";
    if (at_ + 1 >= text_.size() || !kPunctuation.contains(text_[at_ + 1])) {
      refuse("escape '" + utf8::escape_for_display(text_.substr(at_, 8)) + "'");
      return;
    }
    out_ += text_.substr(at_, 2);
    at_ += 2;
  }

  void character_class() {
    take("[");
    out_ += '[';
    if (take("^")) out_ += '^';
    if (starts_with("]")) refuse("a class that begins with ']'");
    while (error_.empty() && !starts_with("]")) class_member();
    if (!error_.empty()) return;
    take("]");
    out_ += ']';
  }

  void class_member() {
    if (at_ >= text_.size()) {
      refuse("a class without end");
      return;
    }
    // Set operations: their meaning differs from engine to engine.
    for (const std::string_view operation : {"[", "&&", "--", "~~"}) {
      if (!starts_with(operation)) continue;
      refuse("'" + std::string(operation) + "' within a class");
      return;
    }
    if (text_[at_] == '\\') {
      escape();
      return;
    }
    code_point();
  }

  struct Range {
    std::uint32_t min = 1;
    std::uint32_t max = 1;
  };

  void repeat(bool is_group) {
    Range range;
    const std::size_t begin = at_;
    if (take("?")) {
      range.min = 0;
    } else if (take("*")) {
      range = {.min = 0, .max = kUnbounded};
    } else if (take("+")) {
      range.max = kUnbounded;
    } else if (take("{")) {
      range = counted();
    }
    if (!error_.empty()) return;
    out_ += text_.substr(begin, at_ - begin);
    if (at_ > begin && at_ < text_.size() && std::string_view("?*+{").contains(text_[at_])) {
      refuse("a lazy, possessive or doubled repeat");
      return;
    }
    if (is_group && range.max > 1) {
      refuse("a repeated group");
      return;
    }
    judge(range);
  }

  Range counted() {
    Range range;
    range.min = number();
    range.max = range.min;
    if (take(",")) range.max = starts_with("}") ? kUnbounded : number();
    if (!take("}") || range.max == 0 || range.max < range.min || range.min > kRepeatMax ||
        (range.max != kUnbounded && range.max > kRepeatMax)) {
      refuse("a counted repeat that is malformed or beyond " + std::to_string(kRepeatMax));
    }
    return range;
  }

  std::uint32_t number() {
    std::uint32_t value = 0;
    const std::size_t begin = at_;
    while (at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9' && at_ - begin < 4) {
      value = value * 10 + static_cast<std::uint32_t>(text_[at_++] - '0');
    }
    if (at_ == begin) refuse("a counted repeat without a number");
    return value;
  }

  void judge(Range range) {
    if (after_unbounded_ && range.min > 0) {
      refuse("something mandatory after an unbounded repeat");
      return;
    }
    if (range.min > 0) mandatory_ = true;
    if (range.max == kUnbounded) {
      after_unbounded_ = true;
      span_ += range.min;
      return;
    }
    ways_ *= range.max - range.min + 1;
    span_ += range.max;
    if (work() > kWorkMax) refuse("bounded repeats of too many characters");
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::string out_;
  std::string error_;
  bool mandatory_ = false;
  bool after_unbounded_ = false;
  std::uint64_t ways_ = 1;
  std::uint64_t span_ = 0;
};

/// Splits at '|' outside classes and groups.
std::vector<std::string_view> alternatives_of(std::string_view pattern) {
  std::vector<std::string_view> alternatives;
  int classes = 0;
  int groups = 0;
  std::size_t begin = 0;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    const char c = pattern[i];
    if (c == '\\') {
      ++i;
      continue;
    }
    if (c == '[') ++classes;
    if (c == ']' && classes > 0) --classes;
    if (classes > 0) continue;
    if (c == '(') ++groups;
    if (c == ')' && groups > 0) --groups;
    if (c != '|' || groups > 0) continue;
    alternatives.push_back(pattern.substr(begin, i - begin));
    begin = i + 1;
  }
  alternatives.push_back(pattern.substr(begin));
  return alternatives;
}

/// Whether the alternatives from `first` on begin with those of `wanted`.
bool followed_by(const std::vector<std::string_view>& alternatives, std::size_t first,
                 std::string_view wanted) {
  if (wanted.empty()) return true;
  const std::vector<std::string_view> expected = alternatives_of(wanted);
  for (std::size_t i = 0; i < expected.size(); ++i) {
    if (first + i >= alternatives.size() || alternatives[first + i] != expected[i]) return false;
  }
  return true;
}

}  // namespace

Expected<std::string> translate_pattern(std::string_view pattern, std::string_view source) {
  const auto refuse = [&](std::string found) {
    return fail({.kind = ErrorKind::kUnsupported,
                 .rule = "tokenizer_pattern",
                 .object = "pre-tokenizer pattern '" +
                           utf8::escape_for_display(pattern.substr(0, 256)) + "'",
                 .found = std::move(found),
                 .expected = "alternatives that match in linear time (see tokenizer/pattern.h)",
                 .source = std::string(source),
                 .fix = {}});
  };
  if (pattern.size() > kPatternBytesMax) {
    return refuse(std::to_string(pattern.size()) + " bytes, more than " +
                  std::to_string(kPatternBytesMax));
  }
  const std::vector<std::string_view> alternatives = alternatives_of(pattern);
  std::string out;
  std::uint64_t work = 0;
  for (std::size_t i = 0; i < alternatives.size(); ++i) {
    if (i > 0) out += '|';
    const auto known = std::ranges::find(kKnown, alternatives[i], &KnownAlternative::text);
    if (known != kKnown.end() && followed_by(alternatives, i + 1, known->followed_by)) {
      out += known->pcre2;
      continue;
    }
    AlternativeReader reader(alternatives[i]);
    if (const std::string reason = reader.read(); !reason.empty()) return refuse(reason);
    work += reader.work();
    if (work > kWorkMax) return refuse("alternatives of too many characters");
    out += reader.translation();
  }
  return out;
}

}  // namespace pellucid::tokenizer
