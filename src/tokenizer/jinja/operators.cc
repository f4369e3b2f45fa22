#include "tokenizer/jinja/operators.h"

#include <cmath>

#include "base/utf8.h"
#include "tokenizer/jinja/text.h"

namespace pellucid::tokenizer::jinja {
namespace {

std::string_view symbol(Op op) {
  switch (op) {
    case Op::kAdd:
      return "+";
    case Op::kSubtract:
      return "-";
    case Op::kMultiply:
      return "*";
    case Op::kDivide:
      return "/";
    case Op::kFloorDivide:
      return "//";
    case Op::kModulo:
      return "%";
    case Op::kPower:
      return "**";
    case Op::kNone:
    case Op::kEqual:
    case Op::kNotEqual:
    case Op::kLess:
    case Op::kLessEqual:
    case Op::kGreater:
    case Op::kGreaterEqual:
    case Op::kIn:
    case Op::kNotIn:
      break;
  }
  return "comparison";
}

std::unexpected<Error> overflow() {
  return wrong("integer", "a result beyond 64 bits", "a 64-bit signed integer");
}

std::unexpected<Error> zero_division() {
  return wrong("division", "zero", "a divisor other than 0");
}

std::unexpected<Error> mismatch(Op op, const Value& left, const Value& right) {
  return wrong("operator " + std::string(symbol(op)),
               std::string(left.type_name()) + " and " + std::string(right.type_name()),
               "operands that it can combine");
}

Result<Value> integer_result(Result<std::int64_t> value) {
  PELLUCID_TRY(const std::int64_t result, std::move(value));
  return Value::integer(result);
}

double floor_modulo(double a, double b) {
  const double rest = std::fmod(a, b);
  if (rest == 0) return std::copysign(0.0, b);
  return (rest < 0) != (b < 0) ? rest + b : rest;
}

/// Python's float floor division: (a - a % b) / b rounded to the nearest integer.
double floor_divide(double a, double b) {
  const double quotient = (a - floor_modulo(a, b)) / b;
  if (quotient == 0) return std::copysign(0.0, a / b);
  const double floored = std::floor(quotient);
  return quotient - floored > 0.5 ? floored + 1 : floored;
}

Result<std::int64_t> integer_power(std::int64_t base, std::int64_t exponent) {
  std::int64_t result = 1;
  // Any base beyond -1..1 overflows within 63 steps; the others need the parity only.
  if (base >= -1 && base <= 1 && exponent > 2) exponent = 2 + exponent % 2;
  for (; exponent > 0; --exponent) {
    PELLUCID_TRY(result, multiply(result, base));
  }
  return result;
}

Result<Value> integer_binary(Op op, std::int64_t a, std::int64_t b) {
  std::int64_t difference = 0;
  switch (op) {
    case Op::kAdd:
      return integer_result(add(a, b));
    case Op::kSubtract:
      if (__builtin_sub_overflow(a, b, &difference)) return overflow();
      return Value::integer(difference);
    case Op::kMultiply:
      return integer_result(multiply(a, b));
    case Op::kDivide:
      if (b == 0) return zero_division();
      return Value::floating(static_cast<double>(a) / static_cast<double>(b));
    case Op::kFloorDivide:
    case Op::kModulo: {
      if (b == 0) return zero_division();
      if (b == -1) {
        if (op == Op::kModulo) return Value::integer(0);
        return integer_result(multiply(a, -1));
      }
      const bool adjust = a % b != 0 && (a < 0) != (b < 0);
      if (op == Op::kModulo) return Value::integer(a % b + (adjust ? b : 0));
      return Value::integer(a / b - (adjust ? 1 : 0));
    }
    case Op::kPower:
      if (b >= 0) return integer_result(integer_power(a, b));
      if (a == 0) return zero_division();
      return Value::floating(std::pow(static_cast<double>(a), static_cast<double>(b)));
    default:
      return wrong("operator", "a comparison", "arithmetic");
  }
}

Result<Value> float_power(double a, double b) {
  if (a == 0 && b < 0) return zero_division();
  const double result = std::pow(a, b);
  if (std::isfinite(a) && std::isfinite(b) && !std::isfinite(result)) {
    return wrong("operator **", "a result that is not a finite real number", "a finite one");
  }
  return Value::floating(result);
}

Result<Value> float_binary(Op op, double a, double b) {
  const bool divides = op == Op::kDivide || op == Op::kFloorDivide || op == Op::kModulo;
  if (divides && b == 0) return zero_division();
  switch (op) {
    case Op::kAdd:
      return Value::floating(a + b);
    case Op::kSubtract:
      return Value::floating(a - b);
    case Op::kMultiply:
      return Value::floating(a * b);
    case Op::kDivide:
      return Value::floating(a / b);
    case Op::kFloorDivide:
      return Value::floating(floor_divide(a, b));
    case Op::kModulo:
      return Value::floating(floor_modulo(a, b));
    case Op::kPower:
      return float_power(a, b);
    default:
      return wrong("operator", "a comparison", "arithmetic");
  }
}

Result<Value> concatenate(Runtime& runtime, const Value& left, const Value& right) {
  if (left.is_string()) {
    TextBuilder out(runtime);
    out.append(left.text());
    out.append(right.text());
    return out.finish();
  }
  const auto& a = left.sequence().items;
  const auto& b = right.sequence().items;
  PELLUCID_TRY_VOID(runtime.memory(a.size() + b.size(), sizeof(Value)));
  std::vector<Value> items;
  items.reserve(a.size() + b.size());
  items.insert(items.end(), a.begin(), a.end());
  items.insert(items.end(), b.begin(), b.end());
  return runtime.sequence(left.sequence().flavor, std::move(items));
}

Result<Value> repeat(Runtime& runtime, const Value& value, std::int64_t times) {
  const std::uint64_t count = times > 0 ? static_cast<std::uint64_t>(times) : 0;
  if (value.is_string()) {
    TextBuilder out(runtime);
    if (!value.text().empty()) out.repeat(value.text(), count);
    return out.finish();
  }
  const auto& source = value.sequence().items;
  PELLUCID_TRY_VOID(runtime.memory(count, source.size() * sizeof(Value)));
  std::vector<Value> items;
  items.reserve(count * source.size());
  for (std::uint64_t i = 0; i < count && !source.empty(); ++i) {
    items.insert(items.end(), source.begin(), source.end());
  }
  return runtime.sequence(value.sequence().flavor, std::move(items));
}

bool is_list_or_tuple(const Value& value) {
  return value.is(Kind::kSequence) && value.sequence().indexable();
}

bool can_repeat(const Value& value) {
  return value.is_string() || is_list_or_tuple(value);
}

bool can_concatenate(const Value& left, const Value& right) {
  if (left.is_string()) return right.is_string();
  return is_list_or_tuple(left) && is_list_or_tuple(right) &&
         left.sequence().flavor == right.sequence().flavor;
}

Result<bool> equal_sequences(Runtime& runtime, const Sequence& a, const Sequence& b) {
  if (a.flavor != b.flavor || a.items.size() != b.items.size()) return false;
  PELLUCID_TRY_VOID(runtime.steps(a.items.size()));
  for (std::size_t i = 0; i < a.items.size(); ++i) {
    PELLUCID_TRY(const bool same, equal(runtime, a.items[i], b.items[i]));
    if (!same) return false;
  }
  return true;
}

Result<bool> equal_dicts(Runtime& runtime, const Dict& a, const Dict& b) {
  if (a.entries.size() != b.entries.size()) return false;
  for (const auto& [key, value] : a.entries) {
    PELLUCID_TRY(const Value* other, lookup(runtime, b, key));
    if (other == nullptr) return false;
    PELLUCID_TRY(const bool same, equal(runtime, value, *other));
    if (!same) return false;
  }
  return true;
}

bool equal_ranges(const Range& a, const Range& b) {
  if (a.length != b.length) return false;
  return a.length == 0 || (a.start == b.start && (a.length == 1 || a.step == b.step));
}

bool equal_numbers(const Value& left, const Value& right) {
  if (left.is_integral() && right.is_integral()) return left.integer() == right.integer();
  if (left.is(Kind::kUint) && right.is(Kind::kUint)) return left.uinteger() == right.uinteger();
  return left.number() == right.number();
}

Result<bool> less_sequences(Runtime& runtime, const Sequence& a, const Sequence& b) {
  const std::size_t common = std::min(a.items.size(), b.items.size());
  PELLUCID_TRY_VOID(runtime.steps(common));
  for (std::size_t i = 0; i < common; ++i) {
    PELLUCID_TRY(const bool same, equal(runtime, a.items[i], b.items[i]));
    if (!same) return less(runtime, a.items[i], b.items[i]);
  }
  return a.items.size() < b.items.size();
}

Result<Value> characters(Runtime& runtime, const String& string) {
  PELLUCID_TRY_VOID(runtime.steps(string.length));
  std::vector<Value> items;
  items.reserve(std::min<std::size_t>(string.length, 1024));
  for (std::size_t i = 0; i < string.text.size();) {
    const std::size_t length = utf8::decode(string.text, i).length;
    PELLUCID_TRY(auto character, runtime.string(std::string_view(string.text).substr(i, length)));
    items.push_back(std::move(character));
    i += length;
  }
  return runtime.list(std::move(items));
}

}  // namespace

Result<std::int64_t> add(std::int64_t a, std::int64_t b) {
  std::int64_t sum = 0;
  if (__builtin_add_overflow(a, b, &sum)) return overflow();
  return sum;
}

Result<std::int64_t> multiply(std::int64_t a, std::int64_t b) {
  std::int64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product)) return overflow();
  return product;
}

Result<Value> negate(const Value& value) {
  if (value.is(Kind::kFloat)) return Value::floating(-value.number());
  if (value.is_integral()) return integer_result(multiply(value.integer(), -1));
  return wrong("operator -", value.type_name(), "a number");
}

Result<Value> binary(Runtime& runtime, Op op, const Value& left, const Value& right) {
  if (left.is_integral() && right.is_integral()) {
    return integer_binary(op, left.integer(), right.integer());
  }
  if (left.is_number() && right.is_number()) {
    return float_binary(op, left.number(), right.number());
  }
  if (op == Op::kAdd && can_concatenate(left, right)) return concatenate(runtime, left, right);
  if (op == Op::kMultiply && can_repeat(left) && right.is_integral()) {
    return repeat(runtime, left, right.integer());
  }
  if (op == Op::kMultiply && can_repeat(right) && left.is_integral()) {
    return repeat(runtime, right, left.integer());
  }
  return mismatch(op, left, right);
}

Result<bool> equal(Runtime& runtime, const Value& left, const Value& right) {
  const bool left_number = left.is_number() || left.is(Kind::kUint);
  const bool right_number = right.is_number() || right.is(Kind::kUint);
  if (left_number && right_number) return equal_numbers(left, right);
  if (left.kind() != right.kind()) return false;
  switch (left.kind()) {
    case Kind::kUndefined:
    case Kind::kNone:
      return true;
    case Kind::kString:
      if (left.text().size() != right.text().size()) return false;
      PELLUCID_TRY_VOID(runtime.scan(left.text().size()));
      return left.text() == right.text();
    case Kind::kSequence: {
      const Flavor flavor = left.sequence().flavor;
      if (flavor == Flavor::kGenerator || flavor == Flavor::kDictValues) break;
      return equal_sequences(runtime, left.sequence(), right.sequence());
    }
    case Kind::kDict:
      return equal_dicts(runtime, left.dict(), right.dict());
    case Kind::kRange:
      return equal_ranges(left.range(), right.range());
    case Kind::kMethod:
      if (left.method().callable != right.method().callable) return false;
      return left.method().self.kind() == right.method().self.kind() &&
             left.method().self.heap() == right.method().self.heap();
    case Kind::kMacro:
      return left.macro() == right.macro();
    case Kind::kFunction:
      return left.function() == right.function();
    case Kind::kNamespace:
    case Kind::kLoop:
    case Kind::kBool:
    case Kind::kInt:
    case Kind::kUint:
    case Kind::kFloat:
      break;
  }
  return left.heap() == right.heap();
}

Result<bool> less(Runtime& runtime, const Value& left, const Value& right) {
  if (left.is_integral() && right.is_integral()) return left.integer() < right.integer();
  const bool left_number = left.is_number() || left.is(Kind::kUint);
  const bool right_number = right.is_number() || right.is(Kind::kUint);
  if (left_number && right_number) return left.number() < right.number();
  if (left.is_string() && right.is_string()) {
    PELLUCID_TRY_VOID(runtime.scan(std::min(left.text().size(), right.text().size())));
    return left.text() < right.text();
  }
  if (is_list_or_tuple(left) && is_list_or_tuple(right) &&
      left.sequence().flavor == right.sequence().flavor) {
    return less_sequences(runtime, left.sequence(), right.sequence());
  }
  return wrong("comparison",
               std::string(left.type_name()) + " and " + std::string(right.type_name()),
               "two numbers, strings or lists");
}

Result<bool> contains(Runtime& runtime, const Value& container, const Value& item) {
  if (container.is_string()) {
    if (!item.is_string()) return wrong("in", item.type_name(), "a str, as the right side is one");
    PELLUCID_TRY_VOID(runtime.scan(container.text().size() + item.text().size()));
    return find(container.text(), item.text()) != std::string_view::npos;
  }
  if (container.is(Kind::kDict)) {
    PELLUCID_TRY(const Value* value, lookup(runtime, container.dict(), item));
    return value != nullptr;
  }
  PELLUCID_TRY(const Items items, iterate(runtime, container));
  for (std::size_t i = 0; i < items.count; ++i) {
    PELLUCID_TRY_VOID(runtime.steps(1));
    PELLUCID_TRY(const bool same, equal(runtime, items.at(i), item));
    if (!same) continue;
    // A generator is read up to the item that was found.
    const bool generator =
        items.source.is(Kind::kSequence) && items.source.sequence().flavor == Flavor::kGenerator;
    if (generator) items.source.sequence().consumed = items.first + i + 1;
    return true;
  }
  return false;
}

Result<bool> compare(Runtime& runtime, Op op, const Value& left, const Value& right) {
  if (op == Op::kEqual) return equal(runtime, left, right);
  if (op == Op::kLess) return less(runtime, left, right);
  if (op == Op::kGreater) return less(runtime, right, left);
  if (op == Op::kIn) return contains(runtime, right, left);
  if (op == Op::kNotEqual) {
    PELLUCID_TRY(const bool same, equal(runtime, left, right));
    return !same;
  }
  if (op == Op::kNotIn) {
    PELLUCID_TRY(const bool found, contains(runtime, right, left));
    return !found;
  }
  // <= and >= are not the negation of > and < when a NaN is involved.
  const bool swapped = op == Op::kGreaterEqual;
  PELLUCID_TRY(const bool below, swapped ? less(runtime, right, left) : less(runtime, left, right));
  if (below) return true;
  return equal(runtime, left, right);
}

Value Items::at(std::size_t index) const {
  if (source.is(Kind::kRange)) {
    return Value::integer(source.range().at(static_cast<std::int64_t>(index)));
  }
  return source.sequence().items[first + index];
}

bool is_iterable(const Value& value) {
  return value.is_undefined() || value.is_string() || value.is(Kind::kSequence) ||
         value.is(Kind::kDict) || value.is(Kind::kRange) || value.is(Kind::kLoop);
}

Result<Items> iterate(Runtime& runtime, const Value& value) {
  switch (value.kind()) {
    case Kind::kUndefined: {
      PELLUCID_TRY(auto empty, runtime.list({}));
      return Items{.source = std::move(empty)};
    }
    case Kind::kSequence: {
      Sequence& sequence = value.sequence();
      const std::size_t first = sequence.consumed;
      if (sequence.flavor == Flavor::kGenerator) sequence.consumed = sequence.items.size();
      return Items{.source = value, .first = first, .count = sequence.items.size() - first};
    }
    case Kind::kRange:
      return Items{.source = value, .count = static_cast<std::size_t>(value.range().length)};
    case Kind::kString: {
      PELLUCID_TRY(auto list, characters(runtime, value.string()));
      const std::size_t count = list.sequence().items.size();
      return Items{.source = std::move(list), .count = count};
    }
    case Kind::kDict: {
      const auto& entries = value.dict().entries;
      PELLUCID_TRY_VOID(runtime.steps(entries.size()));
      std::vector<Value> keys;
      keys.reserve(entries.size());
      for (const Entry& entry : entries) keys.push_back(entry.first);
      PELLUCID_TRY(auto list, runtime.list(std::move(keys)));
      return Items{.source = std::move(list), .count = entries.size()};
    }
    default:
      return wrong("iteration", value.type_name(), "a list, dict, string or range");
  }
}

Result<std::vector<Value>> collect(Runtime& runtime, const Value& value) {
  PELLUCID_TRY(const Items items, iterate(runtime, value));
  PELLUCID_TRY_VOID(runtime.steps(items.count));
  PELLUCID_TRY_VOID(runtime.memory(items.count, sizeof(Value)));
  std::vector<Value> out;
  out.reserve(items.count);
  for (std::size_t i = 0; i < items.count; ++i) out.push_back(items.at(i));
  return out;
}

Result<const Value*> lookup(Runtime& runtime, const Dict& dict, std::string_view key) {
  PELLUCID_TRY_VOID(runtime.steps(dict.entries.size() / 8));
  for (const auto& [name, value] : dict.entries) {
    if (name.is_string() && name.text() == key) return &value;
  }
  return nullptr;
}

Result<const Value*> lookup(Runtime& runtime, const Dict& dict, const Value& key) {
  if (key.is_string()) return lookup(runtime, dict, key.text());
  if (key.is(Kind::kSequence) || key.is(Kind::kDict)) {
    return wrong("dict key", key.type_name(), "a string, number or none");
  }
  PELLUCID_TRY_VOID(runtime.steps(dict.entries.size() / 8));
  for (const auto& [name, value] : dict.entries) {
    if (name.is_string()) continue;
    PELLUCID_TRY(const bool same, equal(runtime, name, key));
    if (same) return &value;
  }
  return nullptr;
}

Result<void> assign(Runtime& runtime, std::vector<Entry>& entries, const Value& key,
                    const Value& value) {
  const bool valid =
      key.is_string() || key.is_number() || key.is(Kind::kUint) || key.is(Kind::kNone);
  if (!valid) return wrong("dict key", key.type_name(), "a string, number or none");
  PELLUCID_TRY_VOID(runtime.steps(entries.size() / 8 + 1));
  for (auto& [name, old] : entries) {
    if (name.is_string() != key.is_string()) continue;
    PELLUCID_TRY(const bool same, equal(runtime, name, key));
    if (!same) continue;
    old = value;
    return {};
  }
  entries.emplace_back(key, value);
  return {};
}

}  // namespace pellucid::tokenizer::jinja
