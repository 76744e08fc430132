// SPDX-License-Identifier: Apache-2.0
//
// The two families of rounding.h by vectors of a level's unit V (avx2.h, avx512.h): magnitudes onto the grid of a
// format. Where an addition may name its own rounding, directed roundings are the machine's.
//
//     a                1.ffff fffx xxxx · 2^e
//     S = a + M        1.0000 0001 ffff · 2^(e + drop)       r = S - M; by the last bit of S where r is not the one
#pragma once

#include <concepts>

#include "emulate/fast/rounding.h"

namespace binade::fast {

/// Whether V's additions may name their rounding.
template <class V>
concept NamesRounding = requires(typename V::F x) {
  V::template add<1>(x, x);
};

/// Bits cut off with an increment.
template <class V, std::floating_point T>
struct CutLanes {
  using I = typename V::I;
  using Plan = RoundingPlan<T>;
  using Bits = typename Plan::Bits;
  static constexpr Family family = Family::cut;

  int drop, random_shift, word_right, word_left;
  I infinity, kept, rest, half, below_half, odd;

  explicit CutLanes(const Plan& plan)
      : drop(plan.drop),
        random_shift(32 - plan.random_bits),
        word_right(plan.drop < 32 ? 32 - plan.drop : 0),
        word_left(plan.drop < 32 ? 0 : plan.drop - 32) {
    const Bits ulp = Bits{1} << drop;
    infinity = V::set(Plan::infinity);
    kept = V::set(~(ulp - 1));
    rest = V::set(ulp - 1);
    half = V::set(ulp >> 1);
    below_half = V::set(drop == 0 ? 0 : (ulp >> 1) - 1);
    odd = V::set(drop == 0 ? 0 : 1);
  }

  /// `x`: whose signs count; `random`: words. `field`: of a number in range its code's exponent and fraction. Infinities
  /// and NaNs come out above every number.
  template <Rounding rounding>
  I round(I operand, I x, I random, I& field) const {
    I a = V::min(operand, infinity);
    if constexpr (rounding == Rounding::ties_to_even) {
      const I last = V::bit_and(V::shift_right(a, drop), odd);
      a = V::add(V::add(a, below_half), last);
    } else if constexpr (rounding == Rounding::ties_to_away) {
      a = V::add(a, half);
    } else if constexpr (rounding == Rounding::toward_positive) {
      a = V::add(a, V::select_by_sign(x, V::zero(), rest));
    } else if constexpr (rounding == Rounding::toward_negative) {
      a = V::add(a, V::select_by_sign(x, rest, V::zero()));
    } else if constexpr (rounding == Rounding::to_odd) {
      const auto is_odd = V::has_last_bit(V::shift_right(a, drop));
      a = V::add(a, V::select(is_odd, V::zero(), rest));
    } else if constexpr (rounding == Rounding::stochastic) {
      // The word's bits stand below the fraction's first; what is below them can carry nothing.
      const I word = V::bit_and(V::shift_left(random, random_shift), V::set(0xFFFFFFFF));
      a = V::add(a, V::shift_left(V::shift_right(word, word_right), word_left));
    }
    field = V::shift_right(a, drop);
    return V::bit_and(a, kept);
  }
};

/// The machine's own addition of a power of two.
template <class V, std::floating_point T>
struct CarrierLanes {
  using I = typename V::I;
  using F = typename V::F;
  using Plan = RoundingPlan<T>;
  using Bits = typename Plan::Bits;
  static constexpr Family family = Family::carrier;

  int drop, random_shift;
  I magnitude, exponent, last, min_normal, lowest_m, one, per_ulp, word_bits;

  explicit CarrierLanes(const Plan& plan)
      : drop(plan.drop),
        random_shift(32 - plan.random_bits),
        magnitude(V::set(Plan::magnitude_bits)),
        exponent(V::set(Plan::infinity)),
        last(V::set(plan.last)),
        min_normal(V::set(plan.min_normal)),
        lowest_m(V::set(plan.lowest_m)),
        one(V::set(1)),
        // Minus M: 2^32 / ulp.
        per_ulp(
            V::set(static_cast<Bits>(2 * Plan::carrier.bias + 32 + Plan::carrier.fraction_bits())
                   << Plan::carrier.fraction_bits())),
        word_bits(V::set(0xFFFFFFFF)) {}

  template <Rounding rounding>
  I round(I operand, I x, I random, I& field) const {
    const I a = V::min(operand, last);
    // Of the exponents alone, in steps of the first 16 bits: how many binades above the lowest.
    const I binades = V::sub_to_zero(V::bit_and(a, exponent), min_normal);
    const I m = V::add(binades, lowest_m);
    I s, s_m = m;  // S, and M with its sign
    if constexpr (rounding == Rounding::ties_to_even) {
      s = sum(a, m);
    } else if constexpr (rounding == Rounding::ties_to_away) {
      // A tie's last bit is a zero, which makes it more than a tie (at least two bits are dropped).
      s = sum(V::bit_or(a, one), m);
    } else if constexpr (rounding == Rounding::stochastic) {
      s = toward_zero(a, m);
      const F rest = V::sub(V::number(a), V::sub(V::number(s), V::number(m)));
      const I fraction = V::floor_unsigned(V::mul(rest, V::number(V::sub(per_ulp, m))));
      const I word = V::bit_and(V::shift_left(random, random_shift), word_bits);
      s = V::plus_one(s, V::greater_unsigned(fraction, V::bit_xor(word, word_bits)));
    } else if constexpr (rounding == Rounding::toward_zero) {
      s = toward_zero(a, m);
    } else if constexpr (rounding == Rounding::to_odd) {
      s = to_odd(a, m);
    } else {
      constexpr bool up = rounding == Rounding::toward_positive;
      if constexpr (NamesRounding<V>) {
        const I sign = V::and_not(x, magnitude);
        s_m = V::bit_or(m, sign);
        s = V::bits(V::template add < up ? 2 : 1 > (V::number(V::bit_or(a, sign)), V::number(s_m)));
      } else {
        s = sum(a, m);
        const I r = minus(s, m);
        const I larger = V::plus_one(s, V::greater(a, r));
        const I smaller = V::minus_one(s, V::greater(r, a));
        s = up ? V::select_by_sign(x, smaller, larger) : V::select_by_sign(x, larger, smaller);
      }
    }
    // The last bits of S count ulps.
    field = V::add(V::shift_right(binades, drop), V::sub(s, s_m));
    const I r = minus(s, s_m);
    constexpr bool is_signed = NamesRounding<V> && (rounding == Rounding::toward_positive ||
                                                    rounding == Rounding::toward_negative);
    return is_signed ? V::bit_and(r, magnitude) : r;
  }

 private:
  static I sum(I a, I m) { return V::bits(V::add(V::number(a), V::number(m))); }
  static I minus(I s, I m) { return V::bits(V::sub(V::number(s), V::number(m))); }

  static I toward_zero(I a, I m) {
    if constexpr (NamesRounding<V>) {
      return V::bits(V::template add<3>(V::number(a), V::number(m)));
    } else {
      const I s = sum(a, m);
      return V::minus_one(s, V::greater(minus(s, m), a));
    }
  }
  I to_odd(I a, I m) const {
    if constexpr (NamesRounding<V>) {
      const I s = toward_zero(a, m);
      return V::select(V::equal(minus(s, m), a), s, V::bit_or(s, one));
    } else {
      const I s = sum(a, m), r = minus(s, m);
      const I moved = V::plus_one(V::minus_one(s, V::greater(r, a)), V::greater(a, r));
      return V::select(V::has_last_bit(s), s, moved);
    }
  }
};

}  // namespace binade::fast
