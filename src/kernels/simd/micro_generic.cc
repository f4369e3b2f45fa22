#include <cstring>

#include "kernels/simd/micro.h"
#include "numerics/numbers.h"

namespace pellucid::kernels::simd {
namespace {

#include "kernels/simd/f32x8_generic.h"
#include "kernels/simd/micro_body.h"

}  // namespace

const MicroKernels& generic_micro() {
  return kMicroKernels;
}

}  // namespace pellucid::kernels::simd
