#include "base/json.h"

#include "base/check.h"

namespace pellucid::json {

Value::Value(std::uint64_t v) {
  if (v <= static_cast<std::uint64_t>(INT64_MAX)) {
    data_ = static_cast<std::int64_t>(v);
  } else {
    data_ = v;
  }
}

std::string_view type_name(Type type) {
  switch (type) {
    case Type::kNull:
      return "null";
    case Type::kBool:
      return "boolean";
    case Type::kInt:
      return "integer";
    case Type::kUint:
      return "integer";
    case Type::kDouble:
      return "number";
    case Type::kString:
      return "string";
    case Type::kArray:
      return "array";
    case Type::kObject:
      return "object";
  }
  return "?";
}

Type Value::type() const {
  return static_cast<Type>(data_.index());
}

bool Value::is_integer() const {
  return type() == Type::kInt || type() == Type::kUint;
}
bool Value::is_number() const {
  return is_integer() || type() == Type::kDouble;
}

bool Value::boolean() const {
  PELLUCID_CHECK(is_bool());
  return std::get<bool>(data_);
}

std::int64_t Value::integer() const {
  PELLUCID_CHECK(type() == Type::kInt);
  return std::get<std::int64_t>(data_);
}

std::uint64_t Value::uinteger() const {
  if (type() == Type::kUint) return std::get<std::uint64_t>(data_);
  PELLUCID_CHECK(integer() >= 0);
  return static_cast<std::uint64_t>(integer());
}

double Value::number() const {
  if (type() == Type::kInt) return static_cast<double>(std::get<std::int64_t>(data_));
  if (type() == Type::kUint) return static_cast<double>(std::get<std::uint64_t>(data_));
  PELLUCID_CHECK(type() == Type::kDouble);
  return std::get<double>(data_);
}

const std::string& Value::string() const {
  PELLUCID_CHECK(is_string());
  return std::get<std::string>(data_);
}

const Array& Value::array() const {
  PELLUCID_CHECK(is_array());
  return std::get<Array>(data_);
}

const Object& Value::object() const {
  PELLUCID_CHECK(is_object());
  return std::get<Object>(data_);
}

Array& Value::array() {
  PELLUCID_CHECK(is_array());
  return std::get<Array>(data_);
}

Object& Value::object() {
  PELLUCID_CHECK(is_object());
  return std::get<Object>(data_);
}

const Value* Value::find(std::string_view key) const {
  for (const Member& member : object()) {
    if (member.first == key) return &member.second;
  }
  return nullptr;
}

}  // namespace pellucid::json
