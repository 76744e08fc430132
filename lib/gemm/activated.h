// SPDX-License-Identifier: Apache-2.0
//
// What D can be behind a smooth activation. The value before it is known bit by bit; which binary32
// operations a kernel evaluates the formula with is not, only between which bounds their result
// lies. Rounded to a narrow D, both ends mostly give the same code: such an
// element is decided. If they do not, each code between them agrees, and nothing follows.
//
//     a value before gelu       0x40490FDB = 3.14159274
//     its range                 [3.13893, 3.13894]
//     in bf16                   0x4049 and 0x4049: decided
#pragma once

#include <cstdint>

#include "emulate/gemm.h"

namespace binade {

/// Returns a model whose D is the value before the activation, in binary32.
GemmModel before_activation(GemmModel g);

/// The codes of D for a value before the activation.
struct ActivatedCodes {
  std::uint64_t exact = 0;          ///< of the exact activation, as the model gives it
  std::uint64_t low = 0, high = 0;  ///< of the ends of its range; low is not above high

  /// Returns whether the steps of the formula make no difference.
  bool is_decided() const { return low == high; }
};

/// Returns the codes of an epilogue with a smooth activation for an encoding of binary32. `index`
/// is the element's number in D, by which stochastic rounding draws.
ActivatedCodes activated_codes(const Epilogue& e, std::uint64_t value, std::uint64_t index);

/// The same if the value is off by up to `reach`, and D is rounded in any direction: an activation
/// changes by less than 1.13 times what its argument does.
ActivatedCodes reached_codes(const Epilogue& e, std::uint64_t value, double reach,
                             std::uint64_t index);

/// Returns whether a code of D lies between the ends; of no number, whether it is the exact code.
bool is_within(const ActivatedCodes& x, std::uint64_t code, const Format& out);

/// At least so many of all elements must be decided for a conclusion.
constexpr bool are_enough(std::uint64_t decided, std::uint64_t all) {
  return 10 * decided >= 9 * all;
}

}  // namespace binade
