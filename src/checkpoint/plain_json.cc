#include "checkpoint/plain_json.h"

#include <algorithm>
#include <vector>

namespace pellucid::checkpoint {
namespace {

constexpr std::size_t kSkippedMembersMax = 16;  // an index has one or two; names are compared

}  // namespace

void PlainJson::skip_space() {
  while (at_ != end_ && (*at_ == ' ' || *at_ == '\n' || *at_ == '\t' || *at_ == '\r')) ++at_;
}

bool PlainJson::accept(char c) {
  skip_space();
  if (at_ == end_ || *at_ != c) return false;
  ++at_;
  return true;
}

std::optional<std::string_view> PlainJson::string() {
  if (!accept('"')) return std::nullopt;
  const char* begin = at_;
  while (at_ != end_ && *at_ != '"') {
    const auto byte = static_cast<unsigned char>(*at_);
    if (byte < 0x20 || byte >= 0x7F || byte == '\\') return std::nullopt;
    ++at_;
  }
  if (at_ == end_) return std::nullopt;
  return std::string_view(begin, static_cast<std::size_t>(at_++ - begin));
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

bool PlainJson::at_end() {
  skip_space();
  return at_ == end_;
}

}  // namespace pellucid::checkpoint
