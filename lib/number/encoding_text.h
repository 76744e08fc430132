// SPDX-License-Identifier: Apache-2.0
//
// Encodings as text: their bits in hexadecimal, and the numbers that they encode.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "emulate/format.h"
#include "lib/number/decimal.h"

namespace binade {

/// Returns "0x3c00": the bits as a word of `width` bits, with a digit for each four of them or a
/// part of four.
std::string hex_bits(std::uint64_t bits, int width);

/// Returns "3C00": upper case and without a prefix, as TestFloat and CUDA's tools print encodings,
/// with leading zeros up to `digits` digits.
std::string hexadecimal(std::uint64_t bits, int digits);
/// Returns the same text with as many digits as the storage of the format has.
std::string hexadecimal(std::uint64_t bits, const Format& format);

/// Returns "0x2e66": hex_bits() of an encoding, the padding bits of its format included.
std::string bits_text(std::uint64_t bits, const Format& format);

/// Returns "NaN", "inf", "-inf", "0" or "-0", or nothing if the encoding is a finite number other
/// than zero or if the format is an integer format.
std::optional<std::string> special_value_text(std::uint64_t bits, const Format& format);

/// Returns the exact value of an encoding for use in a sentence, as grid_text() writes it:
/// "0.0999755859375", "-2^-24", "inf", "NaN". An encoding of an integer format is printed as an
/// integer.
std::string value_text(std::uint64_t bits, const Format& format);

/// Returns value_text() and, if that is a formula or a hexadecimal literal, decimal digits beside
/// it: "-2^-24 ≈ -5.9605e-08".
std::string value_with_digits(std::uint64_t bits, const Format& format);

/// Returns the magnitude of an encoding, which must be zero or finite, of a floating-point format
/// as significand · 2^exponent.
Dyadic finite_magnitude(std::uint64_t bits, const Format& format);

}  // namespace binade
