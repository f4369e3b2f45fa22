#include "tokenizer/jinja/attributes.h"
#include "tokenizer/jinja/filters.h"
#include "tokenizer/jinja/operators.h"
#include "tokenizer/jinja/predicates.h"
#include "tokenizer/jinja/text.h"

namespace pellucid::tokenizer::jinja {
namespace {

Result<Value> generator(Runtime& runtime, std::vector<Value> items) {
  return runtime.sequence(Flavor::kGenerator, std::move(items));
}

/// The arguments after the first `count`.
Arguments rest_of(const Arguments& arguments, std::size_t count) {
  Arguments rest;
  for (std::size_t i = count; i < arguments.positional.size(); ++i) {
    rest.positional.push_back(arguments.positional[i]);
  }
  rest.keywords = arguments.keywords;
  return rest;
}

/// select and reject: keeps the items for which the test named by argument `first` (truth without
/// one) gives `wanted`. With `by_attribute`, argument 0 is the attribute that is tested.
Result<Value> choose(Runtime& runtime, const Value& subject, const Arguments& arguments,
                     bool by_attribute, bool wanted) {
  const std::size_t first = by_attribute ? 1 : 0;
  if (arguments.positional.size() < first) return wrong("filter", "no attribute", "its name");
  const Test* test = nullptr;
  if (arguments.positional.size() > first) {
    const Value& name = arguments.positional[first];
    test = name.is_string() ? find_test(name.text()) : nullptr;
    if (test == nullptr) return wrong("test", "an unknown name", test_names());
  }
  const Arguments rest = rest_of(arguments, first + 1);
  std::vector<Value> kept;
  if (!subject.truth()) return generator(runtime, std::move(kept));
  PELLUCID_TRY(const Items items, iterate(runtime, subject));
  for (std::size_t i = 0; i < items.count; ++i) {
    PELLUCID_TRY_VOID(runtime.steps(1));
    Value item = items.at(i);
    Value tested = item;
    if (by_attribute) {
      PELLUCID_TRY(tested, attribute_path(runtime, item, arguments.positional[0]));
    }
    bool passes = tested.truth();
    if (test != nullptr) {
      PELLUCID_TRY(passes, test->predicate(runtime, tested, rest));
    }
    if (passes != wanted) continue;
    PELLUCID_TRY_VOID(runtime.memory(sizeof(Value)));
    kept.push_back(std::move(item));
  }
  return generator(runtime, std::move(kept));
}

/// map(attribute=..., default=...).
Result<Value> map_attribute(Runtime& runtime, const Value& subject, const Arguments& arguments) {
  PELLUCID_TRY(const auto bound, bind("map", arguments, {"attribute", "default"}, 1));
  const bool has_default = bound[1] != nullptr && !bound[1]->is(Kind::kNone);
  PELLUCID_TRY(auto items, collect(runtime, subject));
  for (Value& item : items) {
    PELLUCID_TRY(item, attribute_path(runtime, item, *bound[0]));
    if (has_default && item.is_undefined()) item = *bound[1];
  }
  return generator(runtime, std::move(items));
}

}  // namespace

Result<Value> filter_default(Runtime& runtime, const Value& subject, const Arguments& arguments) {
  PELLUCID_TRY(const auto bound, bind("default", arguments, {"default_value", "boolean"}));
  const bool falsy_too = bound[1] != nullptr && bound[1]->truth();
  if (!subject.is_undefined() && !(falsy_too && !subject.truth())) return subject;
  if (bound[0] != nullptr) return *bound[0];
  return runtime.string("");
}

Result<Value> filter_length(Runtime& runtime, const Value& subject, const Arguments& arguments) {
  PELLUCID_TRY_VOID(runtime.steps(1));
  PELLUCID_TRY_VOID(bind("length", arguments, {}));
  const auto count = [](std::size_t n) { return Value::integer(static_cast<std::int64_t>(n)); };
  switch (subject.kind()) {
    case Kind::kUndefined:
      return count(0);
    case Kind::kString:
      return count(subject.string().length);
    case Kind::kDict:
      return count(subject.dict().entries.size());
    case Kind::kRange:
      return Value::integer(subject.range().length);
    case Kind::kLoop:
      return count(subject.loop().length);
    case Kind::kSequence:
      if (subject.sequence().flavor == Flavor::kGenerator) break;
      return count(subject.sequence().items.size());
    default:
      break;
  }
  return wrong("length", subject.type_name(), "a string, list, dict or range");
}

Result<Value> filter_first(Runtime& runtime, const Value& subject, const Arguments& arguments) {
  PELLUCID_TRY_VOID(bind("first", arguments, {}));
  if (subject.is_string()) return item(runtime, subject, Value::integer(0));
  if (subject.is(Kind::kSequence) && subject.sequence().flavor == Flavor::kGenerator) {
    Sequence& sequence = subject.sequence();
    if (sequence.consumed == sequence.items.size()) return Value();
    return sequence.items[sequence.consumed++];
  }
  PELLUCID_TRY(const Items items, iterate(runtime, subject));
  return items.count == 0 ? Value() : items.at(0);
}

Result<Value> filter_last(Runtime& runtime, const Value& subject, const Arguments& arguments) {
  PELLUCID_TRY_VOID(bind("last", arguments, {}));
  if (subject.is_string()) return item(runtime, subject, Value::integer(-1));
  const bool one_way = subject.is_undefined() || (subject.is(Kind::kSequence) &&
                                                  subject.sequence().flavor == Flavor::kGenerator);
  if (one_way) return wrong("last", subject.type_name(), "a value that can be read backwards");
  PELLUCID_TRY(const Items items, iterate(runtime, subject));
  return items.count == 0 ? Value() : items.at(items.count - 1);
}

Result<Value> filter_list(Runtime& runtime, const Value& subject, const Arguments& arguments) {
  PELLUCID_TRY_VOID(bind("list", arguments, {}));
  PELLUCID_TRY(auto items, collect(runtime, subject));
  return runtime.list(std::move(items));
}

Result<Value> filter_items(Runtime& runtime, const Value& subject, const Arguments& arguments) {
  PELLUCID_TRY_VOID(bind("items", arguments, {}));
  if (subject.is_undefined()) return generator(runtime, {});
  if (!subject.is(Kind::kDict)) return wrong("items", subject.type_name(), "a dict");
  const auto& entries = subject.dict().entries;
  PELLUCID_TRY_VOID(runtime.steps(entries.size()));
  std::vector<Value> pairs;
  for (const Entry& entry : entries) {
    PELLUCID_TRY(auto pair, runtime.sequence(Flavor::kTuple, {entry.first, entry.second}));
    pairs.push_back(std::move(pair));
  }
  return generator(runtime, std::move(pairs));
}

Result<Value> filter_reverse(Runtime& runtime, const Value& subject, const Arguments& arguments) {
  PELLUCID_TRY_VOID(bind("reverse", arguments, {}));
  if (subject.is_string()) {
    const Value backwards = Value::integer(-1);
    return slice(runtime, subject, nullptr, nullptr, &backwards);
  }
  PELLUCID_TRY(auto items, collect(runtime, subject));
  return generator(runtime, std::vector<Value>(items.rbegin(), items.rend()));
}

Result<Value> filter_map(Runtime& runtime, const Value& subject, const Arguments& arguments) {
  if (!subject.truth()) return generator(runtime, {});
  if (arguments.positional.empty()) return map_attribute(runtime, subject, arguments);
  const Value& name = arguments.positional[0];
  const Filter* filter = name.is_string() ? find_filter(name.text()) : nullptr;
  if (filter == nullptr) return wrong("filter", "an unknown name", filter_names());
  const Arguments rest = rest_of(arguments, 1);
  PELLUCID_TRY(auto items, collect(runtime, subject));
  for (Value& item : items) {
    PELLUCID_TRY(item, filter->callable(runtime, item, rest));
  }
  return generator(runtime, std::move(items));
}

Result<Value> filter_select(Runtime& runtime, const Value& subject, const Arguments& arguments) {
  return choose(runtime, subject, arguments, false, true);
}

Result<Value> filter_reject(Runtime& runtime, const Value& subject, const Arguments& arguments) {
  return choose(runtime, subject, arguments, false, false);
}

Result<Value> filter_selectattr(Runtime& runtime, const Value& subject,
                                const Arguments& arguments) {
  return choose(runtime, subject, arguments, true, true);
}

Result<Value> filter_rejectattr(Runtime& runtime, const Value& subject,
                                const Arguments& arguments) {
  return choose(runtime, subject, arguments, true, false);
}

}  // namespace pellucid::tokenizer::jinja
