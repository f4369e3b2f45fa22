#pragma once
// Reads the members of one JSON object with their rules, and remembers which were read, so that
// what is left over can be listed. A wrong type or a value out of range is an error whose rule is
// "config.KEY": nothing is converted, clamped or replaced by a default.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/json.h"

namespace pellucid::checkpoint {

struct IntRange {
  std::int64_t min;
  std::int64_t max;
};

/// Open at min, closed at max.
struct RealRange {
  double above;
  double max;
};

class KeyReader {
 public:
  /// `prefix` ("rope_parameters.") is put before keys in errors and unread keys.
  KeyReader(const json::Object& object, std::string prefix, std::string_view source);

  /// The value, marked as read; null when the key is absent or its value is null.
  const json::Value* take(std::string_view key);

  Expected<std::int64_t> integer(std::string_view key, IntRange range);
  Expected<std::optional<std::int64_t>> optional_integer(std::string_view key, IntRange range);
  Expected<double> real(std::string_view key, RealRange range);
  Expected<std::optional<double>> optional_real(std::string_view key, RealRange range);
  Expected<bool> boolean(std::string_view key);
  Expected<std::optional<bool>> optional_boolean(std::string_view key);
  Expected<std::optional<std::string>> optional_string(std::string_view key);
  /// Null when absent or null.
  Expected<const json::Object*> optional_object(std::string_view key);
  Expected<std::optional<std::vector<std::string>>> optional_strings(std::string_view key);

  /// An error about `key`, rule "config.PREFIXkey".
  [[nodiscard]] std::unexpected<Error> refuse(std::string_view key, std::string found,
                                              std::string expected,
                                              ErrorKind kind = ErrorKind::kInvalid) const;
  /// Keys that nothing took, with prefix, in the order of the text.
  [[nodiscard]] std::vector<std::string> unread() const;

 private:
  [[nodiscard]] std::unexpected<Error> absent(std::string_view key) const;

  const json::Object& object_;
  std::vector<bool> read_;
  std::string prefix_;
  std::string_view source_;
};

}  // namespace pellucid::checkpoint
