// SPDX-License-Identifier: Apache-2.0
//
// How far an element may be from the exact value, by the rules of its model, and how far it is. The
// error is exact, the bounds are rigorous: computed with directed rounding, never below the truth.
//
// Let P be the exact sum of what an accumulator holds and E a bound on how far the accumulator is from it.
// A step adds products p_i: |sum| <= |P| + E.
//
//   fused block   The terms are aligned to at most t = the largest of the floor, the products' exponents
//                 and the exponent of |P| + E. Cutting at u = 2^(t-F) takes |p_i| mod u from a product, which
//                 grows with u, and less than u from the accumulator. The sum is rounded into the grid:
//                 one unit in the last place of |P'| + E', half of it to nearest, and no less than the
//                 subnormal one.
//   operation     fma: one rounding at |P'| + E; product and sum: two.
//   parts         E1 + E2, and one rounding at |P1 + P2| + E1 + E2.
//   epilogue      |alpha|·E, and a rounding for each operation.
//
// `bound` follows the model's own order. `any_order` holds for every permutation of the products: |P| is
// replaced by Σ|a·b| and t by the largest exponent anywhere, every block losing (L+1)·u.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "emulate/gemm.h"
#include "lib/number/exact_sum.h"
#include "lib/number/upper.h"

namespace binade {

/// The model's D beside the exact value, of one element.
struct ElementBound {
  /// A NaN or an infinity in the operands, on the way or in D: no number below it counts.
  bool special = false;
  std::uint64_t result = 0;  ///< the model's D
  bool negative = false;     ///< of the exact value
  ExactSum exact;            ///< |exact|
  ExactSum products;         ///< Σ|a·b|
  ExactSum error;            ///< |D - exact|
  Upper bound;
  Upper any_order;
  /// Nothing from K = 2^24 on.
  std::optional<Upper>
      classical;  ///< γ_K·Σ|a·b| of K operations in binary32 to nearest, u = 2^-24 (Higham 3.1)
};

/// Error as account's.
ElementBound bound_of(const GemmModel& model, const GemmElement<std::uint64_t>& element);

/// What the bits that somebody else gives for an element are.
enum class Agreement : std::uint8_t {
  equal,             ///< the model's bits
  within_bound,      ///< others, and no further from the exact value than the model may be
  within_any_order,  ///< no further than with the products in another order
  beyond_bound,      ///< wrong
  special,           ///< others, and a NaN or an infinity is among them
};
inline constexpr std::string_view agreement_names[]{
    "equal", "within bound", "within any order's bound", "beyond bound", "special"};

/// |given - exact|, of a finite D of an element that is not special.
ExactSum error_of(const GemmModel& model, const ElementBound& element, std::uint64_t given);

Agreement agreement_of(const GemmModel& model, const ElementBound& element, std::uint64_t given);

}  // namespace binade
