#include "config/resolution.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"

namespace pellucid::config {
namespace {

/// What the machine happens to have free now is not part of what was configured.
bool is_volatile(const Effective& effective) {
  return effective.setting->key == "memory.budget" && !is_user(effective.source);
}

std::string hash_of(std::span<const Effective> settings) {
  std::vector<std::string> lines;
  for (const Effective& effective : settings) {
    if (is_volatile(effective)) continue;
    lines.push_back(fmt::format("{}={}\n", effective.setting->key, format_value(effective.value)));
  }
  std::ranges::sort(lines);
  // FNV-1a, 64 bits: offset basis and prime of draft-eastlake-fnv, section 5.
  std::uint64_t hash = 0xcbf29ce484222325ULL;
  for (const std::string& line : lines) {
    for (const char c : line) {
      hash ^= static_cast<unsigned char>(c);
      hash *= 0x100000001b3ULL;
    }
  }
  return fmt::format("{:016x}", hash);
}

}  // namespace

Error Refusal::to_error() const {
  Error error{.kind = ErrorKind::kInvalid,
              .rule = rule,
              .object = key.empty() || key == other.who ? one.who : key,
              .found = one.says,
              .expected = fmt::format("agreement with {}: {}", other.who, other.says),
              .source = one.source};
  if (!consequence.empty()) error.fix = consequence;
  if (!alternatives.empty()) {
    error.fix += fmt::format("{}{}", error.fix.empty() ? "" : "; ", alternatives.front());
  }
  return error;
}

Resolution::Resolution(Facts facts, std::vector<Effective> settings, std::vector<Refusal> refusals,
                       std::vector<Note> notes)
    : facts_(std::move(facts)),
      settings_(std::move(settings)),
      refusals_(std::move(refusals)),
      notes_(std::move(notes)),
      hash_(hash_of(settings_)) {
  PELLUCID_CHECK(settings_.size() == settings_table().size());
  if (!refusals_.empty()) return;
  for (const Effective& effective : settings_) {
    effective.setting->store(effective.value, views_);
  }
}

const Effective& Resolution::effective(std::string_view key) const {
  const auto found = std::ranges::find_if(
      settings_, [&](const Effective& effective) { return effective.setting->key == key; });
  PELLUCID_CHECK(found != settings_.end());
  return *found;
}

const Settings& Resolution::views() const {
  PELLUCID_CHECK(refusals_.empty());
  return views_;
}

}  // namespace pellucid::config
