// SPDX-License-Identifier: Apache-2.0
//
// The two methods of emulate/fast/rounding.h by vectors of V: magnitudes onto the grid of a format,
// equal to the rounding of `project` (emulate/project.h). V is the level's vector unit (avx2.h,
// avx512.h): a struct of types and functions for its vectors. Beside the rounded magnitude r each
// lane gets what its code is made of (CodeParts). Where the unit's addition can name its rounding
// (AVX-512), directed roundings are one addition.
//
// M is 2^drop times the power of two of a (at least of the smallest normal number), so its ulp is
// the format's:
//
//     a                1.ffff xxxx xxxx · 2^e                drop = 8
//     S = a + M        1.0000 0001 ffff · 2^(e + drop)       r = S - M; other roundings move S by its last bit first
//
//     field of 1.5 in binary16 (drop = 13): 1.5 lies 127 - 113 = 14 binades above the least normal number, 2^-14
//         S = 2^13 + 1.5, and the ulp of M = 2^13 is 2^-10: S - M, subtracted as integers, is 1536 ulps
//         14 << 10                01110 0000000000
//         + 1536                + 00001 1000000000    with the leading bit, which adds 1 to the exponent
//         field                 = 01111 1000000000    0x3E00, binary16's code of 1.5; a subnormal has no leading bit
//
// Codes of 8 bits drop so many bits that S - M lies in the lower half of S, and the exponent of M
// in the upper half: multiplied by weights and added, they are the field and a constant.
//
//     S of 1.5 in e4m3       0 10010011 0000000 | 0000000000001100        M = 2^20, drop = 20; 12 ulps
//     2 · upper + 32 · lower   147 · 2^8 + 32 · 12; less 141 · 2^8, M's of the least normal number: 32 · 60, code 0x3C
#pragma once

#include <concepts>

#include "emulate/fast/rounding.h"

namespace binade::fast {

/// True if V's additions can name their rounding, as the intrinsics number it: 1 down, 2 up, 3
/// toward zero.
template <class V>
concept NamesRounding = requires(typename V::F x) {
  V::template add<1>(x, x);
};

/// What codes are made of: exponent and fraction in the format; and of codes of 8 bits, where M was
/// added, the sum of the weighted halves of S.
template <class V>
struct CodeParts {
  typename V::I field, sum;
};

/// RoundingMethod::cut: an increment is added, and the lowest bits are cleared.
template <class V, std::floating_point T>
struct CutLanes {
  using I = typename V::I;
  using Plan = RoundingPlan<T>;
  using Bits = typename Plan::Bits;
  static constexpr RoundingMethod method = RoundingMethod::cut;

  int drop, random_shift, word_right, word_left;
  I last, kept, rest, half, below_half, odd;

  explicit CutLanes(const Plan& plan)
      : drop(plan.drop),
        random_shift(32 - plan.random_bits),
        word_right(plan.drop < 32 ? 32 - plan.drop : 0),
        word_left(plan.drop < 32 ? 0 : plan.drop - 32) {
    const Bits ulp = Bits{1} << drop;
    last = V::set(plan.last);
    kept = V::set(~(ulp - 1));
    rest = V::set(ulp - 1);
    half = V::set(ulp >> 1);
    below_half = V::set(drop == 0 ? 0 : (ulp >> 1) - 1);
    odd = V::set(drop == 0 ? 0 : 1);
  }

  /// Rounds magnitudes `operand`. `x` has their signs, which directed roundings read; `random` has
  /// words, which stochastic rounding reads. Returns the rounded magnitudes; `field` is right where
  /// they are in the format's range. Operands are at most `last`.
  template <Rounding rounding>
  I round(I operand, I x, I random, CodeParts<V>& code) const {
    I a = operand;
    if constexpr (rounding == Rounding::ties_to_even) {
      const I parity = V::bit_and(V::shift_right(a, drop), odd);
      a = V::add(V::add(a, below_half), parity);
    } else if constexpr (rounding == Rounding::ties_to_away) {
      a = V::add(a, half);
    } else if constexpr (rounding == Rounding::ties_toward_zero) {
      a = V::add(a, below_half);
    } else if constexpr (rounding == Rounding::toward_positive) {
      a = V::add(a, V::select_by_sign(x, V::zero(), rest));
    } else if constexpr (rounding == Rounding::toward_negative) {
      a = V::add(a, V::select_by_sign(x, rest, V::zero()));
    } else if constexpr (rounding == Rounding::to_odd) {
      const auto is_odd = V::has_last_bit(V::shift_right(a, drop));
      a = V::add(a, V::select(is_odd, V::zero(), rest));
    } else if constexpr (rounding == Rounding::stochastic) {
      // The word is aligned with the highest of the bits that are cut off; bits below the word
      // cannot make a carry.
      const I word = V::bit_and(V::shift_left(random, random_shift), V::set(0xFFFFFFFF));
      a = V::add(a, V::shift_left(V::shift_right(word, word_right), word_left));
    }
    code.field = V::shift_right(a, drop);
    return V::bit_and(a, kept);
  }

  /// Packs the fields of several vectors.
  template <class Codes>
  I pack(const I* field, const I*) const {
    return Codes::pack(field);
  }
};

/// RoundingMethod::carrier: the machine's own addition of M, a power of two, rounds.
template <class V, std::floating_point T>
struct CarrierLanes {
  using I = typename V::I;
  using F = typename V::F;
  using Plan = RoundingPlan<T>;
  using Bits = typename Plan::Bits;
  static constexpr RoundingMethod method = RoundingMethod::carrier;

  int random_shift;
  I drop;  ///< in each lane
  I magnitude, exponent, last, min_normal, lowest_m, one, per_ulp, word_bits;
  I weights = V::zero(), lowest_sum = V::zero(), inverse = V::zero();  ///< of sums

  explicit CarrierLanes(const Plan& plan)
      : random_shift(32 - plan.random_bits),
        drop(V::set(static_cast<Bits>(plan.drop))),
        magnitude(V::set(Plan::magnitude_bits)),
        exponent(V::set(Plan::infinity)),
        last(V::set(plan.last)),
        min_normal(V::set(plan.min_normal)),
        lowest_m(V::set(plan.lowest_m)),
        one(V::set(1)),
        // As bits, this minus M is 2^32 / ulp.
        per_ulp(
            V::set(static_cast<Bits>(2 * Plan::carrier.bias + 32 + Plan::carrier.fraction_bits())
                   << Plan::carrier.fraction_bits())),
        word_bits(V::set(0xFFFFFFFF)) {
    const int left = plan.drop - 15;  // 1 to 8 for codes of 8 bits
    if (sizeof(T) > sizeof(float) || left < 1 || left > 8) return;
    weights = V::set(static_cast<Bits>(2 << 16 | 1 << left));
    lowest_sum = V::set(static_cast<Bits>(plan.lowest_m >> 15 | plan.lowest_m >> 15 << 16));
    inverse = V::set(static_cast<Bits>(0x10001U << (16 - left)));
  }

  template <Rounding rounding>
  I round(I a, I x, I random, CodeParts<V>& code) const {
    // Binades above the lowest, in the exponent's place: a subtraction of the first 16 bits, held
    // at 0.
    const I binades = V::sub_to_zero(V::bit_and(a, exponent), min_normal);
    const I m = V::add(binades, lowest_m);
    I s, s_m = m;  // S, and M with its sign
    if constexpr (rounding == Rounding::ties_to_even) {
      s = sum(a, m);
    } else if constexpr (rounding == Rounding::ties_to_away) {
      // At least two bits are dropped, so that a tie ends in a 0; with a 1 there it is more than a
      // tie.
      s = sum(V::bit_or(a, one), m);
    } else if constexpr (rounding == Rounding::ties_toward_zero) {
      // With the last bit of the number below, a tie is less than one; what ends in a 1 stays.
      s = sum(V::bit_or(V::minus_one(a, V::greater(a, V::zero())), one), m);
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
    // S - M as integers counts ulps.
    code.field = V::add(V::shift_right_each(binades, drop), V::sub(s, s_m));
    const I r = minus(s, s_m);
    constexpr bool is_signed = NamesRounding<V> && (rounding == Rounding::toward_positive ||
                                                    rounding == Rounding::toward_negative);
    if constexpr (requires { V::mul_pairs(s, weights); }) {
      code.sum = V::mul_pairs(is_signed ? V::bit_and(s, magnitude) : s, weights);
    }
    return is_signed ? V::bit_and(r, magnitude) : r;
  }

  template <class Codes>
  I pack(const I* field, const I* sum) const {
    if constexpr (Codes::vectors == 4) {
      return Codes::pack_sums(sum, lowest_sum, inverse);
    } else {
      return Codes::pack(field);
    }
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
