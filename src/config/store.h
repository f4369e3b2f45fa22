#pragma once
// How a row of the settings table finds its field: row<&Settings::group, &Group::field>({...})
// fills in the type, the choices of an enumeration and the function that stores a value. Private to
// the room.

#include <algorithm>
#include <type_traits>
#include <utility>

#include "base/check.h"
#include "config/setting.h"

namespace pellucid::config {

template <class T>
struct FieldType {
  static_assert(std::is_enum_v<T>, "no setting type for this field");
  static constexpr Type kType = Type::kChoice;
  static T from(const Value& value) {
    const auto& names = Names<T>::kAll;
    const auto found = std::ranges::find(names, std::string_view(std::get<std::string>(value)));
    PELLUCID_CHECK(found != names.end());
    return static_cast<T>(found - names.begin());
  }
};

template <class T, Type kSettingType>
struct PlainField {
  static constexpr Type kType = kSettingType;
  static T from(const Value& value) { return std::get<T>(value); }
};
template <>
struct FieldType<bool> : PlainField<bool, Type::kBool> {};
template <>
struct FieldType<std::int64_t> : PlainField<std::int64_t, Type::kInt> {};
template <>
struct FieldType<double> : PlainField<double, Type::kReal> {};
template <>
struct FieldType<Bytes> : PlainField<Bytes, Type::kSize> {};
template <>
struct FieldType<std::string> : PlainField<std::string, Type::kText> {};
template <>
struct FieldType<TextList> : PlainField<TextList, Type::kTextList> {};
template <class T>
struct FieldType<std::optional<T>> {
  static constexpr Type kType = FieldType<T>::kType;
  static std::optional<T> from(const Value& value) {
    if (is_auto(value)) return std::nullopt;
    return FieldType<T>::from(value);
  }
};

template <class Class, class Field>
Field field_of(Field Class::*);

template <auto kGroup, auto kField>
Setting row(Setting setting) {
  using Field = decltype(field_of(kField));
  setting.type = FieldType<Field>::kType;
  if constexpr (std::is_enum_v<Field>) setting.choices = Names<Field>::kAll;
  setting.store = [](const Value& value, Settings& settings) {
    settings.*kGroup.*kField = FieldType<Field>::from(value);
  };
  return setting;
}

}  // namespace pellucid::config
