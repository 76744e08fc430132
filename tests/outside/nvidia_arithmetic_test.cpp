// SPDX-License-Identifier: Apache-2.0
//
// PTX's 16-bit add, sub, mul, min and max against what NVIDIA's headers compute on the host for
// GPUs without the instruction: all 2^32 pairs of operands, or a slice. A pattern's upper half is
// a, its lower half b. No GPU and no nvcc, only the CUDA include folder.
#include "emulate/ptx_scalar.h"
#include "tests/outside/patterns.h"

#if __has_include(<cuda_fp16.h>) && __has_include(<cuda_bf16.h>)
#include <cuda_bf16.h>
#include <cuda_fp16.h>

namespace {

using namespace binade;

template <__half (*function)(__half, __half)>
void halves(const std::uint32_t* patterns, std::uint64_t* bits, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) {
    const __half a = __half_raw{static_cast<unsigned short>(patterns[i] >> 16)};
    const __half b = __half_raw{static_cast<unsigned short>(patterns[i])};
    bits[i] = static_cast<__half_raw>(function(a, b)).x;
  }
}

template <__nv_bfloat16 (*function)(__nv_bfloat16, __nv_bfloat16)>
void bfloats(const std::uint32_t* patterns, std::uint64_t* bits, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) {
    const __nv_bfloat16 a = __nv_bfloat16_raw{static_cast<unsigned short>(patterns[i] >> 16)};
    const __nv_bfloat16 b = __nv_bfloat16_raw{static_cast<unsigned short>(patterns[i])};
    bits[i] = static_cast<__nv_bfloat16_raw>(function(a, b)).x;
  }
}

/// The headers' __hmin_nan and __hmax_nan of bfloat16 return the first of +0 and -0 (CUDA 13.0),
/// although the headers document +0 > -0, and their __hmin and __hmax, of binary16 too, follow
/// that. This function takes the result for two zeros from the latter.
template <__nv_bfloat16 (*with_nan)(__nv_bfloat16, __nv_bfloat16),
          __nv_bfloat16 (*without)(__nv_bfloat16, __nv_bfloat16)>
__nv_bfloat16 zeros_mended(__nv_bfloat16 a, __nv_bfloat16 b) {
  const bool zeros = __bfloat162float(a) == 0 && __bfloat162float(b) == 0;
  return zeros ? without(a, b) : with_nan(a, b);
}

struct Name {
  char text[16];
};

template <Name name>
void emulated(const std::uint32_t* patterns, std::uint64_t* bits, std::size_t n) {
  constexpr PtxScalar instruction = *find_ptx_scalar(name.text);
  for (std::size_t i = 0; i < n; ++i) {
    bits[i] = compute(instruction, {patterns[i] >> 16, patterns[i] & 0xFFFF, 0});
  }
}

}  // namespace

int main(int argc, char** argv) {
  outside::Comparison comparison(outside::options_of(argc, argv));
  const auto f16 = [&](const char* name, outside::Converter ours, outside::Converter theirs) {
    comparison.run({name, binary16, ours, theirs});
  };
  const auto bf16 = [&](const char* name, outside::Converter ours, outside::Converter theirs) {
    comparison.run({name, bfloat16, ours, theirs});
  };
  f16("add.f16 and __hadd", emulated<Name{"add.f16"}>, halves<__hadd>);
  f16("sub.f16 and __hsub", emulated<Name{"sub.f16"}>, halves<__hsub>);
  f16("mul.f16 and __hmul", emulated<Name{"mul.f16"}>, halves<__hmul>);
  f16("add.sat.f16 and __hadd_sat", emulated<Name{"add.sat.f16"}>, halves<__hadd_sat>);
  f16("sub.sat.f16 and __hsub_sat", emulated<Name{"sub.sat.f16"}>, halves<__hsub_sat>);
  f16("mul.sat.f16 and __hmul_sat", emulated<Name{"mul.sat.f16"}>, halves<__hmul_sat>);
  f16("min.f16 and __hmin", emulated<Name{"min.f16"}>, halves<__hmin>);
  f16("max.f16 and __hmax", emulated<Name{"max.f16"}>, halves<__hmax>);
  f16("min.NaN.f16 and __hmin_nan", emulated<Name{"min.NaN.f16"}>, halves<__hmin_nan>);
  f16("max.NaN.f16 and __hmax_nan", emulated<Name{"max.NaN.f16"}>, halves<__hmax_nan>);
  bf16("add.bf16 and __hadd", emulated<Name{"add.bf16"}>, bfloats<__hadd>);
  bf16("sub.bf16 and __hsub", emulated<Name{"sub.bf16"}>, bfloats<__hsub>);
  bf16("mul.bf16 and __hmul", emulated<Name{"mul.bf16"}>, bfloats<__hmul>);
  bf16("min.bf16 and __hmin", emulated<Name{"min.bf16"}>, bfloats<__hmin>);
  bf16("max.bf16 and __hmax", emulated<Name{"max.bf16"}>, bfloats<__hmax>);
  bf16("min.NaN.bf16 and __hmin_nan", emulated<Name{"min.NaN.bf16"}>,
       bfloats<zeros_mended<__hmin_nan, __hmin>>);
  bf16("max.NaN.bf16 and __hmax_nan", emulated<Name{"max.NaN.bf16"}>,
       bfloats<zeros_mended<__hmax_nan, __hmax>>);
  return comparison.exit_status();
}

#else
int main() { return binade::outside::skip("no cuda_fp16.h and cuda_bf16.h"); }
#endif
