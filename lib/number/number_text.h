// SPDX-License-Identifier: Apache-2.0
//
// Numbers as text: all digits, a few digits, powers of two, hexadecimal. Magnitudes only; what
// stands before a number is its reader's business.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "lib/number/decimal.h"

namespace binade {

/// All digits: 0.0999755859375, 65504, 2.44140625e-05 (exponent form outside 1e-4 .. 1e21).
std::string exact_text(const Decimal& x);

/// Rounded to `digits` significant digits, ties to even, with their trailing zeros: 5.960e-08.
std::string short_text(const Decimal& x, std::size_t digits = 4);

/// All digits where there are at most `longest`, else "about 5.960e-08".
std::string concise_text(const Decimal& x, std::size_t longest = 20);

/// A number of ulps below or at one: "0.4", "about 0.3333", and never a rounded 0.5 or 1 that is
/// not exactly that.
std::string ulps_text(const Decimal& x);

/// As a formula: 2^-14, (2-2^-10)*2^15, 5*2^-24, 0.
std::string formula_text(const Dyadic& x);

/// For a sentence, always exact: 0.0999755859375, 2^-24, (2-2^-23)*2^127, 0x1.5cp-40, in that order
/// of preference.
std::string grid_text(const Dyadic& x);

/// Hexadecimal floating-point literal, normalised: 0x1.998p-4.
std::string hex_text(const Dyadic& x);

}  // namespace binade
