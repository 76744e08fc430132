// SPDX-License-Identifier: Apache-2.0
//
// Chains of rounded operations (multiply-adds, or products and sums) by the machine's own
// arithmetic: scalar_chain_dot of emulate/dot.h, equal in every bit where nothing becomes a NaN or
// an infinity. Accumulators of binary32 and binary64 are floats and doubles. Narrower ones are
// doubles that are rounded twice, the first time to odd, which gives the same result as one
// rounding:
//
//     to odd   1xxxxxxxxxx…xxxxxxxxxx1                 product + sum in 53 bits (double_double.h)
//     on grid  1xxxxxxxxxx|0…                          p <= 24 bits: a tie, more or less than one is still seen
//
// The second rounding adds and subtracts 1.5·2^(52 + u), beside which a double has no bits below
// 2^u, to nearest:
//
//     1.2001953125 on binary16's grid, u = -10:   1.2001953125 · 2^10 = 1229 ulps, exactly: it stays
//     1.2006, 1229.4144 ulps:                     (1.5·2^42 + 1.2006) - 1.5·2^42 = 1229 · 2^-10 = 1.2001953125
//
// The second part is m8n8k4's four products at a time (quads), in floats: pairwise_block of
// emulate/dot.h, and a chain of four multiply-adds to whose sum c is added.
#pragma once

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>

#include "emulate/dot.h"
#include "emulate/double_double.h"

namespace binade::fast {

/// Returns x rounded to nearest, ties to even, on the grid of a format of at most 24 bits, as if it
/// had no largest number.
inline double on_grid(double x, const Format& f) {
  const auto field = static_cast<int>(std::bit_cast<std::uint64_t>(x) >> 52 & 0x7FF);
  const int exponent = field - 1023 < f.emin() ? f.emin() : field - 1023;
  const int unit = exponent - f.fraction_bits();
  const auto big = std::bit_cast<double>(static_cast<std::uint64_t>(unit + 52 + 1023) << 52 |
                                         std::uint64_t{1} << 51);
  return std::copysign((x + big) - big, x);
}

/// Returns the largest finite number of a format.
inline double largest_of(const Format& f) {
  return std::ldexp(static_cast<double>(f.max_significand()), f.emax() - f.fraction_bits());
}

/// Returns whether a narrower chain's products are exact in binary64, and all numbers far from its
/// ends.
constexpr bool is_narrow_chain(const DotTypes& t) {
  const auto is_small = [](const Format& f) {
    return f.precision <= 24 && f.quantum_exponent() >= -256 && f.emax() <= 256;
  };
  return is_small(t.a) && is_small(t.b) && is_small(t.d) && t.d.has_sign && t.d.has_zero &&
         t.d != binary32;
}

/// Returns whether a model's chain can be computed in `host`, binary32 or binary64.
constexpr bool is_chain_in(const DotModel& model, const DotTypes& t, const Format& host) {
  return is_chain(model) && t.a.has_zero && t.b.has_zero && !model.descending && !model.c_last &&
         !model.through_f32 && model.sparse_group == 0 && model.scales == WgmmaScales{} &&
         model.rounding == Rounding::ties_to_even && t.c == t.d &&
         (t.d == host || (host == binary64 && is_narrow_chain(t))) && fits_in(t.a, host) &&
         fits_in(t.b, host);
}

/// Returns whether k products of a model are quads in binary32, each of whose sums is converted to
/// d's type.
constexpr bool is_quads(const DotModel& model, const DotTypes& t, int k) {
  const auto is_sum = [](const Format& f) { return f == binary32 || f == binary16; };
  const auto is_operand = [](const Format& f) { return fits_in(f, binary32) && f.has_zero; };
  const bool pairs = model.recipe == Recipe::pairwise && !model.c_last && !model.through_f32;
  const bool chain = model.recipe == Recipe::fma_chain && model.c_last && k == 4 &&
                     model.rounding == Rounding::ties_to_even &&
                     (model.through_f32 || t.d == binary32);
  return (pairs || chain) && k % 4 == 0 && !model.descending && model.sparse_group == 0 &&
         model.scales == WgmmaScales{} && is_sum(t.c) && is_sum(t.d) && is_operand(t.a) &&
         is_operand(t.b);
}

/// The arithmetic in which vectors compute a model's chains: none of them, floats, doubles,
/// binary16 in floats, or quads.
enum class ChainIn : std::uint8_t { none, binary32, binary64, half, quads };

constexpr ChainIn chain_in(const DotModel& model, const DotTypes& t, int k) {
  if (is_quads(model, t, k)) return ChainIn::quads;
  if (is_chain_in(model, t, binary32)) return ChainIn::binary32;
  if (!is_chain_in(model, t, binary64)) return ChainIn::none;
  if (t.d == binary64) return ChainIn::binary64;
  // Products of such operands are exact in binary32, and far from its ends.
  const auto is_short = [](const Format& f) {
    return f.precision <= 12 && f.quantum_exponent() >= -50 && f.emax() <= 50;
  };
  return t.d == binary16 && is_short(t.a) && is_short(t.b) ? ChainIn::half : ChainIn::none;
}

/// Continues `width` chains of n products that share the operands a. The chains run side by side,
/// since none waits for another's sum.
template <int width, class Real>
void chain_sums(bool fused, const Real* a, const std::array<const Real*, width>& b, int n,
                std::array<Real, width>& sum) {
  std::array<Real, width> s = sum;
  if (fused) {
    for (int i = 0; i < n; ++i) {
      for (std::size_t at = 0; at < width; ++at) s[at] = std::fma(a[i], b[at][i], s[at]);
    }
  } else {
    for (int i = 0; i < n; ++i) {
      for (std::size_t at = 0; at < width; ++at) s[at] = s[at] + a[i] * b[at][i];
    }
  }
  sum = s;
}

/// Continues one chain whose accumulator is rounded to d, a narrower format. Returns false where a
/// sum or a rounded product leaves d's range; `sum` is then not the result.
inline bool narrow_chain(bool fused, const Format& d, const double* a, const double* b, int n,
                         double& sum) {
  const double largest = largest_of(d);
  for (int i = 0; i < n; ++i) {
    const double exact = a[i] * b[i];
    const double product = fused ? exact : on_grid(exact, d);
    if (!fused && std::fabs(product) > largest) return false;
    const DoubleDouble next = exact_sum(product, sum);
    sum = on_grid(next.low == 0 ? next.high : to_odd(next), d);  // short numbers rarely lose bits
    if (std::fabs(sum) > largest) return false;
  }
  return true;
}

/// Returns four products and c: added in two pairs, or else c after a chain of the products.
inline float quad_sum(bool pairs, const float* a, const float* b, float c) {
  if (pairs) return (c + std::fma(a[1], b[1], a[0] * b[0])) + std::fma(a[3], b[3], a[2] * b[2]);
  float sum = 0;
  for (int i = 0; i < 4; ++i) sum = std::fma(a[i], b[i], sum);
  return sum + c;
}

}  // namespace binade::fast
