// SPDX-License-Identifier: Apache-2.0
//
// Matrix products that are exact up to one final rounding: the value that every order of a sum,
// every instruction and every kernel approximates.
#pragma once

#include <cstddef>
#include <span>

#include "emulate/attributes.h"

namespace binade {

/// The operands of alpha·Σ a·b + beta·c. Matrices hold numbers of binary32; alpha and beta are
/// binary64.
struct ExactGemm {
  std::size_t m = 0, n = 0, k = 0;
  std::span<const float> a{};  ///< m × k, row after row
  std::span<const float> b{};  ///< n × k: the columns of the right-hand matrix, one after the other
  const float* c = nullptr;    ///< null: C is 0
  /// Distance, in elements, from one row, or column, of c to the next.
  std::size_t c_row = 0, c_column = 0;
  double alpha = 1, beta = 1;
  Rounding rounding = Rounding::ties_to_even;
};

/// Computes each element exactly and rounds it once to binary32, by x.rounding. ties_to_even gives
/// the element itself; with rounding to odd the caller can round once more, to 22 bits or fewer,
/// and gets the exact number rounded to them. An exact result of 0 gives +0. Infinities and NaNs
/// among the operands give what IEEE 754 gives for the same terms in any order. `d` is m × n, row
/// after row.
void exact_gemm(const ExactGemm& x, std::span<float> d);

}  // namespace binade
