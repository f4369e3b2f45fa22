#pragma once
// Typed members of the JSON objects of tokenizer files, with errors that name the key.
// Rule of all: "tokenizer_json".

#include <initializer_list>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/json.h"

namespace pellucid::tokenizer {

/// An object of a file and its path in it ("model", "pre_tokenizer.pretokenizers[0]").
class JsonFields {
 public:
  [[nodiscard]] static Expected<JsonFields> of(const json::Value& value, std::string path,
                                               std::string_view source);

  [[nodiscard]] const json::Value* find(std::string_view key) const { return value_->find(key); }
  /// Whether the key is absent or null.
  [[nodiscard]] bool is_null(std::string_view key) const;
  [[nodiscard]] Expected<const json::Value*> require(std::string_view key, json::Type type) const;
  [[nodiscard]] Expected<bool> boolean_or(std::string_view key, bool absent) const;
  [[nodiscard]] Expected<std::string_view> string(std::string_view key) const;
  /// The member as an object; its path is ours and the key.
  [[nodiscard]] Expected<JsonFields> object(std::string_view key) const;
  /// An error unless all keys are among `known`: a setting that is not read must not pass.
  [[nodiscard]] Expected<void> only(std::initializer_list<std::string_view> known) const;

  /// "tokenizer_unsupported": the key has a value that this program does not handle.
  [[nodiscard]] std::unexpected<Error> unsupported(std::string_view key,
                                                   std::string expected) const;
  [[nodiscard]] std::string path_of(std::string_view key) const;
  [[nodiscard]] const std::string& source() const { return source_; }

 private:
  JsonFields(const json::Value& value, std::string path, std::string_view source)
      : value_(&value), path_(std::move(path)), source_(source) {}
  const json::Value* value_;
  std::string path_;
  std::string source_;
};

}  // namespace pellucid::tokenizer
