#include "config/text_table.h"

#include <algorithm>
#include <string_view>

namespace pellucid::config {
namespace {

constexpr std::size_t kGap = 2;          // between columns
constexpr std::size_t kColumnMax = 36;   // a wider cell pushes its own row only
constexpr std::size_t kWrappedMin = 24;  // the last column is never narrower

void pad(std::string& line, std::size_t to) {
  if (line.size() < to) line.append(to - line.size(), ' ');
}

}  // namespace

std::vector<std::string> wrap(std::string_view text, std::size_t width) {
  std::vector<std::string> lines;
  std::string line;
  while (!text.empty()) {
    const std::size_t space = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, space);
    if (!line.empty() && line.size() + 1 + word.size() > width) {
      lines.push_back(std::move(line));
      line.clear();
    }
    if (!line.empty()) line += ' ';
    line += word;
    text.remove_prefix(std::min(space + 1, text.size()));
  }
  if (!line.empty() || lines.empty()) lines.push_back(std::move(line));
  return lines;
}

std::string TextTable::text() const {
  std::vector<std::size_t> widths;
  for (const auto& row : rows_) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i + 1 < row.size(); ++i) {
      widths[i] = std::max(widths[i], std::min(row[i].size(), kColumnMax));
    }
  }
  std::string out;
  for (const auto& row : rows_) {
    std::string line;
    std::size_t at = 0;
    for (std::size_t i = 0; i + 1 < row.size(); ++i) {
      line += row[i];
      at += widths[i] + kGap;
      line += std::string(1, ' ');
      pad(line, at);
    }
    const std::size_t left = std::max(kWrappedMin, width_ > at ? width_ - at : 0);
    for (const std::string& part : wrap(row.empty() ? "" : row.back(), left)) {
      pad(line, part.empty() ? 0 : at);
      line += part;
      while (line.ends_with(' ')) line.pop_back();
      out += line + "\n";
      line.clear();
    }
  }
  return out;
}

}  // namespace pellucid::config
