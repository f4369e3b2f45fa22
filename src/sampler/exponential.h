#pragma once
// e^x by IEEE additions and multiplications alone. The exponentials of C libraries differ in the
// last bit, and one bit can move a draw to another token; with this one a seed gives the same
// tokens on every machine.

namespace pellucid::sampler {

/// e^x for x <= 0 within 2 ulp; 0 below -708 (results under 2^-1021) and for -inf. x is not NaN.
[[nodiscard]] double exponential(double x);

}  // namespace pellucid::sampler
