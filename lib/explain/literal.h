// SPDX-License-Identifier: Apache-2.0
//
// Reads the numbers that a user types, exactly:
//
//     0.1   1e-8   65520                 decimal, any number of digits
//     0x1.8p-3                           hexadecimal, with its power of two
//     2^-25   3*2^-26   1.5*2^-24        powers of two and products
//     inf   nan   snan                   specials
//     bits:0x3c00   bits:0b0_01111_00    an encoding of the destination format
//     binary32:0x3dcccccd                an encoding of another format, to be rounded
//
// Each may have a sign in front, except encodings.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "emulate/codec.h"
#include "lib/format/format_spec.h"
#include "lib/number/decimal.h"

namespace binade {

/// The largest power of ten, and the largest number of digits, that a literal or each factor of a
/// product may have; powers of two have the same range in value. The exponents of a product may be
/// twice as large, and its text may have 2 · max_digits characters. All lie far outside every
/// format.
inline constexpr int max_decimal_exponent = 10000;
inline constexpr int max_binary_exponent = 33219;
inline constexpr int max_digits = 10000;

struct Literal {
  std::string text;  ///< as typed, made printable
  Kind kind = Kind::zero;
  bool negative = false;
  /// Value of a finite or zero literal, without its sign. Of an encoding of the destination format,
  /// neither kind, nor sign nor magnitude is set.
  Decimal magnitude = {};

  /// The bits of an encoding that was typed and, if it is not of the destination's own format, its
  /// format.
  struct Encoding {
    std::uint64_t bits = 0;
    std::optional<NamedOrCustom> format;
  };
  std::optional<Encoding> encoding = {};
  /// For a zero, an infinity or a NaN: what operand_of returns, for a NaN with payload and whether
  /// it signals.
  Exact special = {};
};

/// Reads a literal. Throws Error with what is wrong and how numbers are written.
Literal parse_literal(std::string_view text);

/// Returns the operand that `project` takes (emulate/project.h). The literal must not be an
/// encoding of the destination format, whose value the literal does not know.
Exact operand_of(const Literal& literal);

/// The help text that says how numbers are typed.
extern const char* const literal_help;

}  // namespace binade
