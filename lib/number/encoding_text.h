// SPDX-License-Identifier: Apache-2.0
//
// Encodings as text: their bits in hexadecimal, and the number that they stand for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "emulate/format.h"
#include "lib/number/decimal.h"

namespace binade {

/// "0x3c00": the bits as a word of `width` bits, one digit for every four of them.
std::string hex_bits(std::uint64_t bits, int width);

/// "3C00": upper case and without prefix, as TestFloat and CUDA's tools print encodings; at least `digits` digits.
std::string hexadecimal(std::uint64_t bits, int digits);
/// The same with the digits of the format's storage.
std::string hexadecimal(std::uint64_t bits, const Format& format);

/// "0x2e66": hex_bits of an encoding, with the padding bits that its format has.
std::string bits_text(std::uint64_t bits, const Format& format);

/// "NaN", "inf", "-inf", "0" or "-0"; nothing where the encoding is a finite number that is not zero.
std::optional<std::string> special_value_text(std::uint64_t bits, const Format& format);

/// "0.0999755859375", "-2^-24", "inf", "NaN": the exact value of an encoding, for a sentence (grid_text). Integers of the
/// integer formats are printed as such.
std::string value_text(std::uint64_t bits, const Format& format);

/// value_text, and decimal digits beside it where that is a formula: "-2^-24 ≈ -5.9605e-08".
std::string value_with_digits(std::uint64_t bits, const Format& format);

/// The magnitude of an encoding that is finite, as significand · 2^exponent.
Dyadic finite_magnitude(std::uint64_t bits, const Format& format);

}  // namespace binade
