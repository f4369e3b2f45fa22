#pragma once
// Values of the template language: immutable, reference counted, 16 bytes. Only a namespace can
// change, and it belongs to one render. Counts are not atomic: values never cross threads (literals
// are made anew for each render).

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace pellucid::tokenizer::jinja {

enum class Kind : std::uint8_t {
  kUndefined,
  kNone,
  kBool,
  kInt,
  kUint,  ///< an integer of the input above 2^63 - 1: printed and compared, no arithmetic
  kFloat,
  kString,
  kSequence,
  kDict,
  kRange,
  kNamespace,
  kLoop,
  kMethod,
  kMacro,
  kFunction,
};

struct Macro;

struct Object {
  Object() = default;
  Object(const Object&) = delete;
  Object& operator=(const Object&) = delete;
  virtual ~Object() = default;

  std::uint32_t references = 0;
  std::uint32_t depth = 0;  ///< nesting of containers below and including this one
};

struct String;
struct Sequence;
struct Dict;
struct Range;
struct Namespace;
struct Loop;
struct BoundMethod;

/// The callables that exist without being defined by the template.
enum class Function : std::uint8_t {
  kRange,
  kNamespace,
  kDict,
  kRaiseException,
  kStrftimeNow,
};

class Value {
 public:
  Value() { payload_.name = nullptr; }
  Value(const Value& other) : kind_(other.kind_), payload_(other.payload_) { retain(); }
  Value(Value&& other) noexcept : kind_(other.kind_), payload_(other.payload_) {
    other.kind_ = Kind::kUndefined;
    other.payload_.name = nullptr;
  }
  Value& operator=(Value other) noexcept {
    std::swap(kind_, other.kind_);
    std::swap(payload_, other.payload_);
    return *this;
  }
  ~Value() { release(); }

  /// `name` is what the template asked for, for the error message; it must outlive the value.
  static Value undefined(const std::string* name);
  static Value none();
  static Value boolean(bool v);
  static Value integer(std::int64_t v);
  static Value uinteger(std::uint64_t v);
  static Value floating(double v);
  static Value function(Function f);
  static Value macro(const Macro* m);
  /// Takes a share of a heap object whose kind is `kind`.
  static Value object(Kind kind, Object* object);

  [[nodiscard]] Kind kind() const { return kind_; }
  [[nodiscard]] bool is(Kind kind) const { return kind_ == kind; }
  [[nodiscard]] bool is_undefined() const { return kind_ == Kind::kUndefined; }
  [[nodiscard]] bool is_string() const { return kind_ == Kind::kString; }
  /// bool, int or float: what arithmetic takes.
  [[nodiscard]] bool is_number() const {
    return kind_ == Kind::kBool || kind_ == Kind::kInt || kind_ == Kind::kFloat;
  }
  /// bool or int: what indexing takes.
  [[nodiscard]] bool is_integral() const { return kind_ == Kind::kBool || kind_ == Kind::kInt; }

  [[nodiscard]] const std::string* undefined_name() const { return payload_.name; }
  [[nodiscard]] bool boolean() const { return payload_.boolean; }
  [[nodiscard]] std::int64_t integer() const {
    return kind_ == Kind::kBool ? static_cast<std::int64_t>(payload_.boolean) : payload_.integer;
  }
  [[nodiscard]] std::uint64_t uinteger() const { return payload_.uinteger; }
  /// Any number as double.
  [[nodiscard]] double number() const;
  [[nodiscard]] Function function() const { return payload_.function; }
  [[nodiscard]] const Macro* macro() const { return payload_.macro; }
  [[nodiscard]] const Object* heap() const { return payload_.object; }
  [[nodiscard]] std::string_view text() const;
  [[nodiscard]] const String& string() const;
  [[nodiscard]] Sequence& sequence() const;
  [[nodiscard]] const Dict& dict() const;
  [[nodiscard]] const Range& range() const;
  [[nodiscard]] Namespace& names() const;
  [[nodiscard]] const Loop& loop() const;
  [[nodiscard]] Loop& mutable_loop() const;  ///< for the for statement that owns it
  [[nodiscard]] const BoundMethod& method() const;

  [[nodiscard]] std::uint32_t depth() const { return on_heap() ? payload_.object->depth : 0; }
  /// Python's truth: empty strings, containers, zero, none and undefined are false.
  [[nodiscard]] bool truth() const;
  /// "str", "int", "list": the word for error messages.
  [[nodiscard]] std::string_view type_name() const;

 private:
  [[nodiscard]] bool on_heap() const { return kind_ >= Kind::kString && kind_ <= Kind::kMethod; }
  void retain() const {
    if (on_heap()) ++payload_.object->references;
  }
  void release() {
    if (on_heap() && --payload_.object->references == 0) delete payload_.object;
  }

  union Payload {
    const std::string* name;
    bool boolean;
    std::int64_t integer;
    std::uint64_t uinteger;
    double number;
    Object* object;
    const Macro* macro;
    Function function;
  };
  Kind kind_ = Kind::kUndefined;
  Payload payload_;
};

/// Valid UTF-8. `length` counts code points, which is what indices and slices count.
struct String : Object {
  std::string text;
  std::size_t length = 0;

  [[nodiscard]] bool ascii() const { return length == text.size(); }
};

/// kGenerator is what Jinja's lazy filters give: it has no length and no items by index, it can be
/// read once, and `consumed` items of it have been.
enum class Flavor : std::uint8_t { kList, kTuple, kDictItems, kDictKeys, kDictValues, kGenerator };

struct Sequence : Object {
  Flavor flavor = Flavor::kList;
  std::vector<Value> items;
  std::size_t consumed = 0;

  [[nodiscard]] bool indexable() const {
    return flavor == Flavor::kList || flavor == Flavor::kTuple;
  }
};

using Entry = std::pair<Value, Value>;

struct Dict : Object {
  std::vector<Entry> entries;
};

struct Range : Object {
  std::int64_t start = 0;
  std::int64_t stop = 0;
  std::int64_t step = 1;
  std::int64_t length = 0;

  /// Modulo 2^64, so that the distance of far-apart ends need not fit in 63 bits.
  [[nodiscard]] std::int64_t at(std::int64_t index) const {
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(start) +
                                     static_cast<std::uint64_t>(index) *
                                         static_cast<std::uint64_t>(step));
  }
};

struct Namespace : Object {
  std::vector<std::pair<std::string, Value>> attributes;

  [[nodiscard]] Value* find(std::string_view name);
};

/// The state of a for loop. `source` is a sequence (items from `first_item` on) or a range.
struct Loop : Object {
  Value source;
  std::size_t first_item = 0;
  std::size_t length = 0;
  std::size_t index = 0;

  [[nodiscard]] Value item(std::size_t i) const;
};

class Runtime;
struct Arguments;

}  // namespace pellucid::tokenizer::jinja
