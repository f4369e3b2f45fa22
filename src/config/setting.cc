#include "config/setting.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "config/nearest.h"
#include "config/text.h"

namespace pellucid::config {
namespace {

constexpr double kShownMax = 2147483647;  // larger bounds are "no bound" to a reader

std::string range_text(const Range& range) {
  if (range.above_low) return fmt::format("above {}, at most {}", range.low, range.high);
  if (range.high > kShownMax) return fmt::format("of {} or more", range.low);
  return fmt::format("from {} to {:.0f}", range.low, range.high);
}

Error value_error(const Setting& setting, std::string_view text, std::string_view source) {
  return {.rule = "setting_value",
          .object = fmt::format("{} ({})", setting.key, setting.flag()),
          .found = fmt::format("\"{}\"", text),
          .expected = accepted(setting),
          .source = std::string(source),
          .fix = did_you_mean(text, setting.choices)};
}

template <class T>
std::optional<T> parse_number(std::string_view text) {
  T value{};
  const char* const end = text.data() + text.size();
  const auto [next, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || next != end) return std::nullopt;
  return value;
}

/// Written so that NaN fails.
bool in_range(const Setting& setting, double value) {
  if (!setting.range) return std::isfinite(value);
  const Range& range = *setting.range;
  const bool low = range.above_low ? value > range.low : value >= range.low;
  return low && value <= range.high;
}

std::optional<Value> parse_bool(std::string_view text) {
  if (text == "true") return Value(true);
  if (text == "false") return Value(false);
  return std::nullopt;
}

template <class T>
std::optional<Value> parse_ranged(const Setting& setting, std::optional<T> value) {
  if (!value || !in_range(setting, static_cast<double>(*value))) return std::nullopt;
  return Value(*value);
}

std::optional<Value> parse_bytes(const Setting& setting, std::string_view text) {
  const auto bytes = parse_size(text);
  if (!bytes || !in_range(setting, static_cast<double>(bytes->count))) return std::nullopt;
  return Value(*bytes);
}

std::optional<Value> parse_word(const Setting& setting, std::string_view text) {
  if (!setting.choices.empty() && std::ranges::find(setting.choices, text) == setting.choices.end())
    return std::nullopt;
  return Value(std::string(text));
}

std::optional<Value> parse_typed(const Setting& setting, std::string_view text) {
  switch (setting.type) {
    case Type::kBool:
      return parse_bool(text);
    case Type::kInt:
      return parse_ranged(setting, parse_number<std::int64_t>(text));
    case Type::kReal:
      return parse_ranged(setting, parse_number<double>(text));
    case Type::kSize:
      return parse_bytes(setting, text);
    case Type::kChoice:
    case Type::kText:
      return parse_word(setting, text);
    case Type::kTextList:
      return Value(text.empty() ? TextList{} : TextList{std::string(text)});
  }
  return std::nullopt;
}

bool is_free_text(const Setting& setting) {
  return setting.type == Type::kTextList ||
         (setting.type == Type::kText && setting.choices.empty());
}

std::string accepted_type(const Setting& setting) {
  switch (setting.type) {
    case Type::kBool:
      return "true or false";
    case Type::kInt:
      return "a whole number" + (setting.range ? " " + range_text(*setting.range) : "");
    case Type::kReal:
      return "a number" + (setting.range ? " " + range_text(*setting.range) : "");
    case Type::kSize:
      return "a size of memory such as 96GB or 90GiB";
    case Type::kChoice:
    case Type::kText:
      if (setting.choices.empty()) return "text";
      return fmt::format("one of {}", join(setting.choices, ", "));
    case Type::kTextList:
      return "text, repeatable";
  }
  return {};
}

}  // namespace

std::string Setting::variable() const {
  std::string name = "PELLUCID_" + std::string(key);
  for (char& c : name) {
    if (c == '.') c = '_';
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  }
  return name;
}

std::string_view Setting::flag() const {
  for (const Flag& candidate : flags) {
    if (!candidate.implied) return candidate.name;
  }
  return flags.front().name;
}

const Setting* find_setting(std::string_view key) {
  for (const Setting& setting : settings_table()) {
    if (setting.key == key) return &setting;
  }
  return nullptr;
}

FlagMatch find_flag(std::string_view name) {
  for (const Setting& setting : settings_table()) {
    for (const Flag& flag : setting.flags) {
      if (flag.name == name) return {&setting, &flag};
    }
  }
  return {};
}

std::string_view type_name(Type type) {
  switch (type) {
    case Type::kBool:
      return "bool";
    case Type::kInt:
      return "int";
    case Type::kReal:
      return "real";
    case Type::kSize:
      return "size";
    case Type::kChoice:
      return "choice";
    case Type::kText:
      return "text";
    case Type::kTextList:
      return "list";
  }
  return {};
}

std::string_view scope_name(Scope scope) {
  return scope == Scope::kStart ? "start" : "request";
}

std::string accepted(const Setting& setting) {
  std::string text = accepted_type(setting);
  if (!setting.preset && !is_free_text(setting)) text += ", or auto";
  return text;
}

Expected<Value> parse_value(const Setting& setting, std::string_view text,
                            std::string_view source) {
  if (!setting.preset && !is_free_text(setting)) {
    const bool synonym = !setting.auto_synonym.empty() && text == setting.auto_synonym;
    if (text == "auto" || synonym) return Value(Auto{});
  }
  auto value = parse_typed(setting, text);
  if (!value) return fail(value_error(setting, text, source));
  if (const auto* list = std::get_if<TextList>(&*value); list && setting.check_item) {
    for (const std::string& item : *list) {
      if (auto checked = setting.check_item(item); !checked) {
        Error error = value_error(setting, item, source);
        error.expected = checked.error().expected;
        return fail(std::move(error));
      }
    }
  }
  return *std::move(value);
}

}  // namespace pellucid::config
