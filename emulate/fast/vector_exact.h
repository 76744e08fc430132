// SPDX-License-Identifier: Apache-2.0
//
// Results of operations rounded to odd, by vectors of V in its own numbers T, float or double:
// toward zero, with the last bit set where anything was lost. V is the level's vector unit (avx2.h,
// avx512.h): a struct of types and functions for its vectors. A second rounding of such a result,
// to two bits less or fewer and in any direction, is that of the exact one (Boldo and Melquiond
// 2008; the least number that it can give must be four times T's: in binary32's case, to at most 22
// bits, it is at least 2^-147).
//
//     a + b in binary32        1 + 2^-30     1 - 2^-30
//     s, to nearest            0x3F800000    0x3F800000    1
//     rest = a + b - s         +2^-30        -2^-30        other sign than s: s lies beyond the exact sum
//     toward zero, to odd      0x3F800001    0x3F7FFFFF    s - 1 as an integer where s lies beyond, then | 1
//
// The rest of a sum is exact (Knuth, TAOCP 2, 4.2.2); a fused multiply-add gives the rest of other
// operations, or its sign. With additions that name their rounding, a sum was inexact if it differs
// when rounded down and up. Undecided are products, quotients and roots whose rest may be less than
// T's least number, sums of an inexact product, and all results near infinity.
#pragma once

#include <cstddef>
#include <cstdint>

#include "emulate/fast/elementwise.h"
#include "emulate/fast/vector_quantize.h"

namespace binade::fast {

/// The operations in lanes of Ts, to odd.
template <class V, std::floating_point T>
struct ExactLanes {
  using I = typename V::I;
  using F = typename V::F;
  using M = typename V::M;
  using Plan = RoundingPlan<T>;
  using Bits = typename Plan::Bits;

  static constexpr std::size_t group = 4 * V::lanes;
  static constexpr bool is_narrow = sizeof(T) == sizeof(float);
  /// 2^-100 or 2^-900: what a nonzero result below it loses may be less than half of T's least
  /// number.
  static constexpr Bits least = static_cast<Bits>(Plan::carrier.bias - (is_narrow ? 100 : 900))
                                << Plan::carrier.fraction_bits();
  /// 2^127 or 2^1023: from here on the steps to a sum's rest may overflow.
  static constexpr Bits most = static_cast<Bits>(2 * Plan::carrier.bias)
                               << Plan::carrier.fraction_bits();

  static F product(F a, F b) {
    if constexpr (NamesRounding<V>) {
      return V::template mul<3>(a, b);
    } else {
      return V::mul(a, b);
    }
  }
  static F quotient(F a, F b) {
    if constexpr (NamesRounding<V>) {
      return V::template div<3>(a, b);
    } else {
      return V::div(a, b);
    }
  }
  static F root(F a) {
    if constexpr (NamesRounding<V>) {
      return V::template root<3>(a);
    } else {
      return V::root(a);
    }
  }
  /// Rounds to odd. `x` is the machine's result: toward zero where operations name their rounding,
  /// else to nearest. `rest` has the sign of the exact result minus x, or is 0. Sets the last bit
  /// of `lost` in the lanes that lost something.
  static I to_odd(F x, F rest, I& lost) {
    const M is_lost = V::nonzero(rest);
    I bits = V::bits(x);
    if constexpr (!NamesRounding<V>) {  // toward zero
      const M is_beyond = V::has_sign(V::bit_xor(V::bits(rest), bits));
      bits = V::minus_one(bits, V::both(is_lost, is_beyond));
    }
    const I last = V::where(is_lost, V::set(1));
    lost = V::bit_or(lost, last);
    return V::bit_or(bits, last);
  }
  static I sum(F a, F b, I& lost) {
    if constexpr (NamesRounding<V>) {
      const M is_lost = V::differ(V::template add<1>(a, b), V::template add<2>(a, b));
      const I last = V::where(is_lost, V::set(1));
      lost = V::bit_or(lost, last);
      return V::bit_or(V::bits(V::template add<3>(a, b)), last);
    } else {
      const F s = V::add(a, b);
      const F b_part = V::sub(s, a);
      return to_odd(s, V::add(V::sub(a, V::sub(s, b_part)), V::sub(b, b_part)), lost);
    }
  }

  /// Returns the lesser of two numbers, where -0 is less than +0: floats with turned magnitudes are
  /// ordered as integers.
  static I lesser(I a, I b) {
    const I magnitude = V::set(Plan::magnitude_bits);
    const I order_a = V::bit_xor(a, V::where(V::has_sign(a), magnitude));
    const I order_b = V::bit_xor(b, V::where(V::has_sign(b), magnitude));
    return V::select(V::greater(order_a, order_b), b, a);
  }

  /// Returns the magnitude that must not be near T's least number: the operand's, the result's or
  /// the lesser of both.
  template <Operation operation>
  static I smaller(F a, F b, I magnitude) {
    if constexpr (operation == Operation::square_root) return V::bit_and(V::bits(a), magnitude);
    if constexpr (operation == Operation::divide) {
      return V::min(V::bit_and(V::bits(a), magnitude),
                    V::bit_and(V::bits(quotient(a, b)), magnitude));
    }
    return V::bit_and(V::bits(product(a, b)), magnitude);
  }
  /// Returns whether a group has such a magnitude for another reason than a zero operand.
  template <Operation operation>
  [[gnu::noinline]] static bool has_small(const ElementOperands& x, std::size_t at) {
    const I magnitude = V::set(Plan::magnitude_bits);
    bool found = false;
    for (std::size_t i = at; i < at + group; i += V::lanes) {
      const F a = V::load_floats(x.a + i), b = V::load_floats(x.b + i);
      const I factor = V::min(V::bit_and(V::bits(a), magnitude), V::bit_and(V::bits(b), magnitude));
      const M is_small = V::greater(V::set(least), smaller<operation>(a, b, magnitude));
      found = found || V::any(V::but_not(is_small, V::equal(factor, V::zero())));
    }
    return found;
  }

  /// Returns whether some lane is larger than `than`.
  static bool any_more(I largest, Bits than) { return V::any(V::greater(largest, V::set(than))); }

  /// The element up to which results were computed; and, where that is n, whether the lanes with a
  /// result beyond the range are more than a quarter of the number of groups.
  struct Computed {
    std::size_t end;
    bool overflows;
  };

  /// Computes whole groups from `at` up to n and stores their results as bits in `out`. Ends with
  /// the first group that has an undecided result; that group's results are stored, too. `turns`
  /// says that `turned` changes signs, `whole` that a result is undecided as soon as it lost
  /// anything.
  template <Operation operation, bool turns, bool whole>
  static Computed compute(const ElementOperands& x, std::size_t at, std::size_t n,
                          const TurnedSigns<Bits>& turned, Bits max, Bits* out) {
    constexpr bool adds = operation == Operation::add || operation == Operation::multiply_add;
    constexpr bool selects = operation == Operation::minimum;
    const I magnitude = V::set(Plan::magnitude_bits);
    const I left = V::set(turned.left), right = V::set(turned.right), all = V::set(turned.result);
    const auto turn = [&](I a, I signs) { return turns ? V::bit_xor(a, signs) : a; };
    const auto sum_of = [&](F a, F b, I& lost) {
      return sum(V::number(turn(V::bits(a), left)), V::number(turn(V::bits(b), right)), lost);
    };
    I beyond = V::zero();
    const std::size_t begin = at;
    bool in_doubt = false;
    for (; at < n; at += group) {
      I largest = V::zero(), smallest = magnitude, lost = V::zero(), of_products = V::zero();
      for (std::size_t i = at; i < at + group; i += V::lanes) {
        const F a = V::load_floats(x.a + i);
        F b = a;
        if constexpr (operation != Operation::square_root) b = V::load_floats(x.b + i);
        I r;
        if constexpr (operation == Operation::add) {
          r = sum_of(a, b, lost);
        } else if constexpr (operation == Operation::multiply) {
          // Operands of few bits have exact products, for which a group's rests are all 0.
          const F p = product(a, b);
          of_products = V::bit_or(of_products, V::bits(V::mul_sub(a, b, p)));
          r = V::bits(p);
          smallest = V::min(smallest, V::bit_and(r, magnitude));
        } else if constexpr (operation == Operation::divide) {
          const F q = quotient(a, b);
          const I rest = V::bits(V::sub_mul(a, q, b));
          r = to_odd(q, V::number(V::bit_xor(rest, V::and_not(V::bits(b), magnitude))), lost);
          smallest = V::min(smallest, V::min(V::bit_and(V::bits(a), magnitude),
                                             V::bit_and(V::bits(q), magnitude)));
          largest = V::max(largest, V::bit_and(V::bits(b), magnitude));  // x / infinity
        } else if constexpr (operation == Operation::square_root) {
          const F s = root(a);
          r = to_odd(s, V::sub_mul(a, s, s), lost);
          smallest = V::min(smallest, V::bit_and(V::bits(a), magnitude));
        } else if constexpr (selects) {
          const I of_a = turn(V::bits(a), left), of_b = turn(V::bits(b), right);
          r = lesser(of_a, of_b);
          largest =
              V::max(largest, V::max(V::bit_and(of_a, magnitude), V::bit_and(of_b, magnitude)));
        } else {
          const F p = product(a, b);
          if constexpr (is_narrow) {
            of_products = V::bit_or(of_products, V::bits(V::mul_sub(a, b, p)));
            smallest = V::min(smallest, V::bit_and(V::bits(p), magnitude));
          }
          r = sum_of(p, V::load_floats(x.c + i), lost);
        }
        if constexpr (adds || selects) r = turn(r, all);
        largest = V::max(largest, V::bit_and(r, magnitude));
        V::store(out + i, r);
      }
      if (any_more(V::bit_and(of_products, magnitude), 0)) {
        if constexpr (operation == Operation::multiply) {
          for (std::size_t i = at; i < at + group; i += V::lanes) {
            const F a = V::load_floats(x.a + i), b = V::load_floats(x.b + i), p = product(a, b);
            V::store(out + i, to_odd(p, V::mul_sub(a, b, p), lost));
          }
        } else {
          in_doubt = true;
        }
      }
      if constexpr (whole) in_doubt = in_doubt || any_more(lost, 0);
      if constexpr (operation != Operation::add && !selects) {
        if (V::any(V::greater(V::set(least), smallest))) {
          in_doubt = in_doubt || has_small<operation>(x, at);
        }
      }
      if (in_doubt || any_more(largest, most - 1)) return {at, true};
      beyond = V::plus_one(beyond, V::greater(largest, V::set(max)));
    }
    return {n, V::total(beyond) * group * 4 > n - begin};
  }

  using Compute = Computed (*)(const ElementOperands& x, std::size_t at, std::size_t n,
                               const TurnedSigns<Bits>& turned, Bits max, Bits* out);
  /// Returns the function for an operation; null for the remainder, which only the definition does.
  static Compute compute_of(Operation operation, bool turns, bool whole) {
    switch (operation) {
      case Operation::add:
      case Operation::subtract: return compute_of<Operation::add>(turns, whole);
      case Operation::multiply: return compute_of<Operation::multiply>(turns, whole);
      case Operation::divide: return compute_of<Operation::divide>(turns, whole);
      case Operation::square_root: return compute_of<Operation::square_root>(turns, whole);
      case Operation::multiply_add: return compute_of<Operation::multiply_add>(turns, whole);
      case Operation::minimum:
      case Operation::maximum:
      case Operation::minimum_number:
      case Operation::maximum_number: return compute_of<Operation::minimum>(true, false);
      case Operation::remainder: return nullptr;
    }
    return nullptr;
  }

 private:
  template <Operation operation>
  static Compute compute_of(bool turns, bool whole) {
    if constexpr (is_narrow) {
      if (whole) return &compute<operation, true, true>;
    }
    constexpr bool adds = operation == Operation::add || operation == Operation::multiply_add;
    return turns || !adds ? &compute<operation, true, false> : &compute<operation, false, false>;
  }
};

}  // namespace binade::fast
