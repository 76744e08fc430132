// SPDX-License-Identifier: Apache-2.0
//
// `elementwise` of emulate/elementwise.h on floats: in binary64, whose result is either exact or cannot be mistaken for
// another once it is rounded to at most 24 bits, then by the tiles of quantize_tile.h.
//
//     product           24 + 24 bits: exact
//     sum, fused sum    to odd (double_double.h): the last bit stands for all that lies below it
//     quotient, root    of 24-bit operands they keep 2^-50 of themselves away from every number of up to 25 bits that
//                       they are not: neither a result nor the middle between two is reached by rounding to 53 bits
//     minimum, maximum  an operand: exact
//
// Stochastic rounding asks 32 bits below the result's last, which sums and products have for precisions up to 20.
#pragma once

#include <cstddef>
#include <cstdint>

#include "emulate/elementwise.h"
#include "emulate/fast/rounding.h"

namespace binade::fast {

/// Where operands stand; who has fewer repeats one.
struct ElementOperands {
  const float *a, *b, *c;
};

/// Signs that are turned, as bits of a T: of what is added and of the sum. -(-x - y) is -0 toward negative, where x + y,
/// to nearest, is +0; the greater of x and y is -(the lesser of -x and -y).
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
  const bool turns = is_greater || (adds && rounding == Rounding::toward_negative);
  const Bits all = turns ? sign : 0;
  return {all, operation == Operation::subtract ? all ^ sign : all, all};
}

/// Results of operations that end in no rounding, counted; NaNs that keep their payloads are the definition's.
struct SpecialResults {
  bool nan_is_known = false;
  float nan = 0, invalid = 0;
  float infinity[2]{};  ///< by sign

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

void elementwise(const float* a, const float* b, const float* c, float* out, std::size_t n,
                 std::uint64_t first, const Elementwise& how, EventCounts& counts);

}  // namespace binade::fast
