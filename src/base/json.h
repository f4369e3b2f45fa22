#pragma once
// Strict JSON: a value tree, a parser with limits, a writer. The parser (Boost.JSON underneath)
// refuses duplicate keys, invalid UTF-8, lone surrogates, trailing bytes and nesting beyond the
// limit, and keeps integers apart from floating-point numbers. Objects keep the order of the text.
//
// Thread-safe for concurrent reads. Getters return errors that carry the path of the value.

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/error.h"

namespace pellucid::json {

class Value;
using Array = std::vector<Value>;
using Member = std::pair<std::string, Value>;

/// Members in the order of the text; lookup is linear for small objects, callers that need an
/// index over a large one build it.
using Object = std::vector<Member>;

enum class Type { kNull, kBool, kInt, kUint, kDouble, kString, kArray, kObject };

[[nodiscard]] std::string_view type_name(Type type);

class Value {
 public:
  Value() = default;
  Value(std::nullptr_t) {}
  Value(bool v) : data_(v) {}
  Value(int v) : data_(static_cast<std::int64_t>(v)) {}
  Value(std::int64_t v) : data_(v) {}
  Value(std::uint64_t v);  ///< stored as kInt when it fits, else kUint
  Value(double v) : data_(v) {}
  Value(const char* v) : data_(std::string(v)) {}
  Value(std::string_view v) : data_(std::string(v)) {}
  Value(std::string v) : data_(std::move(v)) {}
  Value(Array v) : data_(std::move(v)) {}
  Value(Object v) : data_(std::move(v)) {}

  [[nodiscard]] Type type() const;
  [[nodiscard]] bool is_null() const { return type() == Type::kNull; }
  [[nodiscard]] bool is_string() const { return type() == Type::kString; }
  [[nodiscard]] bool is_array() const { return type() == Type::kArray; }
  [[nodiscard]] bool is_object() const { return type() == Type::kObject; }
  [[nodiscard]] bool is_bool() const { return type() == Type::kBool; }
  /// kInt or kUint: written without fraction or exponent.
  [[nodiscard]] bool is_integer() const;
  [[nodiscard]] bool is_number() const;

  /// Unchecked access: CHECKs the type.
  [[nodiscard]] bool boolean() const;
  [[nodiscard]] std::int64_t integer() const;    ///< kInt only
  [[nodiscard]] std::uint64_t uinteger() const;  ///< kUint, or kInt >= 0
  [[nodiscard]] double number() const;           ///< any number, as double
  [[nodiscard]] const std::string& string() const;
  [[nodiscard]] const Array& array() const;
  [[nodiscard]] const Object& object() const;
  [[nodiscard]] Array& array();
  [[nodiscard]] Object& object();

  /// The member of that name, or null. CHECKs that this is an object.
  [[nodiscard]] const Value* find(std::string_view key) const;

  friend bool operator==(const Value&, const Value&) = default;

 private:
  std::variant<std::monostate, bool, std::int64_t, std::uint64_t, double, std::string, Array,
               Object>
      data_;
};

struct Limits {
  std::uint64_t bytes_max = 256ULL << 20;
  std::uint32_t depth_max = 64;
  std::uint64_t values_max = 50'000'000;  ///< scalars, arrays and objects together
};

/// Parses exactly one JSON document. `source` (file name) goes into errors, with the byte offset.
/// Rules: "json_syntax", "json_depth", "json_utf8", "json_limit", "duplicate_key".
[[nodiscard]] Expected<Value> parse(std::string_view text, std::string_view source,
                                    const Limits& limits = {});

struct DumpStyle {
  int indent = -1;  ///< -1: one line
  std::string_view item_separator = ",";
  std::string_view key_separator = ":";
  bool ensure_ascii = false;  ///< \uXXXX for everything above 0x7F
  bool sort_keys = false;
};

/// Writes JSON text. Doubles in the shortest form that reads back equal, always with a fraction or
/// exponent (1.0, 1e+16 as Python does). Non-finite doubles are written as null.
[[nodiscard]] std::string dump(const Value& value, const DumpStyle& style = {});

}  // namespace pellucid::json
