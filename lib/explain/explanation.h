// SPDX-License-Identifier: Apache-2.0
//
// The sum of one dot product, or of one element of a whole matrix product, taken apart: every term as it
// is aligned and cut, every block as it is rounded, every operation beside the blocks, all exactly. The
// errors of the steps add up to the error of the sum.
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

/// A term of a block: what the sum was before it (first), or the product of a[place] and b[place].
struct ExplainedTerm {
  int place = addend_place;
  Typed a{}, b{};  ///< the operands; of the sum so far a alone
  Kind kind = Kind::zero;
  bool negative = false;
  int exponent = 0;     ///< that takes part in the alignment; of a finite term
  ExactNumber exact{};  ///< likewise
  std::int64_t units = 0;
  ExactNumber cut_by_alignment{};  ///< what would be cut without the exponent floor too
  ExactNumber cut_by_floor{};      ///< what the floor cuts beyond that

  ExactNumber cut() const { return cut_by_alignment + cut_by_floor; }
};

/// Terms aligned to 2^top, cut below 2^unit, added, rounded once.
struct ExplainedBlock {
  std::vector<ExplainedTerm> terms =
      {};                      ///< the sum so far, then products in order; padding left out
  bool starts_with_c = false;  ///< the sum so far is c
  bool is_integer = false;     ///< nothing is aligned
  int top = 0;
  int unit = 0;
  int exponent_floor = 0;
  std::optional<int> highest = {};  ///< index of the first term with the largest exponent
  bool floor_decides = false;       ///< the floor lies above every term
  bool special = false;
  std::int64_t units = 0;
  ExactNumber sum{};  ///< exactly; 0 where special
  Format grid{};      ///< to whose numbers the sum is rounded
  Rounding rounding = Rounding::toward_zero;
  Typed result{};
  std::optional<ExactNumber> rounding_error = {};  ///< result - sum, of a finite result

  ExactNumber cut() const;
};

/// A rounded operation.
struct ExplainedOperation {
  Role role = Role::chain;
  Action action = Action::add;
  int place = 0;  ///< of a chain: k of the product, `addend_place` of padding
  std::vector<Typed> operands = {};
  Typed result{};
  std::optional<ExactNumber> exact = {};  ///< of finite operands
  std::optional<ExactNumber> error = {};  ///< result - exact, where both are finite
};

/// Where an accumulator begins, or one more instruction on it.
struct ExplainedMark {
  SumMark mark = SumMark::zero;
  Typed accumulator{};
};

using Step = std::variant<ExplainedBlock, ExplainedOperation, ExplainedMark>;

/// Errors by their cause; each is (what is left) - (what was).
struct ErrorsByCause {
  ExactNumber alignment{}, floor{}, blocks{}, operations{};

  ExactNumber sum() const { return alignment + floor + blocks + operations; }
};

struct Explanation {
  std::string instruction = {};
  int sm = 0;  ///< 0: no architecture's
  Brief known{};
  DotModel model{};
  DotTypes types{};
  std::vector<Typed> a = {}, b = {};       ///< of every k, those that take no part too
  std::optional<Typed> c = {}, bias = {};  ///< those that take part
  std::vector<int> left_out = {};          ///< k that sparsity leaves out
  std::vector<Step> steps = {};
  Typed sum{};  ///< before the epilogue
  Typed result{};
  std::optional<Typed> hardware = {};  ///< what a GPU gave
  std::optional<ExactNumber> exact_sum =
      {};  ///< of all products, and of c where the sum begins with it
  std::optional<ExactNumber> exact = {};  ///< of the whole, epilogue included
  ErrorsByCause errors{};                 ///< of the steps of the sum; add up to sum - exact_sum

  bool has_epilogue() const;
  /// result - exact, where both are finite.
  std::optional<ExactNumber> error() const;
  /// sum - exact_sum likewise.
  std::optional<ExactNumber> sum_error() const;
};

/// One dot of an instruction; a and b have its k elements.
Explanation explain_dot(const Instruction& instruction, std::span<const std::uint64_t> a,
                        std::span<const std::uint64_t> b, std::uint64_t c);

/// One element of a whole product.
Explanation explain_element(const NamedGemm& gemm, const GemmElement<std::uint64_t>& element);

/// Whether an encoding is a number.
bool is_number(const Typed& x);
ExactNumber value_of(const Typed& x);
/// Exponent of a format's last place in the binade of a number; the smallest of 0.
int ulp_exponent(const ExactNumber& x, const Format& f);

}  // namespace binade
