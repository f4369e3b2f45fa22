#pragma once
// Errors as values. Every function that can fail for a reason outside the program returns
// Expected<T>. An Error names the object, what was found, what was expected, the file or setting
// at fault, and how to fix it, so that one printed line is enough to act on.
//
// Broken invariants are not errors: they are CHECKs (base/check.h).

#include <expected>
#include <string>
#include <utility>

namespace pellucid {

enum class ErrorKind {
  kInvalid,      ///< the input breaks a rule of its format
  kUnsupported,  ///< the input is well formed, and this program does not handle it
  kNotFound,     ///< a file, tensor, key or setting is absent
  kIo,           ///< the operating system refused or failed
  kLimit,        ///< the input exceeds a stated limit
  kNumeric,      ///< a value is not finite where the contract says finite
};

struct Error {
  ErrorKind kind = ErrorKind::kInvalid;
  std::string rule = {};      ///< short stable id, snake_case: "header_len", "json_depth"
  std::string object = {};    ///< what is wrong: a tensor, a key, a file, a setting
  std::string found = {};     ///< what was there
  std::string expected = {};  ///< what the rule asks for
  std::string source = {};    ///< file (and place in it) or setting at fault
  std::string fix = {};       ///< what the user can do; empty when the other fields already say it

  /// One line: "source: object: found X, expected Y [rule]; fix".
  [[nodiscard]] std::string to_string() const;
};

template <class T>
using Expected = std::expected<T, Error>;

/// Shorthand for `return fail({.rule = ..., .object = ...});`.
[[nodiscard]] inline std::unexpected<Error> fail(Error error) {
  return std::unexpected<Error>(std::move(error));
}

}  // namespace pellucid

#define PELLUCID_CONCAT_INNER(a, b) a##b
#define PELLUCID_CONCAT(a, b) PELLUCID_CONCAT_INNER(a, b)

/// Evaluates `expr` (an Expected<T>); on error returns it from this function, else initialises
/// `decl` with the value: PELLUCID_TRY(auto file, MappedFile::open(path));
#define PELLUCID_TRY(decl, expr) \
  PELLUCID_TRY_INNER(PELLUCID_CONCAT(pellucid_try_, __LINE__), decl, expr)
#define PELLUCID_TRY_INNER(result, decl, expr)                                       \
  auto result = (expr);                                                              \
  if (!result) return std::unexpected<::pellucid::Error>(std::move(result).error()); \
  decl = *std::move(result)

/// Evaluates `expr` (an Expected<void>); on error returns it from this function.
#define PELLUCID_TRY_VOID(expr)                                                        \
  do {                                                                                 \
    auto pellucid_try_void = (expr);                                                   \
    if (!pellucid_try_void)                                                            \
      return std::unexpected<::pellucid::Error>(std::move(pellucid_try_void).error()); \
  } while (false)
