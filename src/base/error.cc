#include "base/error.h"

namespace pellucid {

std::string Error::to_string() const {
  std::string out;
  if (!source.empty()) out += source + ": ";
  out += object;
  if (!found.empty()) out += ": found " + found;
  if (!expected.empty()) out += (found.empty() ? ": expected " : ", expected ") + expected;
  if (!rule.empty()) out += " [" + rule + "]";
  if (!fix.empty()) out += "; " + fix;
  return out;
}

}  // namespace pellucid
