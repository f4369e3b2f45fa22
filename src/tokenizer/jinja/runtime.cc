#include "tokenizer/jinja/runtime.h"

#include <algorithm>

namespace pellucid::tokenizer::jinja {
namespace {

std::unexpected<Error> over_budget(std::string_view object, std::uint64_t limit) {
  return fail({.kind = ErrorKind::kLimit,
               .rule = "template_budget",
               .object = std::string(object),
               .found = "more",
               .expected = "at most " + std::to_string(limit)});
}

std::size_t count_code_points(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U;
  }));
}

}  // namespace

Runtime::~Runtime() {
  for (const Value& value : namespaces_) value.names().attributes.clear();
}

std::unexpected<Error> Runtime::out_of_steps() const {
  return over_budget("template steps", limits_.steps_max);
}

std::unexpected<Error> Runtime::out_of_memory() const {
  return over_budget("bytes made by the template", limits_.memory_bytes_max);
}

Result<void> Runtime::memory(std::uint64_t count, std::uint64_t bytes_each) {
  if (bytes_each != 0 && count > limits_.memory_bytes_max / bytes_each) return out_of_memory();
  return memory(count * bytes_each);
}

Result<std::uint32_t> Runtime::level_above(std::uint32_t depth) const {
  if (depth >= limits_.depth_max) return too_deep("value", limits_.depth_max);
  return depth + 1;
}

Result<Value> Runtime::string(std::string_view text) {
  PELLUCID_TRY_VOID(memory(text.size()));
  return adopt(std::string(text));
}

Result<Value> Runtime::adopt(std::string text) {
  PELLUCID_TRY_VOID(memory(sizeof(String)));
  auto* object = new String;
  Value value = Value::object(Kind::kString, object);
  object->text = std::move(text);
  object->length = count_code_points(object->text);
  return value;
}

Result<Value> Runtime::sequence(Flavor flavor, std::vector<Value> items) {
  std::uint32_t deepest = 0;
  for (const Value& item : items) deepest = std::max(deepest, item.depth());
  PELLUCID_TRY(const std::uint32_t depth, level_above(deepest));
  PELLUCID_TRY_VOID(memory(sizeof(Sequence) + items.size() * sizeof(Value)));
  auto* object = new Sequence;
  Value value = Value::object(Kind::kSequence, object);
  object->depth = depth;
  object->flavor = flavor;
  object->items = std::move(items);
  return value;
}

Result<Value> Runtime::dict(std::vector<Entry> entries) {
  std::uint32_t deepest = 0;
  for (const Entry& entry : entries) {
    deepest = std::max({deepest, entry.first.depth(), entry.second.depth()});
  }
  PELLUCID_TRY(const std::uint32_t depth, level_above(deepest));
  PELLUCID_TRY_VOID(memory(sizeof(Dict) + entries.size() * sizeof(Entry)));
  auto* object = new Dict;
  Value value = Value::object(Kind::kDict, object);
  object->depth = depth;
  object->entries = std::move(entries);
  return value;
}

Result<Value> Runtime::range(std::int64_t start, std::int64_t stop, std::int64_t step,
                             std::int64_t length) {
  PELLUCID_TRY_VOID(memory(sizeof(Range)));
  auto* object = new Range;
  Value value = Value::object(Kind::kRange, object);
  object->start = start;
  object->stop = stop;
  object->step = step;
  object->length = length;
  return value;
}

Result<Value> Runtime::make_namespace() {
  PELLUCID_TRY_VOID(memory(sizeof(Namespace)));
  Value value = Value::object(Kind::kNamespace, new Namespace);
  namespaces_.push_back(value);
  return value;
}

Result<Value> Runtime::method(const Value& self, Callable callable) {
  PELLUCID_TRY(const std::uint32_t depth, level_above(self.depth()));
  PELLUCID_TRY_VOID(memory(sizeof(BoundMethod)));
  auto* object = new BoundMethod;
  Value value = Value::object(Kind::kMethod, object);
  object->depth = depth;
  object->self = self;
  object->callable = callable;
  return value;
}

void TextBuilder::append(std::string_view text) {
  if (full_ || !runtime_.memory(text.size())) {
    full_ = true;
    return;
  }
  text_ += text;
}

void TextBuilder::repeat(std::string_view text, std::uint64_t count) {
  if (full_ || !runtime_.memory(count, text.size())) {
    full_ = true;
    return;
  }
  if (text.size() == 1) {
    text_.append(count, text[0]);
    return;
  }
  text_.reserve(text_.size() + count * text.size());
  for (std::uint64_t i = 0; i < count && !text.empty(); ++i) text_ += text;
}

Result<Value> TextBuilder::finish() {
  if (full_) return runtime_.out_of_memory();
  return runtime_.adopt(std::move(text_));
}

}  // namespace pellucid::tokenizer::jinja
