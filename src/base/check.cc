#include "base/check.h"

#include <cstdio>
#include <cstdlib>

#if defined(__FAST_MATH__) || (defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__)
#error "pellucid needs IEEE semantics: finite-math flags hide NaN and infinity"
#endif

namespace pellucid {

void check_failed(const char* file, int line, const char* condition) {
  std::fprintf(stderr, "pellucid: internal error at %s:%d: %s does not hold\n", file, line,
               condition);
  std::abort();
}

}  // namespace pellucid
