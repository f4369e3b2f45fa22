#pragma once
// Cursor over the plain subset of JSON that writers of checkpoints emit: ASCII strings without
// escapes, whole numbers, arrays and objects of them. It never decides that a text is wrong: where
// the text leaves the subset the caller hands all of it to the strict parser (base/json.h), which
// does. Headers and index of a large checkpoint are 60 MB; strings are views into that text, so
// that reading it allocates nothing.

#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>

namespace pellucid::checkpoint {

class PlainJson {
 public:
  explicit PlainJson(std::string_view text) : at_(text.data()), end_(at_ + text.size()) {}

  /// Consumes `c` after white space; false (and nothing but white space consumed) when it is not
  /// there.
  bool accept(char c) {
    skip_space();
    if (at_ == end_ || *at_ != c) return false;
    ++at_;
    return true;
  }
  /// Consumes the string `contents`, itself of the subset, as accept() does a character.
  bool accept_string(std::string_view contents) {
    skip_space();
    const auto left = static_cast<std::size_t>(end_ - at_);
    if (left < contents.size() + 2 || *at_ != '"' || at_[contents.size() + 1] != '"') return false;
    if (std::memcmp(at_ + 1, contents.data(), contents.size()) != 0) return false;
    at_ += contents.size() + 2;
    return true;
  }
  /// The contents of a string; nullopt outside the subset.
  std::optional<std::string_view> string();
  /// A whole number below 10^18 without sign, fraction, exponent or leading zero.
  std::optional<std::uint64_t> number();
  /// Skips a string, a number, or an object of such values: nested at most `depth` deep, a few
  /// members each, no name twice.
  bool skip_value(int depth);
  /// Whether nothing but white space is left.
  bool at_end() {
    skip_space();
    return at_ == end_;
  }

 private:
  void skip_space() {
    while (at_ != end_ && (*at_ == ' ' || *at_ == '\n' || *at_ == '\t' || *at_ == '\r')) ++at_;
  }

  const char* at_;
  const char* end_;
};

}  // namespace pellucid::checkpoint
