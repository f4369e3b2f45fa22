#include "checkpoint/plain_json.h"

#include <algorithm>
#include <vector>

namespace pellucid::checkpoint {
namespace {

constexpr std::size_t kSkippedMembersMax = 16;  // an index has one or two; names are compared

/// The top bit of some byte is set when a byte of `word` is a control character, a backslash, DEL
/// or outside ASCII. (A borrow or carry only ever starts at such a byte.)
std::uint64_t special_bytes(std::uint64_t word) {
  constexpr std::uint64_t kOnes = 0x0101010101010101;
  constexpr std::uint64_t kTops = 0x80 * kOnes;
  const std::uint64_t control = (word - 0x20 * kOnes) & ~word;
  const std::uint64_t beyond = (word + kOnes) | word;
  const std::uint64_t against_backslash = word ^ ('\\' * kOnes);
  const std::uint64_t backslash = (against_backslash - kOnes) & ~against_backslash;
  return (control | beyond | backslash) & kTops;
}

bool is_plain(std::string_view text) {
  std::uint64_t special = 0;
  std::uint64_t word = 0;
  for (; text.size() >= sizeof(word); text.remove_prefix(sizeof(word))) {
    std::memcpy(&word, text.data(), sizeof(word));
    special |= special_bytes(word);
  }
  word = 0x2020202020202020;
  for (const char c : text) word = word << 8 | static_cast<unsigned char>(c);
  return (special | special_bytes(word)) == 0;
}

}  // namespace

std::optional<std::string_view> PlainJson::string() {
  if (!accept('"') || at_ == end_) return std::nullopt;
  const auto left = static_cast<std::size_t>(end_ - at_);
  const char* quote = static_cast<const char*>(std::memchr(at_, '"', left));
  if (quote == nullptr) return std::nullopt;
  const std::string_view contents(at_, static_cast<std::size_t>(quote - at_));
  if (!is_plain(contents)) return std::nullopt;
  at_ = quote + 1;
  return contents;
}

std::optional<std::uint64_t> PlainJson::number() {
  skip_space();
  const char* begin = at_;
  std::uint64_t value = 0;
  while (at_ != end_ && *at_ >= '0' && *at_ <= '9') {
    value = value * 10 + static_cast<std::uint64_t>(*at_ - '0');
    ++at_;
  }
  const auto digits = at_ - begin;
  const bool has_leading_zero = digits > 1 && *begin == '0';
  const bool goes_on = at_ != end_ && (*at_ == '.' || *at_ == 'e' || *at_ == 'E');
  if (digits == 0 || digits > 18 || has_leading_zero || goes_on) return std::nullopt;
  return value;
}

bool PlainJson::skip_value(int depth) {
  if (!accept('{')) {
    skip_space();
    const bool is_string = at_ != end_ && *at_ == '"';
    return is_string ? string().has_value() : number().has_value();
  }
  if (depth == 0) return false;
  if (accept('}')) return true;
  std::vector<std::string_view> names;
  do {
    const auto name = string();
    if (!name || names.size() == kSkippedMembersMax) return false;
    if (std::find(names.begin(), names.end(), *name) != names.end()) return false;
    names.push_back(*name);
    if (!accept(':') || !skip_value(depth - 1)) return false;
  } while (accept(','));
  return accept('}');
}

}  // namespace pellucid::checkpoint
