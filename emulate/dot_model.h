// SPDX-License-Identifier: Apache-2.0
//
// How a Tensor Core computes an element, as numbers: which recipe, how many products and bits, which floor
// and rounding, what at the edges. What the recipes do is in fused_sum.h, dot.h and integer_dot.h; which
// instruction follows which model in dot_models.h.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "emulate/attributes.h"
#include "emulate/integer_dot.h"

namespace binade {

enum class Recipe : std::uint8_t {
  /// Blocks of consecutive products, lowest k first. A block aligns its products and c to the largest
  /// exponent, cuts each toward zero, adds exactly and rounds once; the result is the next block's c.
  fused_block,
  /// FP8 mma.sync on sm_90 and sm_100, where ptxas writes f16 instructions: operands to f16, then a
  /// chain of two fused blocks, of k = 4q, 4q+1 and of k = 4q+2, 4q+3.
  expanded,
  /// d = fma(a[k], b[k], d), k ascending, each rounded.
  fma_chain,
  /// d = d + a[k]·b[k], k ascending, the product rounded to d's type and the sum too.
  mul_add_chain,
  /// Four products in pairs: p = fma(a1, b1, a0·b0) and q = fma(a3, b3, a2·b2), then (c + p) + q, all
  /// in binary32 to nearest, and d's type at the end.
  pairwise,
  /// Integers: every bit counts.
  exact_integer,
};

inline constexpr std::array<std::string_view, 6> recipe_names{
    "fused_block", "expanded", "fma_chain", "mul_add_chain", "pairwise", "exact_integer"};
constexpr std::string_view recipe_name(Recipe recipe) {
  return recipe_names[static_cast<std::size_t>(recipe)];
}

/// The exponent with which a product of zero counts towards a block's largest one.
enum class ZeroRaises : std::uint8_t {
  never,   ///< it does not count
  single,  ///< a zero's own is -126, binary32's
  emin,    ///< a zero's own is its format's
};
inline constexpr std::array<std::string_view, 3> zero_raises_names{"never", "single", "emin"};

/// What a fused sum does at its edges, where publications differ. As they stand: an H100's, by
/// tests/recordings/sm_90; the others are rivals (lib/evidence).
struct EdgeRules {
  ZeroRaises zero_raises = ZeroRaises::never;
  bool zero_c_raises = false;    ///< c = 0 counts with the exponent of c's emin
  bool cut_keeps_sign = false;   ///< a negative sum that is cut or rounded to zero is -0
  bool zeros_keep_sign = false;  ///< products and c that are all -0 add to -0
  bool saturates = false;        ///< a sum beyond the range is the largest finite number
  bool flushes = false;          ///< a subnormal sum is a zero
  bool no_infinity = false;      ///< an infinite term makes the largest finite number
  bool narrow_c = false;  ///< a c narrower than d keeps its own emin; else it is widened first
  NanResult nan = NanResult::nvidia;

  friend constexpr bool operator==(const EdgeRules&, const EdgeRules&) = default;
};

/// What operands of wgmma beside the matrices ask for.
struct WgmmaScales {
  bool without_c = false;  ///< scale-d 0: c is not there
  bool minus_a = false;    ///< imm-scale-a -1
  bool minus_b = false;    ///< imm-scale-b -1

  friend constexpr bool operator==(const WgmmaScales&, const WgmmaScales&) = default;
};

/// A floor below every product of every format.
inline constexpr int no_floor = -4096;

/// How an element is computed, whatever its types.
struct DotModel {
  Recipe recipe = Recipe::fused_block;
  int block = 16;             ///< L: products in a fused block
  int fraction_bits = 25;     ///< F: bits kept below the largest exponent
  int exponent_floor = -133;  ///< the largest exponent is at least this
  /// What a block's sum is rounded to; a subset of d's numbers. FP8 with F = 13 has a 14-bit one.
  Format grid = binary32;
  Rounding rounding = Rounding::toward_zero;
  bool descending = false;   ///< highest k first
  bool c_last = false;       ///< sums begin at +0, and c is added at the end, to nearest
  bool through_f32 = false;  ///< sums are binary32 and become d at the end, to nearest
  int sparse_group = 0;      ///< of so many consecutive a half take part (sparse.h); 0: all do
  IntegerModel integer{};    ///< of exact_integer
  EdgeRules edges{};         ///< of fused blocks
  WgmmaScales scales{};

  friend constexpr bool operator==(const DotModel&, const DotModel&) = default;
};

/// Whether it aligns, cuts and rounds blocks of products.
constexpr bool is_fused(const DotModel& model) {
  return model.recipe == Recipe::fused_block || model.recipe == Recipe::expanded;
}

/// Whether it rounds each operation, one product after the other.
constexpr bool is_chain(const DotModel& model) {
  return model.recipe == Recipe::fma_chain || model.recipe == Recipe::mul_add_chain;
}

struct DotTypes {
  Format a, b, c, d;

  friend constexpr bool operator==(const DotTypes&, const DotTypes&) = default;
};

}  // namespace binade
