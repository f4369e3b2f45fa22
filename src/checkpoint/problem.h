#pragma once
// What is wrong with a checkpoint, collected instead of stopping at the first: an inspection shows
// all of it, opening a checkpoint refuses at the first of severity kError.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"

namespace pellucid::checkpoint {

enum class Severity {
  kNote,     ///< worth knowing; not a defect
  kWarning,  ///< loads, but something is not as it should be
  kError,    ///< loading is refused, or results would be wrong
};

[[nodiscard]] std::string_view severity_name(Severity severity);

struct Problem {
  Severity severity = Severity::kError;
  std::string tensor = {};  ///< full name, empty when no single tensor is at fault
  std::string place = {};   ///< "[4001, 18]" in the tensor, or empty
  Error error = {};         ///< rule, found, expected, file
};

/// Keeps the first kKeptPerRule problems of each rule and counts the others: one systematic defect
/// of a checkpoint has 100,000 instances.
class ProblemLog {
 public:
  static constexpr std::uint64_t kKeptPerRule = 10;  ///< of each severity

  /// `allow_nonfinite` lowers errors of kind kNumeric to warnings.
  explicit ProblemLog(bool allow_nonfinite = false) : allow_nonfinite_(allow_nonfinite) {}

  void add(Problem problem);

  [[nodiscard]] const std::vector<Problem>& problems() const { return problems_; }
  /// Number of problems of each rule, the dropped ones included.
  [[nodiscard]] const std::map<std::string, std::uint64_t>& counts() const { return counts_; }
  /// The first problem of severity kError, or null.
  [[nodiscard]] const Problem* first_error() const;

 private:
  bool allow_nonfinite_;
  std::vector<Problem> problems_;
  std::map<std::pair<std::string, Severity>, std::uint64_t> seen_;
  std::map<std::string, std::uint64_t> counts_;
};

}  // namespace pellucid::checkpoint
