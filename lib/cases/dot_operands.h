// SPDX-License-Identifier: Apache-2.0
//
// What the generators of dot products are made of: random numbers of a wanted exponent, exact
// powers of two as a product of two factors, NaNs, sums.
#pragma once

#include <cstdint>

#include "lib/cases/dot_cases.h"

namespace binade {

/// The nearest number, ties to even, in the range.
std::uint64_t nearest(const Exact& x, const Format& f);

/// About N(0, 1): twelve 16-bit words and a 32-bit fraction, added exactly, rounded once.
std::uint64_t normal_number(Draw& draw, const Format& f);
void fill_normal(DotCase& out, Draw& draw, const Instruction& how);

/// Every encoding alike; without NaN and Inf if `finite`.
std::uint64_t any_encoding(Draw& draw, const Format& f, bool finite);

/// A number 1.xxx · 2^e of either sign; below emin with fewer bits, above emax the largest.
std::uint64_t number_at(Draw& draw, const Format& f, int e);

/// A zero of either sign.
std::uint64_t some_zero(Draw& draw, const Format& f);

/// A NaN of any payload and sign; the largest number where the format has none.
std::uint64_t some_nan(Draw& draw, const Format& f);

/// An infinity; where the format has none a NaN, or the largest number.
std::uint64_t infinity_of(const Format& f, bool negative);

/// The exponents of factors' products: smallest subnormals to largest numbers, or normal ones
/// alone.
struct ExponentRange {
  int low = 0, high = 0;
};
ExponentRange product_exponents(const DotTypes& types, bool with_subnormals);

/// a[i] · b[i] of random significands, exponents that add to e as far as the formats reach.
void set_product(DotCase& out, int i, Draw& draw, const DotTypes& types, int e,
                 bool with_subnormals);

/// a[i] · b[i] = ±2^e. The exponent halved between them, or a's as low as it can be.
enum class ExponentSplit { halves, lowest_a };
void set_power(DotCase& out, int i, const DotTypes& types, int e, bool negative,
               ExponentSplit split = ExponentSplit::halves);

/// The second half of the products are the first, negated and turned: gives where product 0 is.
int cancel_halves(DotCase& out, Draw& draw, const Instruction& how);

/// Minus the sum of the products, rounded to c's format.
std::uint64_t minus_sum(const DotCase& x, const Instruction& how);

/// Places i and j of products, unlike if k allows.
struct TwoPlaces {
  int i = 0, j = 0;
};
TwoPlaces two_places(Draw& draw, int k);

/// The generators `zeros` and `specials` choose among many small kinds; with `zero_products` they have a file of
/// their own.
void make_zeros(DotCase& out, Draw& draw, const DotRow& row);
/// A zero times a large number, and terms so far below it that it would cut them if it counted.
void make_zero_products(DotCase& out, Draw& draw, const DotRow& row);
void make_specials(DotCase& out, Draw& draw, const DotRow& row);

}  // namespace binade
