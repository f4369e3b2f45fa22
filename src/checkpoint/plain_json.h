#pragma once
// Cursor over the plain subset of JSON that writers of checkpoints emit: ASCII strings without
// escapes, whole numbers, arrays and objects of them. It never decides that a text is wrong: where
// the text leaves the subset the caller hands all of it to the strict parser (base/json.h), which
// does. Headers and index of a large checkpoint are 25 MB; without the tree of values they are read
// five times as fast and in a tenth of the memory.

#include <cstdint>
#include <optional>
#include <string_view>

namespace pellucid::checkpoint {

class PlainJson {
 public:
  explicit PlainJson(std::string_view text) : at_(text.data()), end_(at_ + text.size()) {}

  /// Consumes `c` after white space; false (and nothing but white space consumed) when it is not
  /// there.
  bool accept(char c);
  /// The contents of a string; nullopt outside the subset.
  std::optional<std::string_view> string();
  /// A whole number below 2^63 without sign, fraction, exponent or leading zero.
  std::optional<std::uint64_t> number();
  /// Skips a string, a number, or an object of such values: nested at most `depth` deep, a few
  /// members each, no name twice.
  bool skip_value(int depth);
  /// Whether nothing but white space is left.
  bool at_end();

 private:
  void skip_space();

  const char* at_;
  const char* end_;
};

}  // namespace pellucid::checkpoint
