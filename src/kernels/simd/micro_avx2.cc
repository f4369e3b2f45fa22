#include "kernels/simd/micro.h"

#if defined(__AVX2__) && defined(__FMA__) && defined(__F16C__)

#include <immintrin.h>

#include <cstring>

namespace pellucid::kernels::simd {
namespace {

#include "kernels/simd/f32x8_avx2.h"
#include "kernels/simd/micro_body.h"

}  // namespace

const MicroKernels* avx2_micro() {
  return &kMicroKernels;
}

}  // namespace pellucid::kernels::simd

#else

namespace pellucid::kernels::simd {

const MicroKernels* avx2_micro() {
  return nullptr;
}

}  // namespace pellucid::kernels::simd

#endif
