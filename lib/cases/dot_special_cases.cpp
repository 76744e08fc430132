// SPDX-License-Identifier: Apache-2.0
//
// Generators of dot products whose sum is a zero, leaves the range, or is an infinity or a NaN. Two
// tables hold kinds of rows; row i has kind i modulo their number. Each draw is a statement of its
// own, because the order of draws is part of what a seed means.
#include <algorithm>
#include <array>

#include "lib/cases/dot_operands.h"

namespace binade {
namespace {

using Kinds = void (*)(DotCase& out, Draw& draw, const DotRow& row);

std::size_t place(Draw& draw, int k) { return static_cast<std::size_t>(draw.between(0, k - 1)); }

void fill_zeros(DotCase& out, Draw& draw, const Instruction& how) {
  for (int i = 0; i < how.k; ++i) {
    const auto at = static_cast<std::size_t>(i);
    out.a[at] = some_zero(draw, how.types.a);
    out.b[at] = some_zero(draw, how.types.b);
  }
  out.c = some_zero(draw, how.types.c);
}

/// Zeros only; all of a have one sign, all of b have one, and c has one.
void zeros_of_one_sign(DotCase& out, Draw&, const DotRow& row) {
  const std::uint64_t pattern = row.index / 8;
  out.a.fill(zero_bits(row.how.types.a, (pattern & 1) != 0));
  out.b.fill(zero_bits(row.how.types.b, (pattern & 2) != 0));
  out.c = zero_bits(row.how.types.c, (pattern & 4) != 0);
}

void zeros_of_any_sign(DotCase& out, Draw& draw, const DotRow& row) {
  fill_zeros(out, draw, row.how);
}

/// Every product is a zero times a finite number.
void zeros_with_numbers(DotCase& out, Draw& draw, const DotRow& row) {
  fill_zeros(out, draw, row.how);
  for (int i = 0; i < row.how.k; ++i) {
    const auto at = static_cast<std::size_t>(i);
    if (draw.flip()) {
      out.a[at] = any_encoding(draw, row.how.types.a, true);
    } else {
      out.b[at] = any_encoding(draw, row.how.types.b, true);
    }
  }
}

/// Products that cancel each other, within a block and across blocks; c is a zero.
void products_cancel(DotCase& out, Draw& draw, const DotRow& row) {
  fill_normal(out, draw, row.how);
  cancel_halves(out, draw, row.how);
  out.c = some_zero(draw, row.how.types.c);
}

/// One product that is not zero, and c is its opposite.
void addend_cancels(DotCase& out, Draw& draw, const DotRow& row) {
  fill_zeros(out, draw, row.how);
  const DotTypes& t = row.how.types;
  const int i = draw.between(0, row.how.k - 1);
  const ExponentRange range = product_exponents(t, true);
  const int low = std::max(range.low, t.c.quantum_exponent());
  const int e = draw.between(low, std::min(range.high, t.c.emax()));
  set_power(out, i, t, e, draw.flip());
  out.c = minus_sum(out, row.how);
}

/// Returns an exponent at or up to `farthest` binades below that of the smallest number of d, as
/// far as products of these types reach.
int below_smallest(Draw& draw, const DotTypes& t, int farthest) {
  const int quantum = t.d.quantum_exponent();
  return draw.between(std::max(product_exponents(t, true).low, quantum - farthest), quantum);
}

/// One product of either sign, at or below the smallest number of d, beside zeros.
void result_below_smallest(DotCase& out, Draw& draw, const DotRow& row) {
  fill_zeros(out, draw, row.how);
  const int e = below_smallest(draw, row.how.types, 30);
  const int i = draw.between(0, row.how.k - 1);
  set_power(out, i, row.how.types, e, draw.between(0, 3) != 0);
}

/// The smallest number of d, its opposite (in c or in a product), and a smaller product with the
/// sign of the first, so that the sum is below the smallest number.
void negative_rest(DotCase& out, Draw& draw, const DotRow& row) {
  fill_zeros(out, draw, row.how);
  const DotTypes& t = row.how.types;
  const auto [i, j] = two_places(draw, row.how.k);
  const bool in_c = draw.flip();
  const int e = below_smallest(draw, t, 12) - 1;
  const bool negative = draw.between(0, 3) != 0;
  set_power(out, i, t, t.d.quantum_exponent(), negative);
  set_power(out, j, t, e, negative);
  if (in_c) {
    out.c = min_bits(t.c, !negative);
  } else {
    set_power(out, (j + 1) % row.how.k, t, t.d.quantum_exponent(), !negative);
  }
}

/// One product near the smallest number of d, and c a zero or its format's smallest number.
void tiny_and_zero(DotCase& out, Draw& draw, const DotRow& row) {
  fill_zeros(out, draw, row.how);
  const int i = draw.between(0, row.how.k - 1);
  set_product(out, i, draw, row.how.types, below_smallest(draw, row.how.types, 12), true);
  if (draw.flip()) out.c = min_bits(row.how.types.c, draw.flip());
}

constexpr std::array<Kinds, 8> zero_kinds{
    zeros_of_one_sign, zeros_of_any_sign,     zeros_with_numbers, products_cancel,
    addend_cancels,    result_below_smallest, negative_rest,      tiny_and_zero};

/// A NaN in a or b times a zero, an infinity or any finite number.
void nan_in_product(DotCase& out, Draw& draw, const DotRow& row) {
  const DotTypes& t = row.how.types;
  const std::size_t i = place(draw, row.how.k);
  const bool in_a = draw.flip();
  const Format& other = in_a ? t.b : t.a;
  const int against = draw.between(0, 2);
  std::uint64_t partner = any_encoding(draw, other, true);
  if (against == 0) partner = some_zero(draw, other);
  if (against == 1) partner = infinity_of(other, draw.flip());
  const std::uint64_t nan = some_nan(draw, in_a ? t.a : t.b);
  out.a[i] = in_a ? nan : partner;
  out.b[i] = in_a ? partner : nan;
}

void nan_in_addend(DotCase& out, Draw& draw, const DotRow& row) {
  out.c = some_nan(draw, row.how.types.c);
}

void infinity_times_zero(DotCase& out, Draw& draw, const DotRow& row) {
  const DotTypes& t = row.how.types;
  const std::size_t i = place(draw, row.how.k);
  const bool in_a = draw.flip();
  const bool negative = draw.flip();
  const std::uint64_t zero = some_zero(draw, in_a ? t.b : t.a);
  out.a[i] = in_a ? infinity_of(t.a, negative) : zero;
  out.b[i] = in_a ? zero : infinity_of(t.b, negative);
}

void plant_infinity(DotCase& out, int i, const DotTypes& t, bool negative) {
  const auto at = static_cast<std::size_t>(i);
  out.a[at] = infinity_of(t.a, negative);
  out.b[at] = encoded(power(0), t.b);
}

void infinite_products(DotCase& out, Draw& draw, const DotRow& row) {
  const auto [i, j] = two_places(draw, row.how.k);
  const bool negative = draw.flip();
  plant_infinity(out, i, row.how.types, negative);
  if (draw.flip()) plant_infinity(out, j, row.how.types, negative);
}

/// Two infinite products of opposite signs, in one block or in two.
void opposite_infinities(DotCase& out, Draw& draw, const DotRow& row) {
  const auto [i, j] = two_places(draw, row.how.k);
  const bool negative = draw.flip();
  plant_infinity(out, i, row.how.types, negative);
  plant_infinity(out, j, row.how.types, !negative);
}

void infinite_addend(DotCase& out, Draw& draw, const DotRow& row) {
  out.c = infinity_of(row.how.types.c, draw.flip());
  if (draw.flip()) {
    const int i = draw.between(0, row.how.k - 1);
    plant_infinity(out, i, row.how.types, draw.flip());
  }
}

/// c is the largest number, and a product is about half its ulp: the sum is the last one that
/// rounds to the largest number, or the first one that rounds to infinity.
void largest_and_half_ulp(DotCase& out, Draw& draw, const DotRow& row) {
  fill_zeros(out, draw, row.how);
  const DotTypes& t = row.how.types;
  const bool negative = draw.flip();
  const auto [i, j] = two_places(draw, row.how.k);
  const int half = t.c.emax() - t.c.precision;
  out.c = max_bits(t.c, negative);
  set_power(out, i, t, half + draw.between(-1, 1), negative);
  const int below = draw.between(0, 30);
  if (below > 0) set_power(out, j, t, half - below, draw.flip());
}

/// Products of one sign whose sum lies near the end of d's range.
void products_at_end(DotCase& out, Draw& draw, const DotRow& row) {
  const DotTypes& t = row.how.types;
  const int n = draw.between(1, row.how.k);
  const int width = bit_width(static_cast<std::uint64_t>(n));
  const int e = t.d.emax() + 1 - width + draw.between(-1, 1);
  const bool negative = draw.flip();
  fill_zeros(out, draw, row.how);
  for (int i = 0; i < n; ++i) {
    const auto at = static_cast<std::size_t>(i);
    set_product(out, i, draw, t, e, false);
    const bool is_negative =
        fields_of(out.a[at], t.a).negative != fields_of(out.b[at], t.b).negative;
    if (is_negative != negative) out.a[at] = opposite(out.a[at], t.a);
  }
  if (draw.flip()) out.c = number_at(draw, t.c, t.c.emax());
}

/// Two products beyond d's range that cancel, beside the row's other products.
void beyond_range_cancels(DotCase& out, Draw& draw, const DotRow& row) {
  const DotTypes& t = row.how.types;
  const int high = product_exponents(t, false).high;
  const auto [i, j] = two_places(draw, row.how.k);
  set_product(out, i, draw, t, draw.between(std::min(t.d.emax() + 1, high), high), false);
  const auto from = static_cast<std::size_t>(i);
  const auto to = static_cast<std::size_t>(j);
  out.a[to] = out.a[from];
  out.b[to] = opposite(out.b[from], t.b);
}

/// Two to five NaNs in a, b or c, in half of the rows beside an infinity times zero; they show
/// which NaN becomes the result.
void several_nans(DotCase& out, Draw& draw, const DotRow& row) {
  const DotTypes& t = row.how.types;
  if (draw.flip()) infinity_times_zero(out, draw, row);
  const int nans = draw.between(2, 5);
  for (int i = 0; i < nans; ++i) {
    const std::size_t at = place(draw, row.how.k);
    const int where = draw.between(0, 2);
    if (where == 0) out.a[at] = some_nan(draw, t.a);
    if (where == 1) out.b[at] = some_nan(draw, t.b);
    if (where == 2) out.c = some_nan(draw, t.c);
  }
}

constexpr std::array<Kinds, 10> special_kinds{
    nan_in_product,  nan_in_addend,       infinity_times_zero, infinite_products,
    several_nans,    opposite_infinities, infinite_addend,     largest_and_half_ulp,
    products_at_end, beyond_range_cancels};

}  // namespace

void make_zeros(DotCase& out, Draw& draw, const DotRow& row) {
  zero_kinds[row.index % zero_kinds.size()](out, draw, row);
}

void make_zero_products(DotCase& out, Draw& draw, const DotRow& row) {
  fill_zeros(out, draw, row.how);
  const DotTypes& t = row.how.types;
  const bool in_a = draw.flip();
  const Format& other = in_a ? t.b : t.a;
  const int of_other = draw.between(other.emax() - 3, other.emax());
  const int of_zero = row.index % 2 == 0 ? (in_a ? t.a : t.b).emin() : binary32.emin();
  const int top = of_zero + of_other;
  const ExponentRange range = product_exponents(t, true);
  const auto below = [&](int low, int high) {
    const int distance = draw.between(4, 40);
    return std::clamp(top - distance, low, high);
  };
  const int products = draw.between(0, 3);
  for (int i = 0; i < products; ++i) {
    const int at = draw.between(0, row.how.k - 1);
    const int e = below(range.low, range.high);
    set_product(out, at, draw, t, e, true);
  }
  if (products == 0 || draw.flip()) {
    const int e = below(t.c.quantum_exponent(), t.c.emax());
    out.c = number_at(draw, t.c, e);
  }
  const std::size_t at = place(draw, row.how.k);
  const std::uint64_t zero = some_zero(draw, in_a ? t.a : t.b);
  const std::uint64_t number = number_at(draw, other, of_other);
  out.a[at] = in_a ? zero : number;
  out.b[at] = in_a ? number : zero;
}

void make_specials(DotCase& out, Draw& draw, const DotRow& row) {
  fill_normal(out, draw, row.how);
  special_kinds[row.index % special_kinds.size()](out, draw, row);
}

}  // namespace binade
