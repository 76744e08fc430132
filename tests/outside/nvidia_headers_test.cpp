// SPDX-License-Identifier: Apache-2.0
//
// NVIDIA's conversion headers, compiled for the host: the vendor's own statement of what its
// conversions give. Where PTX has the conversion, the emulator's side is the instruction of that
// name. nvidia_cvt_test has packed forms and conversions to wider types. This needs no GPU and no
// nvcc, only the CUDA include folder.
#include <bit>

#include "tests/outside/cvt_by_name.h"
#include "tests/outside/patterns.h"

#if __has_include(<cuda_fp8.h>)
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#if __has_include(<cuda_fp6.h>) && __has_include(<cuda_fp4.h>)
#include <cuda_fp4.h>
#include <cuda_fp6.h>
#define BINADE_HAS_FP6 1
#endif

namespace {

using namespace binade;
using outside::Comparison;
using outside::cvt;
using outside::each;
using outside::emulated;

constexpr Attributes nearest{.nan = NanResult::nvidia};

template <__half (*convert)(float)>
std::uint64_t half_bits(float x) {
  return static_cast<__half_raw>(convert(x)).x;
}
template <__nv_bfloat16 (*convert)(float)>
std::uint64_t bfloat16_bits(float x) {
  return static_cast<__nv_bfloat16_raw>(convert(x)).x;
}
template <__nv_saturation_t saturation, __nv_fp8_interpretation_t kind>
std::uint64_t fp8_bits(float x) {
  return __nv_cvt_float_to_fp8(x, saturation, kind);
}

/// Compares conversions of doubles (double_of). FP8 has conversions of its own, in which NaNs keep
/// their sign.
template <__nv_saturation_t saturation, __nv_fp8_interpretation_t kind>
void fp8_of_doubles(const std::uint32_t* patterns, std::uint64_t* bits, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) {
    const auto x = std::bit_cast<double>(outside::double_of(patterns[i]));
    bits[i] = __nv_cvt_double_to_fp8(x, saturation, kind);
  }
}
template <Format format, Attributes attributes>
void emulated_of_doubles(const std::uint32_t* patterns, std::uint64_t* bits, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) {
    bits[i] = convert(outside::double_of(patterns[i]), binary64, format, attributes).bits;
  }
}
constexpr Attributes saturated{.saturation = Saturation::finite, .nan = NanResult::nvidia};

void run_fp8_of_doubles(Comparison& comparison) {
  comparison.run({"__nv_cvt_double_to_fp8 SATFINITE E4M3", e4m3,
                  emulated_of_doubles<e4m3, saturated>, fp8_of_doubles<__NV_SATFINITE, __NV_E4M3>});
  comparison.run({"__nv_cvt_double_to_fp8 NOSAT E4M3", e4m3, emulated_of_doubles<e4m3, nearest>,
                  fp8_of_doubles<__NV_NOSAT, __NV_E4M3>});
  comparison.run({"__nv_cvt_double_to_fp8 SATFINITE E5M2", e5m2,
                  emulated_of_doubles<e5m2, saturated>, fp8_of_doubles<__NV_SATFINITE, __NV_E5M2>});
  comparison.run({"__nv_cvt_double_to_fp8 NOSAT E5M2", e5m2, emulated_of_doubles<e5m2, nearest>,
                  fp8_of_doubles<__NV_NOSAT, __NV_E5M2>});
}

void run_16_bit(Comparison& comparison) {
  comparison.run(
      {"__float2half_rn", binary16, cvt<"cvt.rn.f16.f32">, each<half_bits<__float2half_rn>>});
  comparison.run(
      {"__float2half_rz", binary16, cvt<"cvt.rz.f16.f32">, each<half_bits<__float2half_rz>>});
  comparison.run(
      {"__float2half_rd", binary16, cvt<"cvt.rm.f16.f32">, each<half_bits<__float2half_rd>>});
  comparison.run(
      {"__float2half_ru", binary16, cvt<"cvt.rp.f16.f32">, each<half_bits<__float2half_ru>>});
  comparison.run({"__float2bfloat16_rn", bfloat16, cvt<"cvt.rn.bf16.f32">,
                  each<bfloat16_bits<__float2bfloat16_rn>>});
  comparison.run({"__float2bfloat16_rz", bfloat16, cvt<"cvt.rz.bf16.f32">,
                  each<bfloat16_bits<__float2bfloat16_rz>>});
  comparison.run({"__float2bfloat16_rd", bfloat16, cvt<"cvt.rm.bf16.f32">,
                  each<bfloat16_bits<__float2bfloat16_rd>>});
  comparison.run({"__float2bfloat16_ru", bfloat16, cvt<"cvt.rp.bf16.f32">,
                  each<bfloat16_bits<__float2bfloat16_ru>>});
}

/// PTX has no conversion to FP8 without .satfinite.
void run_fp8(Comparison& comparison) {
  comparison.run({"__nv_cvt_float_to_fp8 SATFINITE E4M3", e4m3, cvt<"cvt.rn.satfinite.e4m3x2.f32">,
                  each<fp8_bits<__NV_SATFINITE, __NV_E4M3>>});
  comparison.run({"__nv_cvt_float_to_fp8 NOSAT E4M3", e4m3, emulated<e4m3, nearest>,
                  each<fp8_bits<__NV_NOSAT, __NV_E4M3>>});
  comparison.run({"__nv_cvt_float_to_fp8 SATFINITE E5M2", e5m2, cvt<"cvt.rn.satfinite.e5m2x2.f32">,
                  each<fp8_bits<__NV_SATFINITE, __NV_E5M2>>});
  comparison.run({"__nv_cvt_float_to_fp8 NOSAT E5M2", e5m2, emulated<e5m2, nearest>,
                  each<fp8_bits<__NV_NOSAT, __NV_E5M2>>});
}

#ifdef BINADE_HAS_FP6
template <__nv_fp6_interpretation_t kind>
std::uint64_t fp6_bits(float x) {
  return __nv_cvt_float_to_fp6(x, kind, cudaRoundNearest);
}
std::uint64_t fp4_bits(float x) { return __nv_cvt_float_to_fp4(x, __NV_E2M1, cudaRoundNearest); }
template <__nv_saturation_t saturation, cudaRoundMode mode>
std::uint64_t e8m0_bits(float x) {
  return __nv_cvt_float_to_e8m0(x, saturation, mode);
}

void run_narrow(Comparison& comparison) {
  comparison.run({"__nv_cvt_float_to_fp6 E2M3", e2m3, cvt<"cvt.rn.satfinite.e2m3x2.f32">,
                  each<fp6_bits<__NV_E2M3>>});
  comparison.run({"__nv_cvt_float_to_fp6 E3M2", e3m2, cvt<"cvt.rn.satfinite.e3m2x2.f32">,
                  each<fp6_bits<__NV_E3M2>>});
  comparison.run(
      {"__nv_cvt_float_to_fp4 E2M1", e2m1, cvt<"cvt.rn.satfinite.e2m1x2.f32">, each<fp4_bits>});
  comparison.run({"__nv_cvt_float_to_e8m0 NOSAT RZ", e8m0, cvt<"cvt.rz.ue8m0x2.f32">,
                  each<e8m0_bits<__NV_NOSAT, cudaRoundZero>>});
  comparison.run({"__nv_cvt_float_to_e8m0 SATFINITE RZ", e8m0, cvt<"cvt.rz.satfinite.ue8m0x2.f32">,
                  each<e8m0_bits<__NV_SATFINITE, cudaRoundZero>>});
  comparison.run({"__nv_cvt_float_to_e8m0 NOSAT RP", e8m0, cvt<"cvt.rp.ue8m0x2.f32">,
                  each<e8m0_bits<__NV_NOSAT, cudaRoundPosInf>>});
  comparison.run({"__nv_cvt_float_to_e8m0 SATFINITE RP", e8m0, cvt<"cvt.rp.satfinite.ue8m0x2.f32">,
                  each<e8m0_bits<__NV_SATFINITE, cudaRoundPosInf>>});
}
#else
void run_narrow(Comparison&) { std::puts("cuda_fp6.h and cuda_fp4.h are not there: not compared"); }
#endif

}  // namespace

int main(int argc, char** argv) {
  Comparison comparison(outside::options_of(argc, argv));
  run_16_bit(comparison);
  run_fp8(comparison);
  run_fp8_of_doubles(comparison);
  run_narrow(comparison);
  return comparison.exit_status();
}

#else
int main() {
  return binade::outside::skip("NVIDIA's cuda_fp8.h was not found when this was built");
}
#endif
