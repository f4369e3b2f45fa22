#include "config/nearest.h"

#include <algorithm>
#include <vector>

namespace pellucid::config {

std::size_t edit_distance(std::string_view a, std::string_view b) {
  // rows[i % 3][j]: distance of the first i characters of a and the first j of b.
  std::vector<std::vector<std::size_t>> rows(3, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t j = 0; j <= b.size(); ++j) rows[0][j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    auto& row = rows[i % 3];
    const auto& above = rows[(i - 1) % 3];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replace = above[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, replace});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) row[j] = std::min(row[j], rows[(i - 2) % 3][j - 2] + 1);
    }
  }
  return rows[a.size() % 3][b.size()];
}

std::string_view nearest(std::string_view name, std::span<const std::string_view> names) {
  constexpr std::size_t kNameMax = 256;  // the table is quadratic in the length
  if (name.size() > kNameMax) return {};
  std::string_view best;
  std::size_t best_distance = std::string_view::npos;
  for (const std::string_view candidate : names) {
    const std::size_t limit = std::max<std::size_t>(2, std::max(name.size(), candidate.size()) / 3);
    const std::size_t distance = edit_distance(name, candidate);
    if (distance > limit || distance >= candidate.size() || distance >= best_distance) continue;
    best = candidate;
    best_distance = distance;
  }
  return best;
}

std::string did_you_mean(std::string_view name, std::span<const std::string_view> names) {
  const std::string_view best = nearest(name, names);
  return best.empty() ? std::string() : "did you mean " + std::string(best);
}

}  // namespace pellucid::config
