// SPDX-License-Identifier: Apache-2.0
//
// AVX-512's intrinsics in software, for machines that lack the instructions: those of SIMDe, and,
// as loops over lanes, the ones that SIMDe 0.7.4 lacks. An operation that names its rounding is the
// plain operation under fesetround, and a fused one is std::fma. A file includes this header before
// emulate/fast/avx512.h and defines BINADE_INTRINSICS_IN_SOFTWARE.
#pragma once

#define SIMDE_ENABLE_NATIVE_ALIASES
#include <simde/x86/avx512.h>

#include <array>
#include <bit>
#include <cfenv>
#include <cmath>
#include <cstdint>

using __mmask8 = simde__mmask8;
using __mmask16 = simde__mmask16;
using __mmask32 = simde__mmask32;
using __mmask64 = simde__mmask64;

#define _MM_FROUND_NO_EXC 8

namespace binade::simde_stand_in {

/// The lanes of a vector, as an array.
template <class Lane, class Vector>
using Lanes = std::array<Lane, sizeof(Vector) / sizeof(Lane)>;
template <class Lane, class Vector>
Lanes<Lane, Vector> lanes_of(const Vector& x) {
  return std::bit_cast<Lanes<Lane, Vector>>(x);
}

/// Sets lane i of the result to function(lane i of x); lanes that x does not have are 0.
template <class From, class To, class Result, class Vector, class Function>
Result map(const Vector& x, const Function& function) {
  const auto in = lanes_of<From>(x);
  Lanes<To, Result> out{};
  for (std::size_t i = 0; i < out.size() && i < in.size(); ++i) {
    out[i] = static_cast<To>(function(in[i]));
  }
  return std::bit_cast<Result>(out);
}
template <class From, class To, class Result, class Vector>
Result convert(const Vector& x) {
  return map<From, To, Result>(x, [](From lane) { return lane; });
}

template <class Lane, class Mask, class Vector, class Holds>
Mask compare(const Vector& a, const Vector& b, const Holds& holds) {
  const auto x = lanes_of<Lane>(a), y = lanes_of<Lane>(b);
  std::uint64_t out = 0;
  for (std::size_t i = 0; i < x.size(); ++i) out |= std::uint64_t{holds(x[i], y[i])} << i;
  return static_cast<Mask>(out);
}

/// Returns ±a·b ± c with one rounding; SIMDe's functions round twice where the compiler may not
/// fuse.
template <class Lane, class Vector>
Vector fused(const Vector& a, const Vector& b, const Vector& c, Lane sign_of_product,
             Lane sign_of_c) {
  const auto x = lanes_of<Lane>(a), y = lanes_of<Lane>(b), z = lanes_of<Lane>(c);
  Lanes<Lane, Vector> out;
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i] = std::fma(sign_of_product * x[i], y[i], sign_of_c * z[i]);
  }
  return std::bit_cast<Vector>(out);
}

/// Returns the products of 16-bit lanes, summed by pairs into lanes of 32 bits.
inline __m512i multiply_add_pairs(__m512i a, __m512i b) {
  const auto x = lanes_of<std::int16_t>(a), y = lanes_of<std::int16_t>(b);
  std::array<std::int32_t, 16> out;
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i] = x[2 * i] * y[2 * i] + x[2 * i + 1] * y[2 * i + 1];
  }
  return std::bit_cast<__m512i>(out);
}

/// Returns the upper halves of the products of 16-bit lanes.
inline __m512i multiply_high(__m512i a, __m512i b) {
  auto x = lanes_of<std::uint16_t>(a);
  const auto y = lanes_of<std::uint16_t>(b);
  for (std::size_t i = 0; i < x.size(); ++i) {
    x[i] = static_cast<std::uint16_t>(std::uint32_t{x[i]} * y[i] >> 16);
  }
  return std::bit_cast<__m512i>(x);
}

/// Returns operation(x, y) of each lane, rounded as the number `rounding` of _MM_FROUND says.
template <class Lane, class Vector, class Operation>
Vector rounded(const Vector& a, const Vector& b, int rounding, const Operation& operation) {
  constexpr std::array modes{FE_TONEAREST, FE_DOWNWARD, FE_UPWARD, FE_TOWARDZERO};
  const auto x = lanes_of<Lane>(a), y = lanes_of<Lane>(b);
  Lanes<Lane, Vector> out;
  const int before = std::fegetround();
  std::fesetround(modes[static_cast<std::size_t>(rounding & 3)]);
  for (std::size_t i = 0; i < out.size(); ++i) {
    volatile Lane left = x[i], right = y[i];  // keeps the operation between the two fesetround
    volatile Lane result = operation(Lane{left}, Lane{right});
    out[i] = result;
  }
  std::fesetround(before);
  return std::bit_cast<Vector>(out);
}

/// Returns the rounded sum of one lane.
inline float add_once(float a, float b, int rounding) {
  return rounded<float>(std::array{a}, std::array{b}, rounding,
                        [](float x, float y) { return x + y; })[0];
}

}  // namespace binade::simde_stand_in

// clang-format off
inline __m512 _mm512_add_round_ps(__m512 a, __m512 b, int r) {
  return binade::simde_stand_in::rounded<float>(a, b, r, [](float x, float y) { return x + y; });
}
inline __m512 _mm512_mul_round_ps(__m512 a, __m512 b, int r) {
  return binade::simde_stand_in::rounded<float>(a, b, r, [](float x, float y) { return x * y; });
}
inline __m512 _mm512_div_round_ps(__m512 a, __m512 b, int r) {
  return binade::simde_stand_in::rounded<float>(a, b, r, [](float x, float y) { return x / y; });
}
inline __m512 _mm512_sqrt_round_ps(__m512 a, int r) {
  return binade::simde_stand_in::rounded<float>(a, a, r, [](float x, float) { return std::sqrt(x); });
}
inline __m512d _mm512_add_round_pd(__m512d a, __m512d b, int r) {
  return binade::simde_stand_in::rounded<double>(a, b, r, [](double x, double y) { return x + y; });
}
inline __m512d _mm512_mul_round_pd(__m512d a, __m512d b, int r) {
  return binade::simde_stand_in::rounded<double>(a, b, r, [](double x, double y) { return x * y; });
}
inline __m512d _mm512_div_round_pd(__m512d a, __m512d b, int r) {
  return binade::simde_stand_in::rounded<double>(a, b, r, [](double x, double y) { return x / y; });
}
inline __m512d _mm512_sqrt_round_pd(__m512d a, int r) {
  return binade::simde_stand_in::rounded<double>(a, a, r, [](double x, double) { return std::sqrt(x); });
}
inline __m512d _mm512_cvtps_pd(__m256 x) { return binade::simde_stand_in::convert<float, double, __m512d>(x); }
inline __m256 _mm512_cvtpd_ps(__m512d x) { return binade::simde_stand_in::convert<double, float, __m256>(x); }
inline __m512d _mm512_cvtepi32_pd(__m256i x) { return binade::simde_stand_in::convert<std::int32_t, double, __m512d>(x); }
#undef _mm512_roundscale_pd
inline __m512d _mm512_roundscale_pd(__m512d x, int) {  // the callers' integer part
  return binade::simde_stand_in::map<double, double, __m512d>(x, [](double lane) { return std::trunc(lane); });
}
#undef _mm512_madd_epi16
inline __m512i _mm512_madd_epi16(__m512i a, __m512i b) { return binade::simde_stand_in::multiply_add_pairs(a, b); }
inline __m512i _mm512_mulhi_epu16(__m512i a, __m512i b) { return binade::simde_stand_in::multiply_high(a, b); }
inline __m512 _mm512_cvtepi32_ps(__m512i x) { return binade::simde_stand_in::convert<std::int32_t, float, __m512>(x); }
#undef _mm512_fmadd_ps
#undef _mm512_fmadd_pd
#undef _mm512_fmsub_ps
#undef _mm512_fmsub_pd
#undef _mm512_fnmadd_ps
#undef _mm512_fnmadd_pd
inline __m512 _mm512_fmadd_ps(__m512 a, __m512 b, __m512 c) { return binade::simde_stand_in::fused<float>(a, b, c, 1, 1); }
inline __m512d _mm512_fmadd_pd(__m512d a, __m512d b, __m512d c) { return binade::simde_stand_in::fused<double>(a, b, c, 1, 1); }
inline __m512 _mm512_fmsub_ps(__m512 a, __m512 b, __m512 c) { return binade::simde_stand_in::fused<float>(a, b, c, 1, -1); }
inline __m512d _mm512_fmsub_pd(__m512d a, __m512d b, __m512d c) { return binade::simde_stand_in::fused<double>(a, b, c, 1, -1); }
inline __m512 _mm512_fnmadd_ps(__m512 a, __m512 b, __m512 c) { return binade::simde_stand_in::fused<float>(a, b, c, -1, 1); }
inline __m512d _mm512_fnmadd_pd(__m512d a, __m512d b, __m512d c) { return binade::simde_stand_in::fused<double>(a, b, c, -1, 1); }
inline void _mm512_stream_si512(__m512i* to, __m512i x) { _mm512_storeu_si512(to, x); }

inline __m512i _mm512_cvtepu8_epi32(__m128i x) { return binade::simde_stand_in::convert<std::uint8_t, std::uint32_t, __m512i>(x); }
inline __m512i _mm512_cvtepu16_epi32(__m256i x) { return binade::simde_stand_in::convert<std::uint16_t, std::uint32_t, __m512i>(x); }
inline __m512i _mm512_cvtepu8_epi64(__m128i x) { return binade::simde_stand_in::convert<std::uint8_t, std::uint64_t, __m512i>(x); }
inline __m512i _mm512_cvtepu16_epi64(__m128i x) { return binade::simde_stand_in::convert<std::uint16_t, std::uint64_t, __m512i>(x); }
inline __m512i _mm512_cvtepu32_epi64(__m256i x) { return binade::simde_stand_in::convert<std::uint32_t, std::uint64_t, __m512i>(x); }
inline __m128i _mm512_cvtepi64_epi8(__m512i x) { return binade::simde_stand_in::convert<std::uint64_t, std::uint8_t, __m128i>(x); }
inline __m128i _mm512_cvtepi64_epi16(__m512i x) { return binade::simde_stand_in::convert<std::uint64_t, std::uint16_t, __m128i>(x); }
inline __m512i _mm512_cvttps_epi32(__m512 x) {
  return binade::simde_stand_in::map<float, std::int32_t, __m512i>(x, [](float lane) {
    return std::fabs(lane) < 0x1p31F ? static_cast<std::int32_t>(lane) : INT32_MIN;
  });
}
inline __m512 _mm512_cvt_roundepi32_ps(__m512i x, int r) {
  const auto number = [r](std::int32_t lane) {  // two exact parts; only their sum rounds
    const double high = std::trunc(lane / 65536.0) * 65536.0;
    return binade::simde_stand_in::add_once(static_cast<float>(high), static_cast<float>(lane - high), r);
  };
  return binade::simde_stand_in::map<std::int32_t, float, __m512>(x, number);
}
inline __m512i _mm512_cvttps_epu32(__m512 x) { return binade::simde_stand_in::convert<float, std::uint32_t, __m512i>(x); }
inline __m512i _mm512_cvttpd_epu64(__m512d x) { return binade::simde_stand_in::convert<double, std::uint64_t, __m512i>(x); }

inline __mmask16 _mm512_cmpgt_epu32_mask(__m512i a, __m512i b) {
  return binade::simde_stand_in::compare<std::uint32_t, __mmask16>(a, b, [](auto x, auto y) { return x > y; });
}
inline __mmask8 _mm512_cmpgt_epu64_mask(__m512i a, __m512i b) {
  return binade::simde_stand_in::compare<std::uint64_t, __mmask8>(a, b, [](auto x, auto y) { return x > y; });
}
inline __mmask32 _mm512_cmpeq_epi16_mask(__m512i a, __m512i b) {
  return binade::simde_stand_in::compare<std::uint16_t, __mmask32>(a, b, [](auto x, auto y) { return x == y; });
}
inline __mmask16 _mm512_kunpackb(__mmask16 high, __mmask16 low) { return static_cast<__mmask16>(high << 8 | (low & 0xFF)); }
inline __mmask32 _mm512_kunpackw(__mmask32 high, __mmask32 low) { return high << 16 | (low & 0xFFFF); }
inline __mmask64 _mm512_kunpackd(__mmask64 high, __mmask64 low) { return high << 32 | (low & 0xFFFFFFFF); }
inline __mmask8 _kand_mask8(__mmask8 a, __mmask8 b) { return a & b; }
inline __mmask8 _kor_mask8(__mmask8 a, __mmask8 b) { return a | b; }
inline __mmask16 _kand_mask16(__mmask16 a, __mmask16 b) { return a & b; }
inline __mmask16 _kor_mask16(__mmask16 a, __mmask16 b) { return a | b; }
inline __mmask8 _kandn_mask8(__mmask8 a, __mmask8 b) { return static_cast<__mmask8>(~a & b); }
inline __mmask16 _kandn_mask16(__mmask16 a, __mmask16 b) { return static_cast<__mmask16>(~a & b); }
// clang-format on
