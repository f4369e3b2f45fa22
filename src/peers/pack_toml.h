#pragma once
// Typed access to one table of a pack file. Every key that is read is ticked off; finish() refuses
// what is left, so a misspelt key cannot be ignored. The first error is kept and given at the end.

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "config/toml.h"
#include "peers/condition.h"
#include "peers/date.h"

namespace pellucid::peers {

class TableReader {
 public:
  TableReader(const toml::table& table, std::string_view file, std::string object)
      : table_(table), file_(file), object_(std::move(object)) {}

  [[nodiscard]] std::string text(std::string_view key);           ///< "" if absent
  [[nodiscard]] std::string required_text(std::string_view key);  ///< an error if absent or empty
  [[nodiscard]] std::optional<std::string> optional_text(std::string_view key);
  [[nodiscard]] bool flag(std::string_view key);  ///< false if absent
  [[nodiscard]] std::vector<std::string> texts(std::string_view key);
  [[nodiscard]] std::vector<std::int64_t> integers(std::string_view key);
  [[nodiscard]] std::vector<DateRange> dates(std::string_view key);
  [[nodiscard]] std::vector<Condition> conditions(std::string_view key);
  [[nodiscard]] const toml::table* table(std::string_view key);

  void fail_with(std::string_view rule, std::string_view found, std::string_view expected);
  [[nodiscard]] Expected<void> finish();

 private:
  const toml::node* take(std::string_view key);

  const toml::table& table_;
  std::string_view file_;
  std::string object_;
  std::set<std::string, std::less<>> read_;
  std::optional<Error> error_;
};

}  // namespace pellucid::peers
