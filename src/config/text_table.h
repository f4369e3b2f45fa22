#pragma once
// Columns of text for a terminal: each as wide as its widest cell, the last wrapped to the width
// that is left. Private to the room.

#include <string>
#include <vector>

namespace pellucid::config {

class TextTable {
 public:
  explicit TextTable(std::size_t width) : width_(width) {}

  void add(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  [[nodiscard]] bool empty() const { return rows_.empty(); }
  /// One line or more per row, no trailing spaces.
  [[nodiscard]] std::string text() const;

 private:
  std::size_t width_;
  std::vector<std::vector<std::string>> rows_;
};

/// Lines of at most `width` bytes, broken at spaces; a longer word stays whole.
[[nodiscard]] std::vector<std::string> wrap(std::string_view text, std::size_t width);

}  // namespace pellucid::config
