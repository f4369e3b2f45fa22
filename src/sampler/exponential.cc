#include "sampler/exponential.h"

#include <bit>
#include <cstdint>

namespace pellucid::sampler {

double exponential(double x) {
  if (x < -708.0) return 0.0;
  // x = n ln2 + r, |r| <= ln2 / 2. The high part of ln2 has 32 bits, so n * kLn2High is exact.
  constexpr double kLog2E = 0x1.71547652b82fep+0;
  constexpr double kLn2High = 0x1.62e42feep-1;
  constexpr double kLn2Low = 0x1.a39ef35793c76p-33;
  // Adding and taking away 1.5 * 2^52 rounds to the nearest integer.
  constexpr double kRoundShift = 0x1.8p52;
  const double n = (x * kLog2E + kRoundShift) - kRoundShift;
  const double r = (x - n * kLn2High) - n * kLn2Low;
  // Taylor to r^13: the next term is below 0.347^14 / 14! = 4e-18.
  double sum = 1.0;
  for (int k = 13; k >= 1; --k) sum = 1.0 + r * sum / k;
  const auto exponent = static_cast<std::uint64_t>(static_cast<std::int64_t>(n) + 1023);
  return sum * std::bit_cast<double>(exponent << 52);
}

}  // namespace pellucid::sampler
