#pragma once
// Philox4x32-10, the counter-based generator of Salmon et al., "Parallel random numbers: as easy as
// 1, 2, 3" (SC 2011). A pure function of key and counter: draw n of seed s is the same on every
// machine, whatever was drawn before.

#include <array>
#include <cstdint>

namespace pellucid::sampler {

[[nodiscard]] std::array<std::uint32_t, 4> philox4x32(std::array<std::uint32_t, 4> counter,
                                                      std::array<std::uint32_t, 2> key);

/// Draw `index` of `seed`: uniform in [0, 1), a multiple of 2^-53.
[[nodiscard]] double uniform_draw(std::uint64_t seed, std::uint64_t index);

}  // namespace pellucid::sampler
