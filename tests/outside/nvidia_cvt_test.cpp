// SPDX-License-Identifier: Apache-2.0
//
// PTX's packed conversions, those from double and those back to wider types, against what NVIDIA's
// headers compute on the host: their bits and where they lie in the result. Pairs of floats, of
// halfs and of bfloat16s run over all 2^32 patterns or a slice; every code of the narrow formats
// goes back. nvidia_headers_test has the single values. No GPU and no nvcc, only the CUDA include
// folder.
#include "tests/outside/patterns.h"

#if __has_include(<cuda_fp8.h>) && __has_include(<cuda_fp6.h>) && __has_include(<cuda_fp4.h>)
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp4.h>
#include <cuda_fp6.h>
#include <cuda_fp8.h>

#include "tests/outside/cvt_by_name.h"

namespace {

using namespace binade;
using outside::Comparison;
using outside::cvt;
using outside::cvt_double;
using outside::cvt_pair;

// PTX's a is the upper lane, a float2's x the lower.

std::uint64_t bits_of(const __half2& x) {
  const __half2_raw raw = x;
  return std::uint64_t{raw.y} << 16 | raw.x;
}
std::uint64_t bits_of(const __nv_bfloat162& x) {
  const __nv_bfloat162_raw raw = x;
  return std::uint64_t{raw.y} << 16 | raw.x;
}

std::uint64_t f16x2(float2 x) { return bits_of(__floats2half2_rn(x.x, x.y)); }
std::uint64_t bf16x2(float2 x) { return bits_of(__floats2bfloat162_rn(x.x, x.y)); }
template <__nv_fp8_interpretation_t kind>
std::uint64_t fp8x2(float2 x) {
  return __nv_cvt_float2_to_fp8x2(x, __NV_SATFINITE, kind);
}
template <__nv_fp6_interpretation_t kind>
std::uint64_t fp6x2(float2 x) {
  return __nv_cvt_float2_to_fp6x2(x, kind, cudaRoundNearest);
}
std::uint64_t fp4x2(float2 x) { return __nv_cvt_float2_to_fp4x2(x, __NV_E2M1, cudaRoundNearest); }
template <__nv_saturation_t saturation, cudaRoundMode mode>
std::uint64_t e8m0x2(float2 x) {
  return __nv_cvt_float2_to_e8m0x2(x, saturation, mode);
}

template <__nv_fp8_interpretation_t kind>
std::uint64_t fp8x2_of_halfs(std::uint32_t x) {
  const __half2_raw raw{static_cast<unsigned short>(x), static_cast<unsigned short>(x >> 16)};
  return __nv_cvt_halfraw2_to_fp8x2(raw, __NV_SATFINITE, kind);
}
std::uint64_t fp4x2_of_halfs(std::uint32_t x) {
  const __half2_raw raw{static_cast<unsigned short>(x), static_cast<unsigned short>(x >> 16)};
  return __nv_cvt_halfraw2_to_fp4x2(raw, __NV_E2M1, cudaRoundNearest);
}
template <__nv_saturation_t saturation, cudaRoundMode mode>
std::uint64_t e8m0x2_of_bfloats(std::uint32_t x) {
  const __nv_bfloat162_raw raw{static_cast<unsigned short>(x),
                               static_cast<unsigned short>(x >> 16)};
  return __nv_cvt_bfloat162raw_to_e8m0x2(raw, saturation, mode);
}

template <std::uint64_t (*convert)(float2)>
void floats(const std::uint32_t* patterns, std::uint64_t* bits, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) {
    const auto b = std::bit_cast<float>(outside::partner(patterns[i]));
    bits[i] = convert(make_float2(b, std::bit_cast<float>(patterns[i])));
  }
}
template <std::uint64_t (*convert)(std::uint32_t)>
void packed(const std::uint32_t* patterns, std::uint64_t* bits, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) bits[i] = convert(patterns[i]);
}
void halfs_of_doubles(const std::uint32_t* patterns, std::uint64_t* bits, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) {
    const auto x = std::bit_cast<double>(outside::double_of(patterns[i]));
    bits[i] = static_cast<__half_raw>(__double2half(x)).x;
  }
}
void bfloats_of_doubles(const std::uint32_t* patterns, std::uint64_t* bits, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) {
    const auto x = std::bit_cast<double>(outside::double_of(patterns[i]));
    bits[i] = static_cast<__nv_bfloat16_raw>(__double2bfloat16(x)).x;
  }
}

/// The instruction by name, and the header's function under the same name in the output.
// NOLINTNEXTLINE(bugprone-macro-parentheses): a template argument
#define COMPARE(name, how, theirs) comparison.run({name, binary32, how<name>, theirs})

void run_floats(Comparison& comparison) {
  COMPARE("cvt.rn.f16x2.f32", cvt_pair, floats<f16x2>);
  COMPARE("cvt.rn.bf16x2.f32", cvt_pair, floats<bf16x2>);
  COMPARE("cvt.rn.satfinite.e4m3x2.f32", cvt_pair, floats<fp8x2<__NV_E4M3>>);
  COMPARE("cvt.rn.satfinite.e5m2x2.f32", cvt_pair, floats<fp8x2<__NV_E5M2>>);
  COMPARE("cvt.rn.satfinite.e2m3x2.f32", cvt_pair, floats<fp6x2<__NV_E2M3>>);
  COMPARE("cvt.rn.satfinite.e3m2x2.f32", cvt_pair, floats<fp6x2<__NV_E3M2>>);
  COMPARE("cvt.rn.satfinite.e2m1x2.f32", cvt_pair, floats<fp4x2>);
  COMPARE("cvt.rz.ue8m0x2.f32", cvt_pair, (floats<e8m0x2<__NV_NOSAT, cudaRoundZero>>));
  COMPARE("cvt.rz.satfinite.ue8m0x2.f32", cvt_pair,
          (floats<e8m0x2<__NV_SATFINITE, cudaRoundZero>>));
  COMPARE("cvt.rp.ue8m0x2.f32", cvt_pair, (floats<e8m0x2<__NV_NOSAT, cudaRoundPosInf>>));
  COMPARE("cvt.rp.satfinite.ue8m0x2.f32", cvt_pair,
          (floats<e8m0x2<__NV_SATFINITE, cudaRoundPosInf>>));
}

void run_16_bit_pairs(Comparison& comparison) {
  COMPARE("cvt.rn.satfinite.e4m3x2.f16x2", cvt, packed<fp8x2_of_halfs<__NV_E4M3>>);
  COMPARE("cvt.rn.satfinite.e5m2x2.f16x2", cvt, packed<fp8x2_of_halfs<__NV_E5M2>>);
  COMPARE("cvt.rn.satfinite.e2m1x2.f16x2", cvt, packed<fp4x2_of_halfs>);
  COMPARE("cvt.rz.ue8m0x2.bf16x2", cvt, (packed<e8m0x2_of_bfloats<__NV_NOSAT, cudaRoundZero>>));
  COMPARE("cvt.rz.satfinite.ue8m0x2.bf16x2", cvt,
          (packed<e8m0x2_of_bfloats<__NV_SATFINITE, cudaRoundZero>>));
  COMPARE("cvt.rp.ue8m0x2.bf16x2", cvt, (packed<e8m0x2_of_bfloats<__NV_NOSAT, cudaRoundPosInf>>));
  COMPARE("cvt.rp.satfinite.ue8m0x2.bf16x2", cvt,
          (packed<e8m0x2_of_bfloats<__NV_SATFINITE, cudaRoundPosInf>>));
}

/// The instruction keeps sign and payload of a NaN (rows of an H100), while the header gives
/// 0x7FFF; both are compared as 0x7FFF.
template <outside::CvtName name>
void cvt_double_any_nan(const std::uint32_t* patterns, std::uint64_t* bits, std::size_t n) {
  cvt_double<name>(patterns, bits, n);
  for (std::size_t i = 0; i < n; ++i) {
    const bool is_nan = decode(bits[i], outside::cvt_named<name>.to).kind == Kind::nan;
    if (is_nan) bits[i] = 0x7FFF;
  }
}

void run_doubles(Comparison& comparison) {
  COMPARE("cvt.rn.f16.f64", cvt_double_any_nan, halfs_of_doubles);
  COMPARE("cvt.rn.bf16.f64", cvt_double_any_nan, bfloats_of_doubles);
}

std::uint64_t float_of_half(std::uint32_t x) {
  const __half_raw raw{static_cast<unsigned short>(x)};
  return std::bit_cast<std::uint32_t>(__half2float(__half(raw)));
}
std::uint64_t float_of_bfloat(std::uint32_t x) {
  const __nv_bfloat16_raw raw{static_cast<unsigned short>(x)};
  return std::bit_cast<std::uint32_t>(__bfloat162float(__nv_bfloat16(raw)));
}
template <__nv_fp8_interpretation_t kind>
std::uint64_t halfs_of_fp8x2(std::uint32_t x) {
  return bits_of(__half2(__nv_cvt_fp8x2_to_halfraw2(static_cast<__nv_fp8x2_storage_t>(x), kind)));
}
template <__nv_fp6_interpretation_t kind>
std::uint64_t halfs_of_fp6x2(std::uint32_t x) {
  return bits_of(__half2(__nv_cvt_fp6x2_to_halfraw2(static_cast<__nv_fp6x2_storage_t>(x), kind)));
}
std::uint64_t halfs_of_fp4x2(std::uint32_t x) {
  const auto code = static_cast<__nv_fp4x2_storage_t>(x);
  return bits_of(__half2(__nv_cvt_fp4x2_to_halfraw2(code, __NV_E2M1)));
}
std::uint64_t bfloats_of_e8m0x2(std::uint32_t x) {
  const auto code = static_cast<__nv_fp8x2_storage_t>(x);
  return bits_of(__nv_bfloat162(__nv_cvt_e8m0x2_to_bf162raw(code)));
}

struct Widening {
  const char* name;
  std::uint64_t (*theirs)(std::uint32_t);
  std::uint32_t codes;  ///< mask of the bits that an operand may have set
};

constexpr Widening widenings[] = {
    {"cvt.f32.f16", float_of_half, 0xFFFF},
    {"cvt.f32.bf16", float_of_bfloat, 0xFFFF},
    {"cvt.rn.f16x2.e4m3x2", halfs_of_fp8x2<__NV_E4M3>, 0xFFFF},
    {"cvt.rn.f16x2.e5m2x2", halfs_of_fp8x2<__NV_E5M2>, 0xFFFF},
    {"cvt.rn.f16x2.e2m3x2", halfs_of_fp6x2<__NV_E2M3>, 0x3F3F},
    {"cvt.rn.f16x2.e3m2x2", halfs_of_fp6x2<__NV_E3M2>, 0x3F3F},
    {"cvt.rn.f16x2.e2m1x2", halfs_of_fp4x2, 0xFF},
    {"cvt.rn.bf16x2.ue8m0x2", bfloats_of_e8m0x2, 0xFFFF},
};

/// Compares the conversion of every code back to a wider type, including the bits of NaNs.
std::uint64_t wrong_widenings() {
  std::uint64_t wrong = 0;
  for (const Widening& row : widenings) {
    const PtxCvt instruction = find_ptx_cvt(row.name).value();
    std::uint64_t count = 0;
    for (std::uint32_t x = 0; x < 65536; ++x) {
      if ((x & ~row.codes) != 0) continue;
      const std::uint64_t ours = compute(instruction, {x});
      const std::uint64_t theirs = row.theirs(x);
      ++count;
      if (ours == theirs) continue;
      if (wrong++ < 10) {
        std::printf("%s of %X: ours %llX, theirs %llX\n", row.name, x,
                    static_cast<unsigned long long>(ours), static_cast<unsigned long long>(theirs));
      }
    }
    std::printf("%-44s %12llu codes\n", row.name, static_cast<unsigned long long>(count));
  }
  return wrong;
}

}  // namespace

int main(int argc, char** argv) {
  Comparison comparison(outside::options_of(argc, argv));
  run_floats(comparison);
  run_16_bit_pairs(comparison);
  run_doubles(comparison);
  const std::uint64_t wrong = wrong_widenings();
  return comparison.exit_status() | (wrong != 0 ? 1 : 0);
}

#else
int main() {
  return binade::outside::skip("no cuda_fp8.h, cuda_fp6.h and cuda_fp4.h when this was built");
}
#endif
