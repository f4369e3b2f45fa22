// Filters that compare items. Text is compared without regard to case unless case_sensitive.
#include <algorithm>
#include <optional>

#include "tokenizer/jinja/attributes.h"
#include "tokenizer/jinja/filters.h"
#include "tokenizer/jinja/methods.h"
#include "tokenizer/jinja/operators.h"

namespace pellucid::tokenizer::jinja {
namespace {

struct Keyed {
  Value key;
  Value item;
};

struct KeyOptions {
  const Value* attribute = nullptr;
  bool case_sensitive = false;
};

KeyOptions key_options(const Value* case_sensitive, const Value* attribute) {
  KeyOptions options;
  options.case_sensitive = case_sensitive != nullptr && case_sensitive->truth();
  if (attribute != nullptr && !attribute->is(Kind::kNone)) options.attribute = attribute;
  return options;
}

Result<Value> key_of(Runtime& runtime, const Value& item, const KeyOptions& options) {
  Value key = item;
  if (options.attribute != nullptr) {
    PELLUCID_TRY(key, attribute_path(runtime, item, *options.attribute));
  }
  if (options.case_sensitive || !key.is_string()) return key;
  return string_lower(runtime, key, {});
}

Result<std::vector<Keyed>> keyed(Runtime& runtime, const Value& subject,
                                 const KeyOptions& options) {
  PELLUCID_TRY(const Items items, iterate(runtime, subject));
  PELLUCID_TRY_VOID(runtime.memory(items.count, sizeof(Keyed)));
  std::vector<Keyed> out;
  out.reserve(items.count);
  for (std::size_t i = 0; i < items.count; ++i) {
    PELLUCID_TRY_VOID(runtime.steps(1));
    PELLUCID_TRY(auto key, key_of(runtime, items.at(i), options));
    out.push_back({std::move(key), items.at(i)});
  }
  return out;
}

/// Stable, ascending or descending. Every comparison is paid for.
Result<void> sort_keyed(Runtime& runtime, std::vector<Keyed>& items, bool descending) {
  std::optional<Failure> failure;
  const auto before = [&](const Keyed& a, const Keyed& b) {
    if (failure) return false;
    auto result = runtime.steps(1);
    if (!result) {
      failure = std::move(result).error();
      return false;
    }
    auto order = descending ? less(runtime, b.key, a.key) : less(runtime, a.key, b.key);
    if (order) return *order;
    failure = std::move(order).error();
    return false;
  };
  std::ranges::stable_sort(items, before);
  if (failure) return std::unexpected<Failure>(*std::move(failure));
  return {};
}

Result<Value> items_of(Runtime& runtime, std::vector<Keyed>& sorted) {
  std::vector<Value> items;
  items.reserve(sorted.size());
  for (Keyed& entry : sorted) items.push_back(std::move(entry.item));
  return runtime.list(std::move(items));
}

/// The first item whose key no other is less (or greater) than.
Result<Value> extreme(Runtime& runtime, const Value& subject, const Arguments& arguments,
                      bool greatest) {
  PELLUCID_TRY(const auto bound,
               bind(greatest ? "max" : "min", arguments, {"case_sensitive", "attribute"}));
  PELLUCID_TRY(auto items, keyed(runtime, subject, key_options(bound[0], bound[1])));
  if (items.empty()) return Value();
  const Keyed* best = &items.front();
  for (const Keyed& entry : items) {
    PELLUCID_TRY(const bool better, greatest ? less(runtime, best->key, entry.key)
                                             : less(runtime, entry.key, best->key));
    if (better) best = &entry;
  }
  return best->item;
}

}  // namespace

Result<Value> filter_sort(Runtime& runtime, const Value& subject, const Arguments& arguments) {
  PELLUCID_TRY(const auto bound,
               bind("sort", arguments, {"reverse", "case_sensitive", "attribute"}));
  if (bound[2] != nullptr && bound[2]->is_string() &&
      bound[2]->text().find(',') != std::string_view::npos) {
    return wrong("sort", "several attributes", "one attribute");
  }
  PELLUCID_TRY(auto items, keyed(runtime, subject, key_options(bound[1], bound[2])));
  PELLUCID_TRY_VOID(sort_keyed(runtime, items, bound[0] != nullptr && bound[0]->truth()));
  return items_of(runtime, items);
}

Result<Value> filter_dictsort(Runtime& runtime, const Value& subject, const Arguments& arguments) {
  PELLUCID_TRY(const auto bound, bind("dictsort", arguments, {"case_sensitive", "by", "reverse"}));
  if (!subject.is(Kind::kDict)) return wrong("dictsort", subject.type_name(), "a dict");
  const std::string_view by =
      bound[1] != nullptr && bound[1]->is_string() ? bound[1]->text() : "key";
  if (by != "key" && by != "value") {
    return wrong("dictsort", "by '" + std::string(by) + "'", "key or value");
  }
  const Value part = Value::integer(by == "key" ? 0 : 1);
  PELLUCID_TRY(const Value pairs, filter_items(runtime, subject, {}));
  PELLUCID_TRY(auto items, keyed(runtime, pairs, key_options(bound[0], &part)));
  PELLUCID_TRY_VOID(sort_keyed(runtime, items, bound[2] != nullptr && bound[2]->truth()));
  return items_of(runtime, items);
}

Result<Value> filter_min(Runtime& runtime, const Value& subject, const Arguments& arguments) {
  return extreme(runtime, subject, arguments, false);
}

Result<Value> filter_max(Runtime& runtime, const Value& subject, const Arguments& arguments) {
  return extreme(runtime, subject, arguments, true);
}

/// The first of each group of equal items.
Result<Value> filter_unique(Runtime& runtime, const Value& subject, const Arguments& arguments) {
  PELLUCID_TRY(const auto bound, bind("unique", arguments, {"case_sensitive", "attribute"}));
  PELLUCID_TRY(auto items, keyed(runtime, subject, key_options(bound[0], bound[1])));
  std::vector<Entry> seen;
  std::vector<Value> kept;
  for (Keyed& entry : items) {
    const std::size_t before = seen.size();
    PELLUCID_TRY_VOID(assign(runtime, seen, entry.key, Value::none()));
    if (seen.size() > before) kept.push_back(std::move(entry.item));
  }
  return runtime.sequence(Flavor::kGenerator, std::move(kept));
}

}  // namespace pellucid::tokenizer::jinja
