#include "tokenizer/jinja/methods.h"

#include <algorithm>
#include <array>

#include "tokenizer/jinja/operators.h"

namespace pellucid::tokenizer::jinja {
namespace {

/// The keys, values or pairs of a dict; `part` makes one element.
template <class Part>
Result<Value> dict_view(Runtime& runtime, const Value& self, Flavor flavor, Part part) {
  const auto& entries = self.dict().entries;
  PELLUCID_TRY_VOID(runtime.steps(entries.size()));
  PELLUCID_TRY_VOID(runtime.memory(entries.size(), sizeof(Value)));
  std::vector<Value> items;
  items.reserve(entries.size());
  for (const Entry& entry : entries) {
    PELLUCID_TRY(auto item, part(entry));
    items.push_back(std::move(item));
  }
  return runtime.sequence(flavor, std::move(items));
}

Result<Value> dict_items(Runtime& runtime, const Value& self, const Arguments& arguments) {
  PELLUCID_TRY_VOID(bind("items", arguments, {}));
  return dict_view(runtime, self, Flavor::kDictItems, [&](const Entry& entry) {
    return runtime.sequence(Flavor::kTuple, {entry.first, entry.second});
  });
}

Result<Value> dict_keys(Runtime& runtime, const Value& self, const Arguments& arguments) {
  PELLUCID_TRY_VOID(bind("keys", arguments, {}));
  return dict_view(runtime, self, Flavor::kDictKeys,
                   [](const Entry& entry) -> Result<Value> { return entry.first; });
}

Result<Value> dict_values(Runtime& runtime, const Value& self, const Arguments& arguments) {
  PELLUCID_TRY_VOID(bind("values", arguments, {}));
  return dict_view(runtime, self, Flavor::kDictValues,
                   [](const Entry& entry) -> Result<Value> { return entry.second; });
}

Result<Value> dict_get(Runtime& runtime, const Value& self, const Arguments& arguments) {
  if (!arguments.keywords.empty()) return wrong("get", "keyword arguments", "positional ones");
  PELLUCID_TRY(const auto bound, bind("get", arguments, {"key", "default"}, 1));
  PELLUCID_TRY(const Value* value, lookup(runtime, self.dict(), *bound[0]));
  if (value != nullptr) return *value;
  return bound[1] == nullptr ? Value::none() : *bound[1];
}

Result<Value> copy(Runtime& runtime, const Value& self, const Arguments& arguments) {
  PELLUCID_TRY_VOID(bind("copy", arguments, {}));
  PELLUCID_TRY_VOID(runtime.steps(1));
  return self;  // immutable: the same object serves
}

Result<Value> list_count(Runtime& runtime, const Value& self, const Arguments& arguments) {
  PELLUCID_TRY(const auto bound, bind("count", arguments, {"value"}, 1));
  std::int64_t count = 0;
  for (const Value& item : self.sequence().items) {
    PELLUCID_TRY_VOID(runtime.steps(1));
    PELLUCID_TRY(const bool same, equal(runtime, item, *bound[0]));
    if (same) ++count;
  }
  return Value::integer(count);
}

Result<Value> list_index(Runtime& runtime, const Value& self, const Arguments& arguments) {
  PELLUCID_TRY(const auto bound, bind("index", arguments, {"value"}, 1));
  const auto& items = self.sequence().items;
  for (std::size_t i = 0; i < items.size(); ++i) {
    PELLUCID_TRY_VOID(runtime.steps(1));
    PELLUCID_TRY(const bool same, equal(runtime, items[i], *bound[0]));
    if (same) return Value::integer(static_cast<std::int64_t>(i));
  }
  return wrong("index", "no such item", "an item of the list");
}

Result<Value> loop_cycle(Runtime& runtime, const Value& self, const Arguments& arguments) {
  PELLUCID_TRY_VOID(runtime.steps(1));
  if (arguments.positional.empty() || !arguments.keywords.empty()) {
    return wrong("loop.cycle", "no values", "positional arguments");
  }
  return arguments.positional[self.loop().index % arguments.positional.size()];
}

// Sorted by name: the entries of one name stand together.
constexpr auto kMethods = std::to_array<MethodEntry>({
    {"append", Kind::kSequence, nullptr},
    {"capitalize", Kind::kString, string_capitalize},
    {"clear", Kind::kDict, nullptr},
    {"clear", Kind::kSequence, nullptr},
    {"copy", Kind::kDict, copy},
    {"copy", Kind::kSequence, copy},
    {"count", Kind::kSequence, list_count},
    {"count", Kind::kString, string_count},
    {"cycle", Kind::kLoop, loop_cycle},
    {"endswith", Kind::kString, string_endswith},
    {"extend", Kind::kSequence, nullptr},
    {"find", Kind::kString, string_find},
    {"get", Kind::kDict, dict_get},
    {"index", Kind::kSequence, list_index},
    {"index", Kind::kString, string_index},
    {"insert", Kind::kSequence, nullptr},
    {"isalnum", Kind::kString, string_isalnum},
    {"isalpha", Kind::kString, string_isalpha},
    {"isdigit", Kind::kString, string_isdigit},
    {"isspace", Kind::kString, string_isspace},
    {"items", Kind::kDict, dict_items},
    {"join", Kind::kString, string_join},
    {"keys", Kind::kDict, dict_keys},
    {"lower", Kind::kString, string_lower},
    {"lstrip", Kind::kString, string_lstrip},
    {"partition", Kind::kString, string_partition},
    {"pop", Kind::kDict, nullptr},
    {"pop", Kind::kSequence, nullptr},
    {"popitem", Kind::kDict, nullptr},
    {"remove", Kind::kSequence, nullptr},
    {"removeprefix", Kind::kString, string_removeprefix},
    {"removesuffix", Kind::kString, string_removesuffix},
    {"replace", Kind::kString, string_replace},
    {"reverse", Kind::kSequence, nullptr},
    {"rfind", Kind::kString, string_rfind},
    {"rpartition", Kind::kString, string_rpartition},
    {"rsplit", Kind::kString, string_rsplit},
    {"rstrip", Kind::kString, string_rstrip},
    {"setdefault", Kind::kDict, nullptr},
    {"sort", Kind::kSequence, nullptr},
    {"split", Kind::kString, string_split},
    {"splitlines", Kind::kString, string_splitlines},
    {"startswith", Kind::kString, string_startswith},
    {"strip", Kind::kString, string_strip},
    {"title", Kind::kString, string_title},
    {"update", Kind::kDict, nullptr},
    {"upper", Kind::kString, string_upper},
    {"values", Kind::kDict, dict_values},
});
static_assert(std::ranges::is_sorted(kMethods, {}, &MethodEntry::name));

}  // namespace

std::uint32_t find_method(std::string_view name) {
  const auto* at = std::ranges::lower_bound(kMethods, name, {}, &MethodEntry::name);
  if (at == kMethods.end() || at->name != name) return 0;
  return static_cast<std::uint32_t>(at - kMethods.begin()) + 1;
}

const MethodEntry* method_of(const Value& object, std::uint32_t number) {
  if (number == 0) return nullptr;
  const bool plain = !object.is(Kind::kSequence) || object.sequence().indexable();
  const std::string_view name = kMethods[number - 1].name;
  for (std::size_t i = number - 1; i < kMethods.size() && kMethods[i].name == name; ++i) {
    if (plain && kMethods[i].kind == object.kind()) return &kMethods[i];
  }
  return nullptr;
}

}  // namespace pellucid::tokenizer::jinja
