// SPDX-License-Identifier: Apache-2.0
//
// What one element of a Tensor Core matrix multiply is: D = C + sum of a[k] b[k] as the hardware
// rounds it, on exact numbers and by definition, one rule after the other. It shares no code with
// what it judges. Every rule that recorded rows of real GPUs can tell from its neighbours can be
// set wrong on purpose, so that a test can show that the rows do tell. Free of Boost.Multiprecision;
// the source is not.
#pragma once

#include <cstdint>
#include <span>

#include "tests/oracle/oracle.h"

namespace oracle {

enum class Recipe {
  /// Fused sums of `block_length` products and C, lowest k first; the rounded sum of one block is
  /// the C of the next.
  blocks,
  /// FP8 on chips without FP8 multipliers: operands become binary16, the 32 or 16 products are
  /// summed from +0 in two chains (k = 0, 1, 4, 5, ..., then the others), and C is added to the
  /// rounded sum, to nearest even. Of 16, ptxas 13.0 writes HMMA.1688 twice.
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

/// How a term loses what lies below the last place of the fused sum.
enum class Cut {
  toward_zero,   ///< the rule
  downward,      ///< wrong: two's complement
  sticky_sum,    ///< wrong: one more bit of the sum, set where any term lost anything
  sticky_terms,  ///< wrong: one more bit of each term, set where it lost anything
  nearest_even,  ///< wrong
};

struct DotRules {
  int block_length = 16;
  int fraction_bits = 25;     ///< places kept below the largest exponent
  int exponent_floor = -133;  ///< the largest exponent is at least this
  Result result = Result::binary32;
  Way way = Way::to_zero;  ///< how a sum becomes a Result
  Recipe recipe = Recipe::blocks;

  // Wrong on purpose.
  Cut cut = Cut::toward_zero;
  /// The sum of the products is aligned with C in a second step.
  bool c_after_products = false;
  bool normalized_products = false;  ///< a product's exponent is its own, not its factors' sum
  bool flushed_operands = false;     ///< subnormal a[k], b[k] read as zero
  bool highest_block_first = false;
  bool contiguous_halves = false;  ///< expanded: k = 0..15, then 16..31
  bool c_in_chain = false;         ///< expanded: C where the +0 stands
};

/// The bits of D. NaN is all ones without the sign; in binary64, 0x7FF8000000000000, where nothing
/// is claimed but that it is a NaN. Throws std::invalid_argument where a and b differ in length or
/// are empty, or the recipe is not defined for the length.
std::uint64_t dot(const DotRules& rules, const Spec& a_spec, const Spec& b_spec, const Spec& c_spec,
                  std::span<const std::uint64_t> a, std::span<const std::uint64_t> b,
                  std::uint64_t c);

}  // namespace oracle
