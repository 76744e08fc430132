// SPDX-License-Identifier: Apache-2.0
//
// Numbers as text: all digits, a few digits, powers of two, hexadecimal. The functions take
// magnitudes; callers write the sign.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "lib/number/decimal.h"

namespace binade {

/// Returns all digits: 0, 0.0999755859375, 65504, 2.44140625e-05 (in exponent form below 1e-4 and
/// from 1e21 on).
std::string exact_text(const Decimal& x);

/// Returns the number rounded to `digits` significant digits, ties to even, with trailing zeros:
/// 5.960e-08; zero is "0".
std::string short_text(const Decimal& x, std::size_t digits = 4);

/// Returns all digits if at most `longest` of them are significant, else four of them: "about
/// 5.960e-08".
std::string concise_text(const Decimal& x, std::size_t longest = 20);

/// Returns an error that is given in ulps (units in the last place): all digits if at most six are
/// significant ("0.4") and the number is at least 1e-6, else four ("about 0.3333"). A number of
/// more digits that is less than 1e-4 away from 0.5 or 1 is "just below 0.5", say.
std::string ulps_text(const Decimal& x);

/// Returns the number as a formula: 2^-14, (2-2^-10)*2^15, 5*2^-24, 0.
std::string formula_text(const Dyadic& x);

/// Returns the exact number for use in a sentence, in the first of these forms that is short
/// enough: 0.0999755859375, 2^-24, 4.57763671875e-05, (2-2^-23)*2^127, 0x1.5cp-40.
std::string grid_text(const Dyadic& x);

/// Returns a normalised hexadecimal floating-point literal: 0x1.998p-4; zero is 0x0p+0.
std::string hex_text(const Dyadic& x);

}  // namespace binade
