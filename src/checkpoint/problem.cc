#include "checkpoint/problem.h"

#include "base/check.h"

namespace pellucid::checkpoint {

std::string_view severity_name(Severity severity) {
  switch (severity) {
    case Severity::kNote:
      return "note";
    case Severity::kWarning:
      return "warning";
    case Severity::kError:
      return "error";
  }
  PELLUCID_CHECK(false && "unknown severity");
  __builtin_unreachable();
}

void ProblemLog::add(Problem problem) {
  if (allow_nonfinite_ && problem.error.kind == ErrorKind::kNumeric &&
      problem.severity == Severity::kError) {
    problem.severity = Severity::kWarning;
  }
  ++counts_[problem.error.rule];
  if (++seen_[{problem.error.rule, problem.severity}] > kKeptPerRule) return;
  problems_.push_back(std::move(problem));
}

const Problem* ProblemLog::first_error() const {
  for (const Problem& problem : problems_) {
    if (problem.severity == Severity::kError) return &problem;
  }
  return nullptr;
}

}  // namespace pellucid::checkpoint
