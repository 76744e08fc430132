// SPDX-License-Identifier: Apache-2.0
//
// The parts of which the generators of dot products are made: random numbers of a given exponent,
// powers of two as an exact product of two factors, NaNs, products that cancel.
#pragma once

#include <cstdint>

#include "lib/cases/dot_cases.h"

namespace binade {

/// Returns the encoding of x rounded to nearest, ties to even; beyond the range, that of the
/// largest finite number.
std::uint64_t nearest(const Exact& x, const Format& f);

/// Returns a number whose distribution is close to N(0, 1): the sum of twelve 16-bit words and a
/// 32-bit fraction, less its mean, added exactly and rounded once.
std::uint64_t normal_number(Draw& draw, const Format& f);
/// Fills a, b and c with such numbers.
void fill_normal(DotCase& out, Draw& draw, const Instruction& how);

/// Returns a random encoding, each with the same probability. With `finite`, the top exponent bit
/// of a NaN or an infinity is cleared.
std::uint64_t any_encoding(Draw& draw, const Format& f, bool finite);

/// Returns a random number 1.xxx · 2^e of either sign. Below emin it has fewer bits, and above emax
/// it is the largest finite number.
std::uint64_t number_at(Draw& draw, const Format& f, int e);

/// Returns a zero of a random sign.
std::uint64_t some_zero(Draw& draw, const Format& f);

/// Returns a NaN of a random sign and, where the format has several, a random payload; the largest
/// finite number where the format has no NaN.
std::uint64_t some_nan(Draw& draw, const Format& f);

/// Returns an infinity; where the format has none, a NaN; where it has neither, the largest finite
/// number.
std::uint64_t infinity_of(const Format& f, bool negative);

struct ExponentRange {
  int low = 0, high = 0;
};
/// Returns the range of the sums of two factors' exponents: from the smallest subnormals (or,
/// without subnormals, the smallest normal numbers) to the largest numbers.
ExponentRange product_exponents(const DotTypes& types, bool with_subnormals);

/// Sets a[i] and b[i] to numbers with random significands whose exponents add up to e, or come as
/// near to it as the formats allow.
void set_product(DotCase& out, int i, Draw& draw, const DotTypes& types, int e,
                 bool with_subnormals);

/// How the exponent of a power of two is shared between its two factors: about evenly, or with that
/// of a as low as possible.
enum class ExponentSplit { halves, lowest_a };
/// Sets a[i] and b[i] to powers of two, of which a[i] may be negative, whose product is ±2^e.
void set_power(DotCase& out, int i, const DotTypes& types, int e, bool negative,
               ExponentSplit split = ExponentSplit::halves);

/// Replaces the second half of the products by the first half, negated and rotated by a random
/// number of places, so that they cancel. Returns the index of the opposite of product 0.
int cancel_halves(DotCase& out, Draw& draw, const Instruction& how);

/// Returns minus the sum of the products, computed by fused multiply-adds in binary64 and rounded
/// to c's format.
std::uint64_t minus_sum(const DotCase& x, const Instruction& how);

struct TwoPlaces {
  int i = 0, j = 0;
};
/// Returns two random indices of products, which differ unless k is 1.
TwoPlaces two_places(Draw& draw, int k);

/// Makes scales within two binades of 1.
void make_near_scales(DotCase& out, Draw& draw, const DotRow& row);
/// Makes scales of random bits, NaNs among them.
void make_any_scales(DotCase& out, Draw& draw, const DotRow& row);
/// The generator `block_scales` makes rows in which the scales of blocks decide, of several kinds
/// in turn. These three are defined in dot_scaled_cases.cpp.
void make_block_scales(DotCase& out, Draw& draw, const DotRow& row);

/// The generator `zeros` makes rows whose sum is a zero or close to zero, of several kinds in turn.
/// It and the two generators below are defined in dot_special_cases.cpp.
void make_zeros(DotCase& out, Draw& draw, const DotRow& row);
/// The generator `zero_products` makes zeros times large numbers, beside terms so much smaller that
/// they would be cut off if the exponent of a zero product took part in the alignment.
void make_zero_products(DotCase& out, Draw& draw, const DotRow& row);
/// The generator `specials` makes rows with NaNs, infinities and overflow, of several kinds in
/// turn.
void make_specials(DotCase& out, Draw& draw, const DotRow& row);

}  // namespace binade
