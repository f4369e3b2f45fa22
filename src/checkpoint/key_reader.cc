#include "checkpoint/key_reader.h"

#include <cstdio>

#include "base/utf8.h"

namespace pellucid::checkpoint {
namespace {

/// The value in errors: short, on one line.
std::string shown(const json::Value& value) {
  constexpr std::size_t kShown = 80;
  std::string text = json::dump(value);
  if (text.size() > kShown) text = text.substr(0, kShown) + "...";
  return utf8::escape_for_display(text);
}

std::string number_text(double value) {
  char text[32];
  std::snprintf(text, sizeof(text), "%g", value);
  return text;
}

}  // namespace

KeyReader::KeyReader(const json::Object& object, std::string prefix, std::string_view source)
    : object_(object), read_(object.size()), prefix_(std::move(prefix)), source_(source) {}

const json::Value* KeyReader::take(std::string_view key) {
  for (std::size_t i = 0; i < object_.size(); ++i) {
    if (object_[i].first != key) continue;
    read_[i] = true;
    return object_[i].second.is_null() ? nullptr : &object_[i].second;
  }
  return nullptr;
}

std::unexpected<Error> KeyReader::refuse(std::string_view key, std::string found,
                                         std::string expected, ErrorKind kind) const {
  const std::string path = prefix_ + std::string(key);
  return fail({.kind = kind,
               .rule = "config." + path,
               .object = path,
               .found = std::move(found),
               .expected = std::move(expected),
               .source = std::string(source_)});
}

std::unexpected<Error> KeyReader::absent(std::string_view key) const {
  return refuse(key, "nothing", "a value", ErrorKind::kNotFound);
}

Expected<std::optional<std::int64_t>> KeyReader::optional_integer(std::string_view key,
                                                                  IntRange range) {
  const json::Value* value = take(key);
  if (value == nullptr) return std::nullopt;
  const bool fits = value->type() == json::Type::kInt && value->integer() >= range.min &&
                    value->integer() <= range.max;
  if (fits) return value->integer();
  return refuse(
      key, shown(*value),
      "an integer in [" + std::to_string(range.min) + ", " + std::to_string(range.max) + "]");
}

Expected<std::int64_t> KeyReader::integer(std::string_view key, IntRange range) {
  PELLUCID_TRY(const auto value, optional_integer(key, range));
  if (!value) return absent(key);
  return *value;
}

Expected<std::optional<double>> KeyReader::optional_real(std::string_view key, RealRange range) {
  const json::Value* value = take(key);
  if (value == nullptr) return std::nullopt;
  const bool fits =
      value->is_number() && value->number() > range.above && value->number() <= range.max;
  if (fits) return value->number();
  return refuse(key, shown(*value),
                "a number in (" + number_text(range.above) + ", " + number_text(range.max) + "]");
}

Expected<double> KeyReader::real(std::string_view key, RealRange range) {
  PELLUCID_TRY(const auto value, optional_real(key, range));
  if (!value) return absent(key);
  return *value;
}

Expected<std::optional<bool>> KeyReader::optional_boolean(std::string_view key) {
  const json::Value* value = take(key);
  if (value == nullptr) return std::nullopt;
  if (value->is_bool()) return value->boolean();
  return refuse(key, shown(*value), "true or false");
}

Expected<bool> KeyReader::boolean(std::string_view key) {
  PELLUCID_TRY(const auto value, optional_boolean(key));
  if (!value) return absent(key);
  return *value;
}

Expected<std::optional<std::string>> KeyReader::optional_string(std::string_view key) {
  const json::Value* value = take(key);
  if (value == nullptr) return std::nullopt;
  if (value->is_string()) return value->string();
  return refuse(key, shown(*value), "a string");
}

Expected<const json::Object*> KeyReader::optional_object(std::string_view key) {
  const json::Value* value = take(key);
  if (value == nullptr) return nullptr;
  if (value->is_object()) return &value->object();
  return refuse(key, shown(*value), "an object");
}

Expected<std::optional<std::vector<std::string>>> KeyReader::optional_strings(
    std::string_view key) {
  const json::Value* value = take(key);
  if (value == nullptr) return std::nullopt;
  if (!value->is_array()) return refuse(key, shown(*value), "an array of strings");
  std::vector<std::string> out;
  for (const json::Value& item : value->array()) {
    if (!item.is_string()) return refuse(key, shown(item), "an array of strings");
    out.push_back(item.string());
  }
  return out;
}

std::vector<std::string> KeyReader::unread() const {
  std::vector<std::string> out;
  for (std::size_t i = 0; i < object_.size(); ++i) {
    if (!read_[i]) out.push_back(prefix_ + object_[i].first);
  }
  return out;
}

}  // namespace pellucid::checkpoint
