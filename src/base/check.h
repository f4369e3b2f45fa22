#pragma once
// Broken invariants. A CHECK that fails is a bug of this program, never of its input: it stays on
// in release builds, says where and what, and aborts.

namespace pellucid {
[[noreturn]] void check_failed(const char* file, int line, const char* condition);
}  // namespace pellucid

#define PELLUCID_CHECK(condition)                      \
  (static_cast<bool>(condition) ? static_cast<void>(0) \
                                : ::pellucid::check_failed(__FILE__, __LINE__, #condition))
