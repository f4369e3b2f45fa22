#pragma once
// Arithmetic, comparison, membership and iteration, with Python's meaning. Integers have 64 bits:
// an overflow is an error.

#include <cstdint>

#include "tokenizer/jinja/ast.h"
#include "tokenizer/jinja/failure.h"
#include "tokenizer/jinja/runtime.h"
#include "tokenizer/jinja/value.h"

namespace pellucid::tokenizer::jinja {

[[nodiscard]] Result<Value> negate(const Value& value);
[[nodiscard]] Result<Value> binary(Runtime& runtime, Op op, const Value& left, const Value& right);

[[nodiscard]] Result<bool> equal(Runtime& runtime, const Value& left, const Value& right);
/// left < right. Errors: kinds that have no order.
[[nodiscard]] Result<bool> less(Runtime& runtime, const Value& left, const Value& right);
/// `item in container`.
[[nodiscard]] Result<bool> contains(Runtime& runtime, const Value& container, const Value& item);
/// One of the comparison operators, `in` and `not in` included.
[[nodiscard]] Result<bool> compare(Runtime& runtime, Op op, const Value& left, const Value& right);

/// What a loop reads: the items of a sequence from `first` on, or a range. Nothing is copied except
/// for strings (their characters) and dicts (their keys). Reading a generator uses it up.
struct Items {
  Value source;
  std::size_t first = 0;
  std::size_t count = 0;

  [[nodiscard]] Value at(std::size_t index) const;
};

/// Errors: a value that cannot be iterated.
[[nodiscard]] Result<Items> iterate(Runtime& runtime, const Value& value);
/// The items as a vector, paid for.
[[nodiscard]] Result<std::vector<Value>> collect(Runtime& runtime, const Value& value);
[[nodiscard]] bool is_iterable(const Value& value);

/// Checked arithmetic on integers.
[[nodiscard]] Result<std::int64_t> add(std::int64_t a, std::int64_t b);
[[nodiscard]] Result<std::int64_t> multiply(std::int64_t a, std::int64_t b);

/// The value of a key, or null; numbers that are equal are the same key.
[[nodiscard]] Result<const Value*> lookup(Runtime& runtime, const Dict& dict, const Value& key);
[[nodiscard]] Result<const Value*> lookup(Runtime& runtime, const Dict& dict, std::string_view key);
/// Adds or replaces an entry. Errors: a key that is not a string, number or none.
[[nodiscard]] Result<void> assign(Runtime& runtime, std::vector<Entry>& entries, const Value& key,
                                  const Value& value);

}  // namespace pellucid::tokenizer::jinja
