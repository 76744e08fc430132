// SPDX-License-Identifier: Apache-2.0
//
// Rigorous bounds of one element's error, by the walk that computes it (emulate/sum_order.h): in place of
// an accumulator stands its exact value and how far the accumulator may be from it. bound.h derives them.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "emulate/gemm.h"
#include "lib/number/signed_sum.h"
#include "lib/number/upper.h"

namespace binade {

/// The walk's visitor; after walk_sum and `finish` the bounds are those of D.
class ErrorWalk {
 public:
  ErrorWalk(const GemmModel& model, const GemmElement<std::uint64_t>& element);
  /// Behind the walk: a finished sum with this exact value and bound; in another order of the products there is none.
  ErrorWalk(const GemmModel& model, const GemmElement<std::uint64_t>& element,
            const SignedSum& exact, const Upper& bound, const Format& format);

  Upper bound() const { return stack_.front().error; }
  Upper any_order() const { return stack_.front().any_order; }
  void finish();  ///< the epilogue

  void push_zero(const Format& f);
  void push_c(const Format& f);
  void products(const InstructionPlaces& place);
  void add(const Format& f, Role);
  void convert(const Format& f, Role);

 private:
  /// An accumulator: the exact sum of what went into it, and bounds on its distance from that.
  struct Level {
    SignedSum exact;
    Upper error;      ///< in the model's order
    Upper any_order;  ///< in every order of the products
    Format format{};
  };
  using Codes = std::span<const std::uint64_t>;

  Level& top() { return stack_.back(); }
  void start(const Exact& value, const Format& f);
  void rounds(const Format& f, Rounding rounding);
  void scale(const Exact& alpha);
  void increase(const Exact& value);

  Addend product(std::uint64_t a, std::uint64_t b) const;
  int zero_exponent(std::uint64_t a, std::uint64_t b) const;
  Exact scalar_product(std::uint64_t a, std::uint64_t b) const;
  void sum_products(const DotTypes& types, Codes a, Codes b);
  void fused_chain(const DotTypes& types, Codes a, Codes b);
  void fused_block(std::span<const Addend> products, const Format& c, const Format& d);
  void scalar_chain(const Format& d, Codes a, Codes b);
  void pairwise(const Format& d, Codes a, Codes b);
  void integers(Codes a, Codes b);

  const GemmModel& g_;
  const GemmElement<std::uint64_t>& x_;
  Upper magnitude_;                                         ///< of every partial sum, in any order
  int largest_exponent_ = std::numeric_limits<int>::min();  ///< of a product
  /// With which products of zero count, if they do: taken as if in every block.
  int zero_exponent_ = std::numeric_limits<int>::min();
  std::vector<Level> stack_;
};

struct Bounds {
  Upper bound, any_order;
};
Bounds bounds_of(const GemmModel& model, const GemmElement<std::uint64_t>& element);

}  // namespace binade
