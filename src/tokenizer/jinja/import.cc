#include "tokenizer/jinja/import.h"

#include <array>
#include <utility>

#include "base/utf8.h"

namespace pellucid::tokenizer::jinja {
namespace {

constexpr auto kFunctions = std::to_array<std::pair<std::string_view, Function>>({
    {"range", Function::kRange},
    {"namespace", Function::kNamespace},
    {"dict", Function::kDict},
    {"raise_exception", Function::kRaiseException},
    {"strftime_now", Function::kStrftimeNow},
});

Result<Value> text_of(Runtime& runtime, std::string_view text) {
  if (!utf8::is_valid(text)) return wrong("variable", "invalid UTF-8", "UTF-8 text");
  return runtime.string(text);
}

class Importer {
 public:
  explicit Importer(Runtime& runtime) : runtime_(runtime) {}

  /// `level` bounds the recursion before a value exists whose depth Runtime could check.
  Result<Value> run(const json::Value& value, std::uint32_t level) {
    if (level > runtime_.limits().depth_max) {
      return too_deep("variable", runtime_.limits().depth_max);
    }
    switch (value.type()) {
      case json::Type::kNull:
        return Value::none();
      case json::Type::kBool:
        return Value::boolean(value.boolean());
      case json::Type::kInt:
        return Value::integer(value.integer());
      case json::Type::kUint:
        return Value::uinteger(value.uinteger());
      case json::Type::kDouble:
        return Value::floating(value.number());
      case json::Type::kString:
        return text_of(runtime_, value.string());
      case json::Type::kArray:
        return array(value.array(), level);
      case json::Type::kObject:
        return object(value.object(), level);
    }
    return Value();
  }

 private:
  Result<Value> array(const json::Array& array, std::uint32_t level) {
    std::vector<Value> items;
    items.reserve(array.size());
    for (const json::Value& element : array) {
      PELLUCID_TRY(auto item, run(element, level + 1));
      items.push_back(std::move(item));
    }
    return runtime_.list(std::move(items));
  }

  Result<Value> object(const json::Object& object, std::uint32_t level) {
    std::vector<Entry> entries;
    entries.reserve(object.size());
    for (const auto& [name, member] : object) {
      PELLUCID_TRY(auto key, text_of(runtime_, name));
      PELLUCID_TRY(auto value, run(member, level + 1));
      entries.emplace_back(std::move(key), std::move(value));
    }
    return runtime_.dict(std::move(entries));
  }

  Runtime& runtime_;
};

const json::Value* find_member(const json::Object& object, std::string_view name) {
  for (const auto& [key, value] : object) {
    if (key == name) return &value;
  }
  return nullptr;
}

}  // namespace

Result<Value> from_json(Runtime& runtime, const json::Value& value) {
  return Importer(runtime).run(value, 0);
}

Result<std::vector<Value>> globals(Runtime& runtime, const Program& program,
                                   const json::Value& variables, const json::Object& tokens) {
  if (!variables.is_object()) {
    return wrong("variables", json::type_name(variables.type()), "an object");
  }
  std::vector<Value> values;
  values.reserve(program.names.size());
  for (const Name& name : program.names) {
    PELLUCID_TRY_VOID(runtime.steps(variables.object().size() / 8));
    const json::Value* given = variables.find(name.text);
    if (given == nullptr) given = find_member(tokens, name.text);
    Value value;
    if (given != nullptr) {
      PELLUCID_TRY(value, from_json(runtime, *given));
    } else {
      for (const auto& [function, id] : kFunctions) {
        if (function == name.text) value = Value::function(id);
      }
    }
    values.push_back(std::move(value));
  }
  return values;
}

Result<std::vector<Value>> literals(Runtime& runtime, const Program& program) {
  std::vector<Value> values;
  values.reserve(program.literals.size());
  for (const Literal& literal : program.literals) {
    if (const auto* text = std::get_if<std::string>(&literal)) {
      PELLUCID_TRY(auto value, runtime.string(*text));
      values.push_back(std::move(value));
      continue;
    }
    Value value = Value::none();
    if (const auto* truth = std::get_if<bool>(&literal)) value = Value::boolean(*truth);
    if (const auto* integer = std::get_if<std::int64_t>(&literal)) value = Value::integer(*integer);
    if (const auto* number = std::get_if<double>(&literal)) value = Value::floating(*number);
    values.push_back(std::move(value));
  }
  return values;
}

}  // namespace pellucid::tokenizer::jinja
