// SPDX-License-Identifier: Apache-2.0
//
// Results of operations to odd, by vectors of a level's unit V (avx2.h, avx512.h): the machine's, moved by what it lost, of
// which a fused operation tells the sign. Of a sum the rest is exact where additions go to nearest (Knuth, TAOCP 2, 4.2.2);
// where they name their rounding, two that differ tell that something was lost. A rounding of such a result to two bits
// less, in any direction, is that of the exact one (Boldo and Melquiond 2008, for which the least number that it may give
// must be four times the carrier's: of binary32's ways to 22 bits it is 2^-147 at least), and it is exact where nothing
// was lost.
//
// In doubt is a product, a quotient or a root whose rest may be less than the least number, a sum of a product that is
// not exact, and all that is near infinity.
#pragma once

#include <cstddef>
#include <cstdint>

#include "emulate/fast/elementwise.h"
#include "emulate/fast/vector_quantize.h"

namespace binade::fast {

/// The operations' results to odd, in Ts.
template <class V, std::floating_point T>
struct ExactLanes {
  using I = typename V::I;
  using F = typename V::F;
  using M = typename V::M;
  using Plan = RoundingPlan<T>;
  using Bits = typename Plan::Bits;

  static constexpr std::size_t group = 4 * V::lanes;
  static constexpr bool is_narrow = sizeof(T) == sizeof(float);
  /// Magnitudes, zeros left out: what smaller ones lose may be less than half the least number. 2^-100; 2^-900.
  static constexpr Bits least = static_cast<Bits>(Plan::carrier.bias - (is_narrow ? 100 : 900))
                                << Plan::carrier.fraction_bits();
  /// And from where a sum's rest may overflow on the way: 2^127; 2^1023.
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
  /// `x`: the machine's result, toward zero where an operation may name its rounding, else to nearest; `rest`: the exact
  /// one less that, or what has its sign. Sets bits of `lost` where there is one.
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

  /// Of two numbers, -0 being less than +0: their order as integers.
  static I lesser(I a, I b) {
    const I magnitude = V::set(Plan::magnitude_bits);
    const I order_a = V::bit_xor(a, V::where(V::has_sign(a), magnitude));
    const I order_b = V::bit_xor(b, V::where(V::has_sign(b), magnitude));
    return V::select(V::greater(order_a, order_b), b, a);
  }

  /// What must not be near the carrier's least number.
  template <Operation operation>
  static I smaller(F a, F b, I magnitude) {
    if constexpr (operation == Operation::square_root) return V::bit_and(V::bits(a), magnitude);
    if constexpr (operation == Operation::divide) {
      return V::min(V::bit_and(V::bits(a), magnitude),
                    V::bit_and(V::bits(quotient(a, b)), magnitude));
    }
    return V::bit_and(V::bits(product(a, b)), magnitude);
  }
  /// Whether that is so for another reason than a zero operand.
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

  /// Whether some magnitude of a group is more than one.
  static bool any_more(I largest, Bits than) { return V::any(V::greater(largest, V::set(than))); }

  /// How far the results of some groups go; and, where that is to the end, whether many have one beyond the range.
  struct Computed {
    std::size_t end;
    bool overflows;
  };

  /// Results of whole groups from `at` up to n, as bits; up to the first group with one in doubt, whose own are written,
  /// too. `turns`: some sign. `whole`: what is lost is in doubt.
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
          // Of few bits it is exact.
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
          largest = V::max(largest, V::bit_and(V::bits(b), magnitude));  // 0 / infinity
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
  /// Null: for the definition.
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
