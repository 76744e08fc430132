// SPDX-License-Identifier: Apache-2.0
//
// The definition of one element of a Tensor Core's matrix product: D = C + sum of a[k] b[k] as the
// hardware rounds it, on exact numbers, one rule after the other. It shares no code with what it
// judges. Every rule that recorded rows of real GPUs can distinguish from a similar one can be set
// wrong on purpose, so that a test can show that the rows do. This header does not include
// Boost.Multiprecision; the source does.
#pragma once

#include <cstdint>
#include <span>

#include "tests/oracle/oracle.h"

namespace oracle {

/// The algorithm of a sum.
enum class Recipe {
  /// Fused sums of `block_length` products and C, lowest k first; the rounded sum of one block is
  /// the C of the next.
  blocks,
  /// FP8 on chips without FP8 multipliers: operands become binary16, the 32 or 16 products are
  /// summed from +0 in two chains (k = 0, 1, 4, 5, ..., then the others), and C is added to the
  /// rounded sum, to nearest even. For 16 products ptxas 13.0 writes HMMA.1688 twice.
  expanded,
  /// D = fma(a[k], b[k], D), k ascending, from D = C, rounded by IEEE 754; in binary64 in hardware.
  fma_chain,
};

/// The format of D.
enum class Result {
  binary16,
  binary32,
  binary32_of_14_digits,  ///< binary32 codes whose last ten bits are zero
  binary64,
};

/// How a term is rounded to the last place of the fused sum.
enum class Cut {
  toward_zero,   ///< as the hardware does
  downward,      ///< wrong: two's complement
  sticky_sum,    ///< wrong: one more bit of the sum, set where any term lost anything
  sticky_terms,  ///< wrong: one more bit of each term, set where it lost anything
  nearest_even,  ///< wrong
};

struct DotRules {
  int block_length = 16;
  int fraction_bits = 25;     ///< number of places kept below the largest exponent
  int exponent_floor = -133;  ///< the largest exponent counts as at least this
  Result result = Result::binary32;
  Way way = Way::to_zero;  ///< how a sum is rounded to a Result
  Recipe recipe = Recipe::blocks;

  // These rules make the oracle wrong on purpose when they are not the default.
  Cut cut = Cut::toward_zero;
  /// The sum of the products is aligned with C in a second step.
  bool c_after_products = false;
  bool normalized_products = false;  ///< a product's exponent is its own, not its factors' sum
  bool flushed_operands = false;     ///< subnormal a[k], b[k] read as zero
  bool highest_block_first = false;
  bool contiguous_halves = false;  ///< expanded: k = 0..15, then 16..31
  bool c_in_chain = false;         ///< expanded: the chains begin with C in the place of +0
};

/// Returns the bits of D. A NaN is all ones without the sign; in binary64 it is 0x7FF8000000000000,
/// which claims no more than that D is a NaN. Throws std::invalid_argument if a and b differ in
/// length or are empty, or if the recipe is not defined for their length.
std::uint64_t dot(const DotRules& rules, const Spec& a_spec, const Spec& b_spec, const Spec& c_spec,
                  std::span<const std::uint64_t> a, std::span<const std::uint64_t> b,
                  std::uint64_t c);

}  // namespace oracle
