// SPDX-License-Identifier: Apache-2.0
//
// The sum of one dot product, or of one element of a matrix product, step by step and exactly:
// every term as it is aligned and cut, every block as it is rounded, and every operation outside
// the blocks. The errors of the steps add up to the error of the sum.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "emulate/gemm.h"
#include "emulate/tensor_core.h"
#include "lib/gemm/named_gemm.h"
#include "lib/number/exact_number.h"

namespace binade {

/// One of the products that are added exactly before they are scaled.
struct ExplainedProduct {
  int place = 0;
  Typed a{}, b{};
};

/// A term of a block: the sum before the block (the first term), the product of a[place] and
/// b[place], or a group of products of which that is the first. Where blocks have scales, it has
/// been multiplied by them.
struct ExplainedTerm {
  int place = addend_place;
  Typed a{}, b{};  ///< the operands; for the sum so far only a
  Kind kind = Kind::zero;
  bool negative = false;
  int exponent = 0;     ///< exponent that takes part in the alignment, if the term is finite
  ExactNumber exact{};  ///< the term's value, if it is finite
  std::vector<ExplainedProduct> group = {};         ///< all products, if they are a group
  std::optional<Typed> a_scale = {}, b_scale = {};  ///< scales of the operands' blocks
  ExactNumber unscaled{};                           ///< the value before the scales, if it has such
  std::int64_t units = 0;          ///< the term after the cut, in units of 2^unit of its block
  ExactNumber cut_by_alignment{};  ///< what would be cut without the exponent floor too
  /// What is cut beyond that because of the floor (or of a product of zero).
  ExactNumber cut_by_floor{};

  ExactNumber cut() const { return cut_by_alignment + cut_by_floor; }
};

/// A block: its terms are aligned to 2^top, cut below 2^unit, added, and rounded once.
struct ExplainedBlock {
  /// The sum so far, then the products in order, without padding.
  std::vector<ExplainedTerm> terms = {};
  bool starts_with_c = false;  ///< whether the sum so far is c
  bool is_integer = false;     ///< an integer sum, in which nothing is aligned
  int top = 0;
  int unit = 0;
  int exponent_floor = 0;
  /// Index of the first term with the largest exponent; nothing if no term is finite and other than
  /// zero.
  std::optional<int> highest = {};
  bool floor_decides = false;  ///< the floor, or a product of zero, lies above every term
  bool special = false;        ///< whether a term is a NaN or infinite
  std::int64_t units = 0;      ///< the sum of the cut terms, in units of 2^unit
  ExactNumber sum{};           ///< the exact sum of the cut terms; 0 if special
  Format grid{};               ///< the sum is rounded to a number of this format
  Rounding rounding = Rounding::toward_zero;
  Typed result{};
  std::optional<ExactNumber> rounding_error = {};  ///< result - sum, if the result is finite
  ExactNumber factor = exact_number(1);  ///< by which a promotion multiplies the accumulator

  /// Returns the signed sum of what is cut off the terms.
  ExactNumber cut() const;
};

/// A rounded operation outside the blocks.
struct ExplainedOperation {
  Role role = Role::chain;
  Action action = Action::add;
  int place = 0;  ///< in a chain: k of the product, or `addend_place` for padding
  std::vector<Typed> operands = {};
  Typed result{};
  std::optional<ExactNumber> exact = {};     ///< exact result, if the operands are finite
  std::optional<ExactNumber> error = {};     ///< result - exact, if both are finite
  std::optional<std::uint32_t> random = {};  ///< the word that stochastic rounding drew
};

/// The point at which an accumulator begins, or at which one more instruction is added to it.
struct ExplainedMark {
  SumMark mark = SumMark::zero;
  Typed accumulator{};
};

using Step = std::variant<ExplainedBlock, ExplainedOperation, ExplainedMark>;

/// Errors by their cause, each a value after its steps minus the value before.
struct ErrorsByCause {
  ExactNumber alignment{}, floor{}, blocks{}, operations{};

  ExactNumber sum() const { return alignment + floor + blocks + operations; }
};

/// Everything about one sum: what was computed, the steps, the result and the errors.
struct Explanation {
  std::string instruction = {};
  int sm = 0;  ///< 0: a chain, which belongs to no architecture
  Brief known{};
  DotModel model{};
  DotTypes types{};
  std::vector<Typed> a = {}, b = {};  ///< the operands of every k, also of those that take no part
  std::optional<Typed> c = {}, bias = {};           ///< C and bias, if they take part
  std::optional<Typed> a_scale = {}, b_scale = {};  ///< scales of A's row and of B's column
  std::vector<Typed> a_scales = {}, b_scales = {};  ///< scales of blocks, in the order of k
  int scale_run = 0;               ///< elements that share a scale of a block; 0: there are none
  std::vector<int> left_out = {};  ///< the k that sparsity leaves out
  std::vector<Step> steps = {};
  Typed sum{};  ///< the sum before the epilogue
  Typed result{};
  std::optional<Typed> hardware = {};  ///< what a GPU gave for it
  /// The exact sum of all products that take part, and of C unless the epilogue adds it; nothing if
  /// an operand is not finite.
  std::optional<ExactNumber> exact_sum = {};
  std::optional<ExactNumber> exact = {};  ///< exact value of the result, epilogue included
  /// Errors of the steps of the sum, which add up to sum - exact_sum if both are finite.
  ErrorsByCause errors{};

  bool has_epilogue() const;
  /// Returns result - exact, or nothing if one of them is not finite.
  std::optional<ExactNumber> error() const;
  /// Returns sum - exact_sum, or nothing if one of them is not finite.
  std::optional<ExactNumber> sum_error() const;
};

/// Explains one dot product of an instruction; a and b have its k elements, and the scales are
/// those of their blocks (null: all are 1).
Explanation explain_dot(const Instruction& instruction, std::span<const std::uint64_t> a,
                        std::span<const std::uint64_t> b, std::uint64_t c,
                        const DotScales& scales = {});

/// Explains one element of a matrix product. Throws Error if it has a smooth activation.
Explanation explain_element(const NamedGemm& gemm, const GemmElement<std::uint64_t>& element);

/// Returns whether an encoding is a finite number.
bool is_number(const Typed& x);
/// Returns the value of an encoding that is a finite number.
ExactNumber value_of(const Typed& x);
/// Returns the exponent of a format's last place in the binade of x; for zero and subnormal x the
/// smallest one, for an integer format 0.
int ulp_exponent(const ExactNumber& x, const Format& f);

}  // namespace binade
