// SPDX-License-Identifier: Apache-2.0
//
// Matrix products that lose nothing before their one rounding: what every order of a sum, every instruction and every
// kernel is an approximation of.
#pragma once

#include <cstddef>
#include <span>

#include "emulate/attributes.h"

namespace binade {

/// alpha · Σ a·b + beta · c of numbers of binary32, alpha and beta of binary64.
struct ExactGemm {
  std::size_t m = 0, n = 0, k = 0;
  std::span<const float> a{};           ///< m × k
  std::span<const float> b{};           ///< n × k: a column of the product after another
  const float* c = nullptr;             ///< none: 0
  std::size_t c_row = 0, c_column = 0;  ///< elements from one row, or column, of c to the next
  double alpha = 1, beta = 1;
  Rounding rounding = Rounding::ties_to_even;
};

/// Each element's exact number, rounded once to binary32. Ties to even that is the element; to odd, whoever rounds it once
/// more, to 22 bits or fewer, rounds the exact number. A sum of 0 is +0. Infinities and NaNs are what IEEE 754 makes of
/// the same terms, in whatever order.
void exact_gemm(const ExactGemm& x, std::span<float> d);

}  // namespace binade
