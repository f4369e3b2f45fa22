#include "tokenizer/jinja/attributes.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "base/utf8.h"
#include "tokenizer/jinja/methods.h"
#include "tokenizer/jinja/operators.h"
#include "tokenizer/jinja/text.h"

namespace pellucid::tokenizer::jinja {
namespace {

std::unexpected<Error> of_undefined(const Value& object, std::string_view wanted) {
  const std::string* name = object.undefined_name();
  return wrong("attribute '" + std::string(wanted) + "'",
               "an undefined value" + (name ? " ('" + *name + "')" : std::string()),
               "a value that has it");
}

Value loop_attribute(const Loop& loop, const Name& name) {
  const auto count = [](std::size_t n) { return Value::integer(static_cast<std::int64_t>(n)); };
  const std::string_view key = name.text;
  if (key == "index") return count(loop.index + 1);
  if (key == "index0") return count(loop.index);
  if (key == "first") return Value::boolean(loop.index == 0);
  if (key == "last") return Value::boolean(loop.index + 1 == loop.length);
  if (key == "length") return count(loop.length);
  if (key == "revindex") return count(loop.length - loop.index);
  if (key == "revindex0") return count(loop.length - loop.index - 1);
  if (key == "depth") return count(1);
  if (key == "depth0") return count(0);
  if (key == "previtem" && loop.index > 0) return loop.item(loop.index - 1);
  if (key == "nextitem" && loop.index + 1 < loop.length) return loop.item(loop.index + 1);
  return Value::undefined(&name.text);
}

/// Index of a sequence of `length` items; nullopt when outside.
std::optional<std::size_t> position(std::int64_t index, std::size_t length) {
  const auto size = static_cast<std::int64_t>(length);
  if (index < 0) index += size;
  if (index < 0 || index >= size) return std::nullopt;
  return static_cast<std::size_t>(index);
}

Result<Value> character(Runtime& runtime, const String& string, std::size_t index) {
  PELLUCID_TRY_VOID(runtime.scan(string.ascii() ? 0 : string.text.size()));
  const std::size_t at = offset_of(string, index);
  const std::size_t length = utf8::decode(string.text, at).length;
  return runtime.string(std::string_view(string.text).substr(at, length));
}

/// The item at an index, without the fallback to attributes; nullopt when there is none.
Result<std::optional<Value>> plain_item(Runtime& runtime, const Value& object, const Value& index) {
  if (object.is(Kind::kDict)) {
    if (index.is(Kind::kSequence) || index.is(Kind::kDict)) return std::nullopt;
    PELLUCID_TRY(const Value* value, lookup(runtime, object.dict(), index));
    if (value == nullptr) return std::nullopt;
    return *value;
  }
  if (!index.is_integral()) return std::nullopt;
  if (object.is_string()) {
    const auto at = position(index.integer(), object.string().length);
    if (!at) return std::nullopt;
    PELLUCID_TRY(auto value, character(runtime, object.string(), *at));
    return value;
  }
  if (object.is(Kind::kSequence) && object.sequence().indexable()) {
    const auto at = position(index.integer(), object.sequence().items.size());
    if (!at) return std::nullopt;
    return object.sequence().items[*at];
  }
  if (object.is(Kind::kRange)) {
    const auto at = position(index.integer(), static_cast<std::size_t>(object.range().length));
    if (!at) return std::nullopt;
    return Value::integer(object.range().at(static_cast<std::int64_t>(*at)));
  }
  return std::nullopt;
}

/// A method, loop or namespace attribute; nullopt when there is none of that name.
Result<std::optional<Value>> plain_attribute(Runtime& runtime, const Value& object,
                                             const Name& name) {
  if (object.is(Kind::kLoop) && name.text != "cycle") return loop_attribute(object.loop(), name);
  if (object.is(Kind::kNamespace)) {
    PELLUCID_TRY_VOID(runtime.steps(object.names().attributes.size() / 8));
    const Value* value = object.names().find(name.text);
    if (value == nullptr) return std::nullopt;
    return *value;
  }
  const MethodEntry* method = method_of(object, name.method);
  if (method == nullptr) return std::nullopt;
  if (method->callable == nullptr) return Value::undefined(&name.text);
  PELLUCID_TRY(auto bound, runtime.method(object, method->callable));
  return bound;
}

struct Bounds {
  std::int64_t start;
  std::int64_t step;
  std::size_t count;
};

Result<std::optional<std::int64_t>> limit(const Value* value) {
  if (value == nullptr || value->is(Kind::kNone)) return std::nullopt;
  if (!value->is_integral()) return wrong("slice", value->type_name(), "integers or none");
  return value->integer();
}

/// Python's slice.indices for a sequence of `length` items.
Result<Bounds> slice_bounds(std::size_t length, const Value* start_value, const Value* stop_value,
                            const Value* step_value) {
  PELLUCID_TRY(const auto given_start, limit(start_value));
  PELLUCID_TRY(const auto given_stop, limit(stop_value));
  PELLUCID_TRY(const auto given_step, limit(step_value));
  const auto size = static_cast<std::int64_t>(length);
  // A longer stride than the sequence selects the same items, and negating it cannot overflow.
  const std::int64_t step = std::clamp(given_step.value_or(1), -size - 1, size + 1);
  if (given_step == 0) return wrong("slice", "step 0", "another step");
  const std::int64_t low = step > 0 ? 0 : -1;
  const std::int64_t high = step > 0 ? size : size - 1;
  const auto place = [&](std::optional<std::int64_t> at, std::int64_t otherwise) {
    if (!at) return otherwise;
    return std::clamp(*at < 0 ? *at + size : *at, low, high);
  };
  const std::int64_t start = place(given_start, step > 0 ? low : high);
  const std::int64_t stop = place(given_stop, step > 0 ? high : low);
  const std::int64_t span = step > 0 ? stop - start : start - stop;
  const std::int64_t stride = step > 0 ? step : -step;
  const std::int64_t count = span > 0 ? (span + stride - 1) / stride : 0;
  return Bounds{start, step, static_cast<std::size_t>(count)};
}

Result<Value> slice_string(Runtime& runtime, const String& string, const Bounds& bounds) {
  PELLUCID_TRY_VOID(runtime.scan(string.ascii() ? bounds.count : string.text.size()));
  const std::string_view text = string.text;
  if (bounds.step == 1) {
    const std::size_t first = offset_of(string, static_cast<std::size_t>(bounds.start));
    const auto stop = static_cast<std::size_t>(bounds.start) + bounds.count;
    const std::size_t last = bounds.count == 0 ? first : offset_of(string, stop);
    return runtime.string(text.substr(first, last - first));
  }
  PELLUCID_TRY_VOID(runtime.steps(string.length));
  PELLUCID_TRY_VOID(runtime.memory(string.length, sizeof(std::size_t)));
  std::vector<std::size_t> offsets;
  offsets.reserve(string.length);
  for (std::size_t i = 0; i < text.size(); i += utf8::decode(text, i).length) offsets.push_back(i);
  TextBuilder out(runtime);
  for (std::size_t i = 0; i < bounds.count; ++i) {
    const std::int64_t index = bounds.start + static_cast<std::int64_t>(i) * bounds.step;
    const std::size_t at = offsets[static_cast<std::size_t>(index)];
    out.append(text.substr(at, utf8::decode(text, at).length));
  }
  return out.finish();
}

}  // namespace

Result<Value> attribute(Runtime& runtime, const Value& object, const Name& name) {
  if (object.is_undefined()) return of_undefined(object, name.text);
  PELLUCID_TRY(auto found, plain_attribute(runtime, object, name));
  if (found) return *std::move(found);
  const bool internal = name.text.starts_with("__") && name.text.ends_with("__");
  if (!object.is(Kind::kDict) || internal) return Value::undefined(&name.text);
  PELLUCID_TRY(const Value* value, lookup(runtime, object.dict(), name.text));
  return value == nullptr ? Value::undefined(&name.text) : *value;
}

Result<Value> item(Runtime& runtime, const Value& object, const Value& index) {
  if (object.is_undefined()) return of_undefined(object, "[]");
  PELLUCID_TRY(auto found, plain_item(runtime, object, index));
  if (found) return *std::move(found);
  if (!index.is_string()) return Value();
  const Name name{std::string(index.text()), find_method(index.text())};
  PELLUCID_TRY(auto value, plain_attribute(runtime, object, name));
  // The name dies here: an undefined value must not point at it.
  if (!value || value->is_undefined()) return Value();
  return *std::move(value);
}

Result<Value> slice(Runtime& runtime, const Value& object, const Value* start, const Value* stop,
                    const Value* step) {
  if (object.is_undefined()) return of_undefined(object, "[:]");
  if (object.is_string()) {
    PELLUCID_TRY(const Bounds bounds, slice_bounds(object.string().length, start, stop, step));
    return slice_string(runtime, object.string(), bounds);
  }
  if (object.is(Kind::kRange)) {
    const Range& range = object.range();
    PELLUCID_TRY(const Bounds bounds,
                 slice_bounds(static_cast<std::size_t>(range.length), start, stop, step));
    PELLUCID_TRY(const std::int64_t stride, multiply(range.step, bounds.step));
    const auto count = static_cast<std::int64_t>(bounds.count);
    const std::int64_t end = range.at(bounds.start + count * bounds.step);
    return runtime.range(range.at(bounds.start), end, stride, count);
  }
  if (!object.is(Kind::kSequence) || !object.sequence().indexable()) return Value();
  const auto& source = object.sequence().items;
  PELLUCID_TRY(const Bounds bounds, slice_bounds(source.size(), start, stop, step));
  PELLUCID_TRY_VOID(runtime.steps(bounds.count / 8));
  PELLUCID_TRY_VOID(runtime.memory(bounds.count, sizeof(Value)));
  std::vector<Value> items;
  items.reserve(bounds.count);
  for (std::size_t i = 0; i < bounds.count; ++i) {
    const std::int64_t index = bounds.start + static_cast<std::int64_t>(i) * bounds.step;
    items.push_back(source[static_cast<std::size_t>(index)]);
  }
  return runtime.sequence(object.sequence().flavor, std::move(items));
}

Result<Value> attribute_path(Runtime& runtime, const Value& object, const Value& path) {
  if (path.is(Kind::kInt)) return item(runtime, object, path);
  if (!path.is_string()) return wrong("attribute", path.type_name(), "a str or an int");
  Value value = object;
  const std::string_view text = path.text();
  for (std::size_t start = 0; start <= text.size();) {
    const std::size_t end = std::min(text.find('.', start), text.size());
    const std::string_view part = text.substr(start, end - start);
    std::int64_t number = 0;
    const auto parsed = std::from_chars(part.data(), part.data() + part.size(), number);
    const bool is_index = !part.empty() && part[0] != '-' && parsed.ec == std::errc() &&
                          parsed.ptr == part.data() + part.size();
    Value key = Value::integer(number);
    if (!is_index) {
      PELLUCID_TRY(key, runtime.string(part));
    }
    PELLUCID_TRY(value, item(runtime, value, key));
    start = end + 1;
  }
  return value;
}

}  // namespace pellucid::tokenizer::jinja
