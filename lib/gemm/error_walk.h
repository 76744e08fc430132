// SPDX-License-Identifier: Apache-2.0
//
// Rigorous bounds of one element's error. The walk that computes the element (emulate/sum_order.h)
// is visited with pairs in place of accumulators: an accumulator's exact value, and a bound on its
// distance from it. bound.h derives the bounds.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "emulate/gemm.h"
#include "lib/number/signed_sum.h"
#include "lib/number/upper.h"

namespace binade {

/// Bounds of an error: in the model's order, and in any order of the products.
struct Bounds {
  Upper bound, any_order;
};

/// The visitor of the walk. After walk_sum and `finish`, bound() and any_order() are bounds of D's
/// error.
class ErrorWalk {
 public:
  ErrorWalk(const GemmModel& model, const GemmElement<std::uint64_t>& element);
  /// Begins after the walk, with a finished sum: its exact value, bound and format. any_order()
  /// means nothing then, since only one bound is given.
  ErrorWalk(const GemmModel& model, const GemmElement<std::uint64_t>& element,
            const SignedSum& exact, const Upper& bound, const Format& format);

  Upper bound() const { return stack_.front().error; }
  Upper any_order() const { return stack_.front().any_order; }
  /// The exact value of all that the walk received, times alpha or the scales after `finish`.
  const SignedSum& exact() const { return stack_.front().exact; }
  /// The bounds of D's error if its last rounding may go in any direction.
  const Bounds& any_direction() const { return any_direction_; }
  void finish();  ///< adds the errors of the epilogue

  void push_zero(const Format& f);
  void push_c(const Format& f);
  void products(const InstructionPlaces& place);
  void add(const Format& f, Role);
  void add_scaled(const Format& f, int run);
  void convert(const Format& f, Role, Rounding rounding = Rounding::ties_to_even);

 private:
  /// An accumulator: the exact sum of all that it has received, and bounds on its distance from
  /// that sum.
  struct Accumulator {
    SignedSum exact;
    Upper error;      ///< in the model's order
    Upper any_order;  ///< in every order of the products
    Format format{};
  };
  using Codes = std::span<const std::uint64_t>;

  Accumulator& top() { return stack_.back(); }
  /// A bound of the magnitude of what is rounded, whatever the order: a finished sum is near the
  /// exact value in all of them.
  Upper largest_in_any_order();
  void start(const Exact& value, const Format& f);
  void rounds(const Format& f, Rounding rounding);
  void scale(const Exact& alpha);
  void multiply_by(const std::optional<Exact>& a, const std::optional<Exact>& b, ScaleOrder order,
                   const Format& f);
  void take_scales();
  void increase(const Exact& value);

  Addend product(std::uint64_t a, std::uint64_t b) const;
  int zero_exponent(std::uint64_t a, std::uint64_t b) const;
  Exact scalar_product(std::uint64_t a, std::uint64_t b) const;
  void sum_products(const DotTypes& types, Codes a, Codes b);
  void fused_chain(const DotTypes& types, Codes a, Codes b);
  void fused_block(std::span<const Addend> products, const Format& c, const Format& d);
  void scaled_chain(const DotTypes& types, Codes a, Codes b, const DotScales& scales);
  void measure_scaled();
  void scalar_chain(const Format& d, Codes a, Codes b);
  void pairwise(const Format& d, Codes a, Codes b);
  void integers(Codes a, Codes b);

  const GemmModel& g_;
  const GemmElement<std::uint64_t>& x_;
  bool is_finished_ = false;  ///< the walk is over, and the epilogue follows
  Upper magnitude_;           ///< bound of every partial sum's magnitude, in any order
  /// Under a promotion's scales: such a bound for a sum that is not yet multiplied by them.
  Upper before_scales_;
  int largest_exponent_ = std::numeric_limits<int>::min();  ///< largest exponent of a product
  /// Largest exponent with which a product of zero takes part in the alignment, in models in which
  /// it does; it is taken as if it were in every block.
  int zero_exponent_ = std::numeric_limits<int>::min();
  Bounds any_direction_;
  std::vector<Accumulator> stack_;
};

/// The bounds of ErrorWalk after a whole walk and the epilogue.
struct ElementBounds : Bounds {
  Bounds any_direction;
};
ElementBounds bounds_of(const GemmModel& model, const GemmElement<std::uint64_t>& element);

}  // namespace binade
