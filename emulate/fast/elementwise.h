// SPDX-License-Identifier: Apache-2.0
//
// `elementwise` of emulate/elementwise.h on floats, equal in every bit and count. The operation is
// done in binary64, whose result is exact or rounds to the same number of at most 24 bits as the
// exact one; the tiles of quantize_tile.h round it.
//
//     product           24 + 24 bits: exact
//     sum, fused sum    rounded to odd (double_double.h): the last of 53 bits is 1 where anything below it was lost
//                           1xxxxxxxxxxxxxxxxxxxxxxx|xxxx…xxx1      p bits | still a tie, or more or less than one
//     quotient, root    of 24-bit operands they keep 2^-50 of themselves away from every number of up to 25 bits that
//                       they are not: neither a result nor the middle between two is reached by rounding to 53 bits
//     minimum, maximum  an operand: exact
//
// Stochastic rounding needs 32 bits below the result's last one, which sums and products have for
// precisions up to 20. The definition does what neither this nor the tiles know: the remainder,
// FTZ, DAZ, and sums toward negative.
#pragma once

#include <cstddef>
#include <cstdint>

#include "emulate/elementwise.h"
#include "emulate/fast/rounding.h"

namespace binade::fast {

/// The operands' arrays. For an operation with fewer than three, the others repeat one of them.
struct ElementOperands {
  const float *a, *b, *c;
};

/// Masks of T's sign bit, by which the left and the right operand of the final sum or choice, and
/// its result, change sign. Toward negative, a sum x + y is computed as -(-x - y), since x - x must
/// then be -0 and the machine's is +0. A maximum of x and y is computed as -(minimum of -x and -y),
/// and a difference as a sum.
template <class Bits>
struct TurnedSigns {
  Bits left, right, result;
};

template <std::floating_point T>
TurnedSigns<typename Carrier<T>::Bits> turned_signs(Operation operation, Rounding rounding) {
  using Bits = typename Carrier<T>::Bits;
  const bool adds = operation == Operation::add || operation == Operation::subtract ||
                    operation == Operation::multiply_add;
  constexpr Bits sign = ~RoundingPlan<T>::magnitude_bits;
  const bool is_greater = operation == Operation::maximum || operation == Operation::maximum_number;
  const bool turns = is_greater || (adds && zero_sum_is_negative(rounding));
  const Bits all = turns ? sign : 0;
  return {all, operation == Operation::subtract ? all ^ sign : all, all};
}

/// Results of operations that end without a rounding, as floats of the format `to`. Where NaNs keep
/// payloads, the definition does them.
struct SpecialResults {
  bool nan_is_known = false;   ///< no operand's payload is kept
  float nan = 0, invalid = 0;  ///< where an operand is a NaN; where the operation makes one
  float infinity[2]{};         ///< positive, negative

  explicit SpecialResults(const Elementwise& how)
      : nan_is_known(how.attributes.nan != NanResult::propagate),
        nan(of({.kind = Kind::nan}, how)),
        invalid(of(invalid_result(), how)),
        infinity{of({.kind = Kind::infinite}, how),
                 of({.kind = Kind::infinite, .negative = true}, how)} {}
  static float of(const Exact& x, const Elementwise& how) {
    return value_of<float>(project(x, how.to, how.attributes).bits, how.to);
  }
};

/// Sets out[i] = operation(a[i], b[i], c[i]), rounded once to how.to, for i < n; out may be an
/// operand. a[0] is element `first` of its stream of random words. Adds to `counts`.
void elementwise(const float* a, const float* b, const float* c, float* out, std::size_t n,
                 std::uint64_t first, const Elementwise& how, EventCounts& counts);

}  // namespace binade::fast
