// SPDX-License-Identifier: Apache-2.0
//
// How far an element of D may be from the exact value by the rules of its model, and how far it is.
// The error is exact. The bounds are rigorous: they are computed with upward rounding and are never
// below the largest possible error.
//
// Let P be the exact sum of all that an accumulator has received, and E a bound on the
// accumulator's distance from P. A step adds products p_i. The accumulator's magnitude is at most
// |P| + E. P' and E' are P and E after the step's products are added.
//
//   fused block   The terms are aligned to at most t = the largest of the floor, the products' exponents
//                 (also those of zeros, in models in which they count) and the exponent of |P| + E.
//                 Cutting at u = 2^(t-F) takes |p_i| mod u from a product, which grows with u, and less
//                 than u from the accumulator. The sum is rounded into the grid: one unit in the last
//                 place of |P'| + E', half of it to nearest, and no less than the subnormal one.
//   operation     fma: one rounding at |P'| + E; product and sum: two.
//   parts         E1 + E2, and one rounding at |P1 + P2| + E1 + E2.
//   epilogue      |alpha|·E, and a rounding for each operation.
//
// `bound` follows the model's own order. `any_order` holds for every permutation of the products:
// there |P| is replaced by Σ|a·b| and t by the largest exponent of any product, and every block of
// L products loses (L+1)·u.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "emulate/gemm.h"
#include "lib/number/exact_sum.h"
#include "lib/number/upper.h"

namespace binade {

/// The model's D of one element, its exact value and the bounds of its error.
struct ElementBound {
  /// Whether a NaN or an infinity is among the operands, on the way or in D. If so, the members
  /// below `result` are not set.
  bool special = false;
  std::uint64_t result = 0;  ///< the model's D
  bool negative = false;     ///< whether the exact value is below 0
  ExactSum exact;            ///< |exact|
  ExactSum products;         ///< Σ|a·b|
  ExactSum error;            ///< |D - exact|
  Upper bound;               ///< of |D - exact|, in the model's order
  Upper any_order;           ///< of |D - exact|, in any order of the products
  /// The same two, if D's last rounding may go in any direction.
  Upper bound_any_direction, any_order_any_direction;
  /// γ_K·Σ|a·b|, the bound of K operations in binary32 rounded to nearest, with u = 2^-24 (Higham,
  /// Accuracy and Stability of Numerical Algorithms, 3.1). It is empty if K >= 2^24.
  std::optional<Upper> classical;
};

/// Returns the bounds and the error of one element. Throws Error if the product has no exact value,
/// as `account` does (account.h).
ElementBound bound_of(const GemmModel& model, const GemmElement<std::uint64_t>& element);

/// How the bits that a user gives for an element relate to the model's.
enum class Agreement : std::uint8_t {
  equal,             ///< the bits are the model's
  within_bound,      ///< other bits, no further from the exact value than the model may be, with
                     ///< any direction of D's last rounding
  within_any_order,  ///< no further than the model may be with the products in another order, too
  beyond_bound,      ///< further than any order of the products allows: the bits are wrong
  special,  ///< other bits, and the given or the model's element involves a NaN or an infinity
};
inline constexpr std::string_view agreement_names[]{
    "equal", "within bound", "within any order's bound", "beyond bound", "special"};

/// Returns |given - exact|, where `given` encodes a finite D in the epilogue's output format and
/// the element is not special.
ExactSum error_of(const GemmModel& model, const ElementBound& element, std::uint64_t given);

Agreement agreement_of(const GemmModel& model, const ElementBound& element, std::uint64_t given);

}  // namespace binade
