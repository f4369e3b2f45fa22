#include "tokenizer/json_fields.h"

#include <algorithm>

namespace pellucid::tokenizer {
namespace {

std::unexpected<Error> wrong_type(std::string path, const json::Value* found, json::Type expected,
                                  std::string_view source) {
  return fail({.kind = ErrorKind::kInvalid,
               .rule = "tokenizer_json",
               .object = std::move(path),
               .found = found == nullptr ? "nothing" : std::string(json::type_name(found->type())),
               .expected = std::string(json::type_name(expected)),
               .source = std::string(source),
               .fix = {}});
}

}  // namespace

Expected<JsonFields> JsonFields::of(const json::Value& value, std::string path,
                                    std::string_view source) {
  if (!value.is_object()) {
    return wrong_type(std::move(path), &value, json::Type::kObject, source);
  }
  return JsonFields(value, std::move(path), source);
}

bool JsonFields::is_null(std::string_view key) const {
  const json::Value* member = find(key);
  return member == nullptr || member->is_null();
}

Expected<const json::Value*> JsonFields::require(std::string_view key, json::Type type) const {
  const json::Value* member = find(key);
  if (member == nullptr || member->type() != type) {
    return wrong_type(path_of(key), member, type, source_);
  }
  return member;
}

Expected<bool> JsonFields::boolean_or(std::string_view key, bool absent) const {
  if (find(key) == nullptr) return absent;
  PELLUCID_TRY(const json::Value* member, require(key, json::Type::kBool));
  return member->boolean();
}

Expected<std::string_view> JsonFields::string(std::string_view key) const {
  PELLUCID_TRY(const json::Value* member, require(key, json::Type::kString));
  return std::string_view(member->string());
}

Expected<JsonFields> JsonFields::object(std::string_view key) const {
  PELLUCID_TRY(const json::Value* member, require(key, json::Type::kObject));
  return JsonFields(*member, path_of(key), source_);
}

Expected<void> JsonFields::only(std::initializer_list<std::string_view> known) const {
  for (const auto& [key, member] : value_->object()) {
    if (std::ranges::find(known, key) == known.end()) return unsupported(key, "no such key");
  }
  return {};
}

std::unexpected<Error> JsonFields::unsupported(std::string_view key, std::string expected) const {
  constexpr std::size_t kShownBytes = 128;
  const json::Value* member = find(key);
  return fail({.kind = ErrorKind::kUnsupported,
               .rule = "tokenizer_unsupported",
               .object = path_of(key),
               .found = member == nullptr ? "nothing" : json::dump(*member).substr(0, kShownBytes),
               .expected = std::move(expected),
               .source = source_,
               .fix = {}});
}

std::string JsonFields::path_of(std::string_view key) const {
  return path_.empty() ? std::string(key) : path_ + "." + std::string(key);
}

}  // namespace pellucid::tokenizer
