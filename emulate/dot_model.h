// SPDX-License-Identifier: Apache-2.0
//
// How a Tensor Core computes an element of a matrix product, as numbers: the recipe, how many
// products it sums at once, how many bits it keeps, its exponent floor and rounding, and its rules
// for zeros, NaNs and infinities. The recipes are implemented in fused_sum.h, emulate/dot.h
// and integer_dot.h; instruction_models.h says which instruction follows which model. The numbers
// of a fused block:
//
//     c         xxx.xxxxxxxxxxxxx|xxxx      top = largest exponent of all terms, at least the floor
//     product     x.xxxxxxxxxxxxx|xx        each term is cut at 2^(top - F), toward zero
//       …          `--- F bits -'
//     L products and c are added exactly; the sum is rounded once to the grid
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "emulate/attributes.h"
#include "emulate/integer_dot.h"

namespace binade {

/// The algorithm of a sum d = c + sum of a[k]·b[k]. The order of k that is given here is reversed
/// under DotModel::descending.
enum class Recipe : std::uint8_t {
  /// Blocks of consecutive products, lowest k first. A block aligns its products and c to the
  /// largest
  /// exponent, cuts each toward zero, adds exactly and rounds once; the result is the next block's
  /// c.
  fused_block,
  /// FP8 mma.sync on sm_90 and sm_100, for which ptxas writes f16 instructions. The operands are
  /// converted to f16; then a chain of two instructions follows, the first one over k = 4q and
  /// 4q+1, the second one over k = 4q+2 and 4q+3.
  expanded,
  /// d = fma(a[k], b[k], d) for ascending k, each rounded; d begins as c.
  fma_chain,
  /// d = d + a[k]·b[k] for ascending k, where product and sum are each rounded to d's type.
  mul_add_chain,
  /// Four products in pairs: p = fma(a1, b1, a0·b0) and q = fma(a3, b3, a2·b2), then (c + p) + q.
  /// Each operation is rounded to nearest in binary32, and the result is converted to d's type.
  pairwise,
  /// Integers: the sum is exact (integer_dot.h).
  exact_integer,
};

inline constexpr std::array<std::string_view, 6> recipe_names{
    "fused_block", "expanded", "fma_chain", "mul_add_chain", "pairwise", "exact_integer"};
constexpr std::string_view recipe_name(Recipe recipe) {
  return recipe_names[static_cast<std::size_t>(recipe)];
}

/// The exponent with which a product that is zero counts towards the largest exponent of a block.
/// It is the sum of its factors' exponents, in which a factor that is zero has the exponent given
/// here.
enum class ZeroRaises : std::uint8_t {
  never,   ///< the product does not count
  single,  ///< -126, binary32's emin
  emin,    ///< emin of the factor's format
};
inline constexpr std::array<std::string_view, 3> zero_raises_names{"never", "single", "emin"};

/// What a fused sum does with zeros, NaNs, infinities and at the ends of the range, where
/// publications differ. The defaults are the rules of an H100, by tests/recordings/sm_90; other
/// values are rivals: other published rules, against which lib/evidence holds recordings.
struct EdgeRules {
  ZeroRaises zero_raises = ZeroRaises::never;
  bool zero_c_raises = false;    ///< c = 0 counts with its format's emin, once it is widened
  bool cut_keeps_sign = false;   ///< a negative sum rounded or flushed to zero is -0; else +0
  bool zeros_keep_sign = false;  ///< if c and all products are -0, so is the sum; else +0
  bool saturates = false;        ///< a sum beyond the range is the largest finite number; else Inf
  bool flushes = false;          ///< a subnormal sum becomes a zero
  bool no_infinity = false;      ///< an infinite term gives the largest finite number; else Inf
  bool narrow_c = false;         ///< a c narrower than d keeps its emin; else it is widened first
  NanResult nan = NanResult::nvidia;  ///< the NaN of a sum

  friend constexpr bool operator==(const EdgeRules&, const EdgeRules&) = default;
};

/// The operands of wgmma that are not matrices.
struct WgmmaScales {
  bool without_c = false;  ///< scale-d is 0: the sum begins at +0
  bool minus_a = false;    ///< imm-scale-a is -1: a is negated
  bool minus_b = false;    ///< imm-scale-b is -1: b is negated

  friend constexpr bool operator==(const WgmmaScales&, const WgmmaScales&) = default;
};

/// How an instruction multiplies by scales that runs of a and of b have (scaled_sum.h).
struct BlockScaling {
  int share = 0;    ///< products that share a scale of a and one of b; 0: there are no scales
  Format format{};  ///< of the scales, e8m0 or ue4m3; the sign bit of a ue4m3 is not read
  /// Products that are added exactly before they are scaled; 0: each product is scaled by itself.
  int group = 0;

  friend constexpr bool operator==(const BlockScaling&, const BlockScaling&) = default;
};

/// An exponent floor below every product of every named format, which therefore has no effect.
inline constexpr int no_floor = -4096;

/// How an element is computed, apart from its types (DotTypes).
struct DotModel {
  Recipe recipe = Recipe::fused_block;
  int block = 16;             ///< L: products that a fused block sums
  int fraction_bits = 25;     ///< F: bits that are kept below 2^top
  int exponent_floor = -133;  ///< top is at least this
  /// The format to which a block's sum is rounded; its numbers are numbers of d. FP8 with F = 13
  /// has a grid of precision 14.
  Format grid = binary32;
  Rounding rounding = Rounding::toward_zero;
  bool descending = false;   ///< products are added highest k first; not in pairwise or integers
  bool c_last = false;       ///< the sum begins at +0; c is added at the end, to nearest
  bool through_f32 = false;  ///< sums are binary32, converted to d at the end, to nearest
  /// Half of each such run of a takes part, in one of 8 by pairs (sparse.h); 0: all of a.
  int sparse_group = 0;
  IntegerModel integer{};  ///< for exact_integer
  EdgeRules edges{};       ///< for fused blocks
  WgmmaScales scales{};    ///< for wgmma
  BlockScaling scaling{};  ///< for fused blocks

  friend constexpr bool operator==(const DotModel&, const DotModel&) = default;
};

/// Returns whether a model aligns, cuts and rounds blocks of products.
constexpr bool is_fused(const DotModel& model) {
  return model.recipe == Recipe::fused_block || model.recipe == Recipe::expanded;
}

/// Returns whether a model multiplies by scales of blocks of a and b.
constexpr bool is_scaled(const DotModel& model) { return model.scaling.share != 0; }

/// Returns whether a model rounds each operation, one product after the other.
constexpr bool is_chain(const DotModel& model) {
  return model.recipe == Recipe::fma_chain || model.recipe == Recipe::mul_add_chain;
}

/// The formats of d = c + sum of a[k]·b[k].
struct DotTypes {
  Format a, b, c, d;

  friend constexpr bool operator==(const DotTypes&, const DotTypes&) = default;
};

}  // namespace binade
