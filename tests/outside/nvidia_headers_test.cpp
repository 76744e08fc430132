// SPDX-License-Identifier: Apache-2.0
//
// NVIDIA's conversion headers, compiled for the host: the vendor's own statement of what its
// conversions give. No GPU and no nvcc, only the CUDA include folder.
#include <cmath>

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
using outside::each;
using outside::emulated;

constexpr Attributes vendor(Rounding rounding, Saturation saturation = Saturation::none) {
  return {.rounding = rounding, .saturation = saturation, .nan = NanResult::nvidia};
}
constexpr Attributes nearest = vendor(Rounding::ties_to_even);
constexpr Attributes nearest_satfinite = vendor(Rounding::ties_to_even, Saturation::finite);

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

/// Without saturation an overflow's NaN keeps the sign (0xFF), an operand's NaN does not (0x7F). Ours
/// has one rule for both, so NaN operands are given their sign here and compared with `propagate`.
std::uint64_t e4m3_nosat_bits(float x) {
  const std::uint64_t bits = fp8_bits<__NV_NOSAT, __NV_E4M3>(x);
  return x != x && std::signbit(x) ? bits | 0x80 : bits;
}
constexpr Attributes nearest_signed_nan{.nan = NanResult::propagate};

void run_16_bit(Comparison& comparison) {
  comparison.run(
      {"__float2half_rn", binary16, emulated<binary16, nearest>, each<half_bits<__float2half_rn>>});
  comparison.run({"__float2half_rz", binary16, emulated<binary16, vendor(Rounding::toward_zero)>,
                  each<half_bits<__float2half_rz>>});
  comparison.run({"__float2half_rd", binary16,
                  emulated<binary16, vendor(Rounding::toward_negative)>,
                  each<half_bits<__float2half_rd>>});
  comparison.run({"__float2half_ru", binary16,
                  emulated<binary16, vendor(Rounding::toward_positive)>,
                  each<half_bits<__float2half_ru>>});
  comparison.run({"__float2bfloat16_rn", bfloat16, emulated<bfloat16, nearest>,
                  each<bfloat16_bits<__float2bfloat16_rn>>});
  comparison.run({"__float2bfloat16_rz", bfloat16,
                  emulated<bfloat16, vendor(Rounding::toward_zero)>,
                  each<bfloat16_bits<__float2bfloat16_rz>>});
  comparison.run({"__float2bfloat16_rd", bfloat16,
                  emulated<bfloat16, vendor(Rounding::toward_negative)>,
                  each<bfloat16_bits<__float2bfloat16_rd>>});
  comparison.run({"__float2bfloat16_ru", bfloat16,
                  emulated<bfloat16, vendor(Rounding::toward_positive)>,
                  each<bfloat16_bits<__float2bfloat16_ru>>});
}

void run_fp8(Comparison& comparison) {
  comparison.run({"__nv_cvt_float_to_fp8 SATFINITE E4M3", e4m3, emulated<e4m3, nearest_satfinite>,
                  each<fp8_bits<__NV_SATFINITE, __NV_E4M3>>});
  comparison.run({"__nv_cvt_float_to_fp8 NOSAT E4M3", e4m3, emulated<e4m3, nearest_signed_nan>,
                  each<e4m3_nosat_bits>});
  comparison.run({"__nv_cvt_float_to_fp8 SATFINITE E5M2", e5m2, emulated<e5m2, nearest_satfinite>,
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
  comparison.run(
      {"__nv_cvt_float_to_fp6 E2M3", e2m3, emulated<e2m3, nearest>, each<fp6_bits<__NV_E2M3>>});
  comparison.run(
      {"__nv_cvt_float_to_fp6 E3M2", e3m2, emulated<e3m2, nearest>, each<fp6_bits<__NV_E3M2>>});
  comparison.run({"__nv_cvt_float_to_fp4 E2M1", e2m1, emulated<e2m1, nearest>, each<fp4_bits>});
  comparison.run({"__nv_cvt_float_to_e8m0 NOSAT RZ", e8m0,
                  emulated<e8m0, vendor(Rounding::toward_zero)>,
                  each<e8m0_bits<__NV_NOSAT, cudaRoundZero>>});
  comparison.run({"__nv_cvt_float_to_e8m0 SATFINITE RZ", e8m0,
                  emulated<e8m0, vendor(Rounding::toward_zero, Saturation::finite)>,
                  each<e8m0_bits<__NV_SATFINITE, cudaRoundZero>>});
  comparison.run({"__nv_cvt_float_to_e8m0 NOSAT RP", e8m0,
                  emulated<e8m0, vendor(Rounding::toward_positive)>,
                  each<e8m0_bits<__NV_NOSAT, cudaRoundPosInf>>});
  comparison.run({"__nv_cvt_float_to_e8m0 SATFINITE RP", e8m0,
                  emulated<e8m0, vendor(Rounding::toward_positive, Saturation::finite)>,
                  each<e8m0_bits<__NV_SATFINITE, cudaRoundPosInf>>});
}
#else
void run_narrow(Comparison&) { std::puts("cuda_fp6.h and cuda_fp4.h are not there: not compared"); }
#endif

std::uint64_t half_to_float(__half_raw x) {
  return std::bit_cast<std::uint32_t>(__half2float(__half(x)));
}

/// Every encoding of the 8-bit and narrower formats, through NVIDIA's way to half.
std::uint64_t wrong_widenings() {
  std::uint64_t wrong = 0;
  std::uint64_t count = 0;
  const auto compare = [&](unsigned bits, const Format& format, __half_raw theirs) {
    const std::uint64_t ours = convert(bits, format, binary16, {.nan = NanResult::nvidia}).bits;
    wrong += ours == theirs.x ? 0 : 1;
    if (ours != theirs.x)
      std::printf("encoding %X: ours %llX, theirs %X\n", bits,
                  static_cast<unsigned long long>(ours), theirs.x);
    ++count;
  };
  for (unsigned bits = 0; bits < 256; ++bits) {
    const auto code = static_cast<unsigned char>(bits);
    compare(bits, e4m3, __nv_cvt_fp8_to_halfraw(code, __NV_E4M3));
    compare(bits, e5m2, __nv_cvt_fp8_to_halfraw(code, __NV_E5M2));
#ifdef BINADE_HAS_FP6
    if (bits < 64) compare(bits, e2m3, __nv_cvt_fp6_to_halfraw(code, __NV_E2M3));
    if (bits < 64) compare(bits, e3m2, __nv_cvt_fp6_to_halfraw(code, __NV_E3M2));
    if (bits < 16) compare(bits, e2m1, __nv_cvt_fp4_to_halfraw(code, __NV_E2M1));
    const std::uint64_t ours = convert(bits, e8m0, bfloat16, {.nan = NanResult::nvidia}).bits;
    wrong += ours == __nv_cvt_e8m0_to_bf16raw(code).x ? 0 : 1;
    ++count;
#endif
  }
  for (unsigned bits = 0; bits < 65536; ++bits) {
    __half_raw raw;
    raw.x = static_cast<unsigned short>(bits);
    const bool nan = decode(bits, binary16).kind == Kind::nan;
    const std::uint64_t theirs = half_to_float(raw);
    wrong += convert(bits, binary16, binary32).bits == theirs ||
                     (nan && decode(theirs, binary32).kind == Kind::nan)
                 ? 0
                 : 1;
    ++count;
  }
  std::printf("widenings: %llu encodings, %llu different\n", static_cast<unsigned long long>(count),
              static_cast<unsigned long long>(wrong));
  return wrong;
}

}  // namespace

int main(int argc, char** argv) {
  Comparison comparison(outside::options_of(argc, argv));
  run_16_bit(comparison);
  run_fp8(comparison);
  run_narrow(comparison);
  return comparison.exit_status() | (wrong_widenings() != 0 ? 1 : 0);
}

#else
int main() {
  return binade::outside::skip("NVIDIA's cuda_fp8.h was not found when this was built");
}
#endif
