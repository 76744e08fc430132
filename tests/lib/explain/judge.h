// SPDX-License-Identifier: Apache-2.0
//
// Compares every number of an explanation with fractions: terms, cuts, sums, roundings. Checks that
// the errors of the steps add up to the error of the whole.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <optional>
#include <variant>
#include <vector>

#include "tests/lib/explain/rational.h"

namespace binade::test {

/// Numbers of steps and terms of each kind, so that a test can require that all kinds came up.
struct Seen {
  int blocks = 0, special = 0, by_alignment = 0, by_floor = 0, by_both = 0, rounded = 0, zero = 0;
  int operations = 0, inexact = 0, overflows = 0, totals = 0;
};

class ExplanationJudge {
 public:
  ExplanationJudge(const Explanation& x, Seen& seen) : x_(x), seen_(seen), taken_(x.a.size()) {}

  void judge() {
    for (const Step& step : x_.steps) {
      std::visit([this](const auto& s) { judge_step(s); }, step);
    }
    for (const int place : x_.left_out) {
      REQUIRE(!taken_[static_cast<std::size_t>(place)]);
      taken_[static_cast<std::size_t>(place)] = true;
    }
    for (const bool taken : taken_) REQUIRE(taken);
    judge_totals();
  }

 private:
  /// Checks that no k takes part twice.
  void take(int place) {
    REQUIRE(place >= 0);
    REQUIRE(!taken_[static_cast<std::size_t>(place)]);
    taken_[static_cast<std::size_t>(place)] = true;
  }
  Format operand_format(const Format& f) const {
    return x_.model.recipe == Recipe::expanded ? binary16 : f;
  }
  bool has_scales() const { return is_scaled(x_.model); }
  /// The scales of the blocks of a term, of a and of b.
  Rational scales_of(const ExplainedTerm& term) const {
    const auto run = static_cast<std::size_t>(term.place / x_.scale_run);
    REQUIRE(term.a_scale->bits == x_.a_scales[run].bits);
    REQUIRE(term.b_scale->bits == x_.b_scales[run].bits);
    return rational(*term.a_scale) * rational(*term.b_scale);
  }
  Rational product(const ExplainedTerm& term) const {
    if (has_scales()) {
      Rational sum =
          term.group.empty() ? Rational(rational(term.a) * rational(term.b)) : Rational(0);
      for (const ExplainedProduct& x : term.group) sum += rational(x.a) * rational(x.b);
      REQUIRE(rational(term.unscaled) == sum);
      return sum * scales_of(term);
    }
    const Rational a = rational(term.a);
    const Rational b = rational(term.b);
    if (x_.model.integer.exclusive_or) return Rational(a != b ? 1 : 0);
    const bool minus = x_.model.scales.minus_a != x_.model.scales.minus_b;
    return minus ? Rational(-(a * b)) : Rational(a * b);
  }
  static bool finite(const ExplainedTerm& term) {
    const auto is_one = [](const Typed& x) { return is_finite(x.bits, x.format); };
    const bool scales = !term.a_scale || (is_one(*term.a_scale) && is_one(*term.b_scale));
    return is_one(term.a) && (term.place == addend_place || is_one(term.b)) && scales;
  }
  /// Returns whether a term that is a number takes part in the alignment.
  bool counts(const ExplainedTerm& term, const Rational& value) const {
    if (term.group.empty() || scales_of(term) == 0) return value != 0;
    return std::ranges::any_of(term.group, [](const ExplainedProduct& x) {
      return rational(x.a) != 0 && rational(x.b) != 0;
    });
  }

  /// Returns the exponent by which a term that is not zero is aligned.
  int exponent_of(const ExplainedTerm& term, const Rational& value) const {
    const Format& wide = x_.types.d == binary16 && x_.model.through_f32 ? binary32 : x_.types.d;
    if (term.place == addend_place) return aligned_by(value, wide);
    if (has_scales()) {
      const Format& f = x_.model.scaling.format;
      const int scales =
          aligned_by(rational(*term.a_scale), f) + aligned_by(rational(*term.b_scale), f);
      if (!term.group.empty()) return scales;
      return scales + aligned_by(rational(term.a), x_.types.a) +
             aligned_by(rational(term.b), x_.types.b);
    }
    return aligned_by(rational(term.a), operand_format(x_.types.a)) +
           aligned_by(rational(term.b), operand_format(x_.types.b));
  }

  void judge_step(const ExplainedBlock& block) {
    ++seen_.blocks;
    REQUIRE(!block.terms.empty());
    REQUIRE(block.terms[0].place == addend_place);
    bool all_finite = true;
    for (const ExplainedTerm& term : block.terms) {
      if (term.place != addend_place) {
        take(term.place);
        for (const ExplainedProduct& x : term.group) {
          if (x.place != term.place) take(x.place);
          REQUIRE(x.a.bits == x_.a[static_cast<std::size_t>(x.place)].bits);
          REQUIRE(x.b.bits == x_.b[static_cast<std::size_t>(x.place)].bits);
        }
        REQUIRE(term.group.size() == static_cast<std::size_t>(x_.model.scaling.group));
        REQUIRE(term.a.bits == x_.a[static_cast<std::size_t>(term.place)].bits);
        REQUIRE(term.b.bits == x_.b[static_cast<std::size_t>(term.place)].bits);
      }
      all_finite = all_finite && finite(term);
    }
    if (accumulator_) REQUIRE(block.terms[0].a.bits == accumulator_->bits);
    accumulator_ = block.result;
    REQUIRE(block.special == !all_finite);
    if (block.special) {
      ++seen_.special;
      return;
    }
    judge_terms(block);
  }

  void judge_terms(const ExplainedBlock& block) {
    const int fraction_bits = block.is_integer ? 0 : x_.model.fraction_bits;
    std::optional<int> own;  // the largest exponent of the terms
    std::vector<Rational> values;
    for (const ExplainedTerm& term : block.terms) {
      values.push_back(term.place == addend_place ? rational(term.a) : product(term));
      REQUIRE(rational(term.exact) == values.back());
      if (block.is_integer || !counts(term, values.back())) continue;
      const int e = exponent_of(term, values.back());
      REQUIRE(term.exponent == e);
      own = own ? std::max(*own, e) : e;
    }
    if (!block.is_integer) {
      const int floor = x_.model.exponent_floor;
      REQUIRE(block.top == (own ? std::max(*own, floor) : floor));
      REQUIRE(block.highest.has_value() == own.has_value());
      if (own) REQUIRE(block.terms[static_cast<std::size_t>(*block.highest)].exponent == *own);
      for (int i = 0; own && i < *block.highest; ++i) {
        const ExplainedTerm& earlier = block.terms[static_cast<std::size_t>(i)];
        REQUIRE((earlier.kind == Kind::zero || earlier.exponent < *own));
      }
      REQUIRE(block.floor_decides == (own && *own < floor));
    }
    REQUIRE(block.unit == block.top - fraction_bits);
    Integer units = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
      const ExplainedTerm& term = block.terms[i];
      const Integer kept = cut_to(values[i], block.unit);
      REQUIRE(Integer(term.units) == kept);
      units += kept;
      const int finer = own && !block.is_integer ? *own - fraction_bits : block.unit;
      const Rational without_floor = Rational(cut_to(values[i], std::min(finer, block.unit))) *
                                     power_of_two(std::min(finer, block.unit));
      REQUIRE(rational(term.cut_by_alignment) == values[i] - without_floor);
      REQUIRE(rational(term.cut_by_floor) ==
              without_floor - Rational(kept) * power_of_two(block.unit));
      count(term);
      errors_ -= values[i] - Rational(kept) * power_of_two(block.unit);
    }
    REQUIRE(Integer(block.units) == units);
    judge_rounding(block, Rational(units) * power_of_two(block.unit));
  }

  void count(const ExplainedTerm& term) {
    const bool alignment = !term.cut_by_alignment.is_zero();
    const bool floor = !term.cut_by_floor.is_zero();
    seen_.by_alignment += alignment ? 1 : 0;
    seen_.by_floor += floor ? 1 : 0;
    seen_.by_both += alignment && floor ? 1 : 0;
  }

  void judge_rounding(const ExplainedBlock& block, const Rational& sum) {
    REQUIRE(rational(block.sum) == sum);
    if (!is_finite(block.result.bits, block.result.format)) {
      REQUIRE(!block.rounding_error);
      ++seen_.overflows;
      return;
    }
    const Rational result = rational(block.result);
    REQUIRE(block.rounding_error);
    REQUIRE(rational(*block.rounding_error) == result - sum);
    errors_ += result - sum;
    seen_.rounded += result != sum ? 1 : 0;
    seen_.zero += result == 0 ? 1 : 0;
    if (block.is_integer || sum == 0) return;
    const Format& grid = x_.model.grid;
    const Rational place = power_of_two(aligned_by(sum, grid) - grid.fraction_bits());
    const Rational error = result - sum;
    if (block.rounding == Rounding::toward_zero) {
      REQUIRE(abs(error) < place);
      REQUIRE(error * sum <= 0);
    } else {
      REQUIRE(abs(error) * 2 <= place);
    }
  }

  void judge_step(const ExplainedOperation& x) {
    ++seen_.operations;
    accumulator_.reset();
    const bool multiplies = x.action == Action::multiply || x.action == Action::multiply_add;
    const bool epilogue = x.role == Role::scale || x.role == Role::alpha || x.role == Role::beta ||
                          x.role == Role::bias || x.role == Role::relu || x.role == Role::output;
    if (x.role == Role::chain && multiplies && x.place >= 0) take(x.place);
    bool all_finite = true;
    std::vector<Rational> values;
    for (const Typed& operand : x.operands) {
      all_finite = all_finite && is_finite(operand.bits, operand.format);
      values.push_back(all_finite ? rational(operand) : Rational(0));
    }
    REQUIRE(x.exact.has_value() == all_finite);
    if (!all_finite) return;
    Rational exact = values[0];
    if (multiplies) exact *= values[1];
    if (x.action == Action::multiply_add) exact += values[2];
    if (x.action == Action::add) exact += values[1];
    if (x.action == Action::maximum) exact = std::max(values[0], values[1]);
    REQUIRE(rational(*x.exact) == exact);
    const bool numbers = is_finite(x.result.bits, x.result.format);
    REQUIRE(x.error.has_value() == numbers);
    if (!numbers) {
      ++seen_.overflows;
      return;
    }
    const Rational error = rational(x.result) - exact;
    REQUIRE(rational(*x.error) == error);
    seen_.inexact += error != 0 ? 1 : 0;
    if (!epilogue) errors_ += error;
  }

  void judge_step(const ExplainedMark& x) {
    accumulator_ = begins_at_zero() ? std::nullopt : std::optional(x.accumulator);
  }

  bool begins_at_zero() const { return x_.model.c_last || x_.model.scales.without_c; }

  void judge_totals() {
    const std::optional<ExactNumber> error = x_.sum_error();
    if (!error) return;
    ++seen_.totals;
    REQUIRE(rational(*error) == errors_);
    REQUIRE(rational(x_.errors.sum()) == errors_);
    REQUIRE(rational(x_.sum) - rational(*x_.exact_sum) == errors_);
  }

  const Explanation& x_;
  Seen& seen_;
  std::vector<bool> taken_;
  std::optional<Typed> accumulator_ = {};
  Rational errors_ = 0;
};

}  // namespace binade::test
