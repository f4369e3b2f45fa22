#include "peers/pack_toml.h"

#include <fmt/format.h>

namespace pellucid::peers {

const toml::node* TableReader::take(std::string_view key) {
  read_.emplace(key);
  return table_.get(key);
}

void TableReader::fail_with(std::string_view rule, std::string_view found,
                            std::string_view expected) {
  if (error_) return;
  error_ = Error{.kind = ErrorKind::kInvalid,
                 .rule = std::string(rule),
                 .object = object_,
                 .found = std::string(found),
                 .expected = std::string(expected),
                 .source = fmt::format("{}:{}", file_, table_.source().begin.line)};
}

std::optional<std::string> TableReader::optional_text(std::string_view key) {
  const toml::node* node = take(key);
  if (node == nullptr) return std::nullopt;
  if (const auto value = node->value_exact<std::string>()) return *value;
  fail_with("pack_key", key, "a string");
  return std::nullopt;
}

std::string TableReader::text(std::string_view key) {
  return optional_text(key).value_or("");
}

std::string TableReader::required_text(std::string_view key) {
  std::string out = text(key);
  if (out.empty()) fail_with("pack_key", fmt::format("no {}", key), "a string that is not empty");
  return out;
}

bool TableReader::flag(std::string_view key) {
  const toml::node* node = take(key);
  if (node == nullptr) return false;
  if (const auto value = node->value_exact<bool>()) return *value;
  fail_with("pack_key", key, "true or false");
  return false;
}

std::vector<std::string> TableReader::texts(std::string_view key) {
  std::vector<std::string> out;
  const toml::node* node = take(key);
  if (node == nullptr) return out;
  const toml::array* array = node->as_array();
  if (array == nullptr) {
    fail_with("pack_key", key, "an array of strings");
    return out;
  }
  for (const toml::node& item : *array) {
    const auto value = item.value_exact<std::string>();
    if (!value) fail_with("pack_key", key, "an array of strings");
    out.push_back(value.value_or(""));
  }
  return out;
}

std::vector<std::int64_t> TableReader::integers(std::string_view key) {
  std::vector<std::int64_t> out;
  const toml::node* node = take(key);
  const toml::array* array = node == nullptr ? nullptr : node->as_array();
  if (array == nullptr) return out;
  for (const toml::node& item : *array) {
    const auto value = item.value_exact<std::int64_t>();
    if (!value) fail_with("pack_key", key, "an array of integers");
    out.push_back(value.value_or(0));
  }
  return out;
}

std::vector<DateRange> TableReader::dates(std::string_view key) {
  std::vector<DateRange> out;
  for (const std::string& text : texts(key)) {
    const Expected<DateRange> range = parse_date_range(text);
    if (range) out.push_back(*range);
    if (!range) fail_with(range.error().rule, text, range.error().expected);
  }
  return out;
}

std::vector<Condition> TableReader::conditions(std::string_view key) {
  std::vector<Condition> out;
  for (const std::string& text : texts(key)) {
    Expected<Condition> condition = parse_condition(text);
    if (condition) out.push_back(*std::move(condition));
    if (!condition) fail_with(condition.error().rule, text, condition.error().expected);
  }
  return out;
}

const toml::table* TableReader::table(std::string_view key) {
  const toml::node* node = take(key);
  if (node == nullptr) return nullptr;
  if (node->as_table() == nullptr) fail_with("pack_key", key, "a table");
  return node->as_table();
}

Expected<void> TableReader::finish() {
  for (const auto& [key, value] : table_) {
    if (!read_.contains(key.str())) fail_with("pack_key", key.str(), "a key of the format");
  }
  if (error_) return fail(*error_);
  return {};
}

}  // namespace pellucid::peers
