#include "tokenizer/jinja/value.h"

#include "base/check.h"
#include "tokenizer/jinja/callable.h"

namespace pellucid::tokenizer::jinja {

Value Value::undefined(const std::string* name) {
  Value v;
  v.payload_.name = name;
  return v;
}

Value Value::none() {
  Value v;
  v.kind_ = Kind::kNone;
  return v;
}

Value Value::boolean(bool b) {
  Value v;
  v.kind_ = Kind::kBool;
  v.payload_.boolean = b;
  return v;
}

Value Value::integer(std::int64_t i) {
  Value v;
  v.kind_ = Kind::kInt;
  v.payload_.integer = i;
  return v;
}

Value Value::uinteger(std::uint64_t u) {
  Value v;
  v.kind_ = Kind::kUint;
  v.payload_.uinteger = u;
  return v;
}

Value Value::floating(double d) {
  Value v;
  v.kind_ = Kind::kFloat;
  v.payload_.number = d;
  return v;
}

Value Value::function(Function f) {
  Value v;
  v.kind_ = Kind::kFunction;
  v.payload_.function = f;
  return v;
}

Value Value::macro(const Macro* m) {
  Value v;
  v.kind_ = Kind::kMacro;
  v.payload_.macro = m;
  return v;
}

Value Value::object(Kind kind, Object* object) {
  Value v;
  v.kind_ = kind;
  v.payload_.object = object;
  PELLUCID_CHECK(v.on_heap());
  v.retain();
  return v;
}

double Value::number() const {
  if (kind_ == Kind::kFloat) return payload_.number;
  if (kind_ == Kind::kUint) return static_cast<double>(payload_.uinteger);
  return static_cast<double>(integer());
}

std::string_view Value::text() const {
  return string().text;
}

const String& Value::string() const {
  return static_cast<const String&>(*payload_.object);
}

Sequence& Value::sequence() const {
  return static_cast<Sequence&>(*payload_.object);
}

const Dict& Value::dict() const {
  return static_cast<const Dict&>(*payload_.object);
}

const Range& Value::range() const {
  return static_cast<const Range&>(*payload_.object);
}

Namespace& Value::names() const {
  return static_cast<Namespace&>(*payload_.object);
}

const Loop& Value::loop() const {
  return static_cast<const Loop&>(*payload_.object);
}

Loop& Value::mutable_loop() const {
  return static_cast<Loop&>(*payload_.object);
}

const BoundMethod& Value::method() const {
  return static_cast<const BoundMethod&>(*payload_.object);
}

bool Value::truth() const {
  switch (kind_) {
    case Kind::kUndefined:
    case Kind::kNone:
      return false;
    case Kind::kBool:
      return payload_.boolean;
    case Kind::kInt:
      return payload_.integer != 0;
    case Kind::kFloat:
      return payload_.number != 0;
    case Kind::kString:
      return !string().text.empty();
    case Kind::kSequence:
      return sequence().flavor == Flavor::kGenerator || !sequence().items.empty();
    case Kind::kDict:
      return !dict().entries.empty();
    case Kind::kRange:
      return range().length > 0;
    case Kind::kUint:
    case Kind::kNamespace:
    case Kind::kLoop:
    case Kind::kMethod:
    case Kind::kMacro:
    case Kind::kFunction:
      return true;
  }
  return false;
}

std::string_view Value::type_name() const {
  switch (kind_) {
    case Kind::kUndefined:
      return "undefined";
    case Kind::kNone:
      return "none";
    case Kind::kBool:
      return "bool";
    case Kind::kInt:
    case Kind::kUint:
      return "int";
    case Kind::kFloat:
      return "float";
    case Kind::kString:
      return "str";
    case Kind::kSequence:
      switch (sequence().flavor) {
        case Flavor::kList:
          return "list";
        case Flavor::kTuple:
          return "tuple";
        case Flavor::kDictItems:
          return "dict_items";
        case Flavor::kDictKeys:
          return "dict_keys";
        case Flavor::kDictValues:
          return "dict_values";
        case Flavor::kGenerator:
          return "generator";
      }
      return "sequence";
    case Kind::kDict:
      return "dict";
    case Kind::kRange:
      return "range";
    case Kind::kNamespace:
      return "namespace";
    case Kind::kLoop:
      return "loop";
    case Kind::kMethod:
      return "method";
    case Kind::kMacro:
      return "macro";
    case Kind::kFunction:
      return "function";
  }
  return "value";
}

Value* Namespace::find(std::string_view name) {
  for (auto& [key, value] : attributes) {
    if (key == name) return &value;
  }
  return nullptr;
}

Value Loop::item(std::size_t i) const {
  if (source.is(Kind::kRange)) {
    return Value::integer(source.range().at(static_cast<std::int64_t>(i)));
  }
  return source.sequence().items[first_item + i];
}

}  // namespace pellucid::tokenizer::jinja
