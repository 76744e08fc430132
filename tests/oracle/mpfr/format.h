// SPDX-License-Identifier: Apache-2.0
//
// The formats as their defining documents have them, and the conversion of encodings to MPFR
// numbers and back.
#pragma once

#include <cstdint>
#include <span>

#include "tests/oracle/mpfr/number.h"

namespace mpfr_oracle {

enum class Specials {
  ieee,     // the top exponent holds Inf and NaNs
  one_nan,  // only the all-ones encoding is a NaN; no Inf
  none,     // every encoding is a number
};

struct Format {
  const char* name;
  int exponent_bits;
  int precision;  // with the hidden bit
  int bias;
  Specials specials;
  int container_bits;
  int shift;  // number of zero bits below the encoding in its container

  int bits() const { return exponent_bits + precision; }
  int fraction_bits() const { return precision - 1; }
  int least_exponent() const { return 1 - bias; }  // of normal numbers
  int greatest_exponent() const;
  int quantum_exponent() const { return least_exponent() - fraction_bits(); }
  bool has_infinity() const { return specials == Specials::ieee; }
  bool has_nan() const { return specials != Specials::none; }

  // Encodings without sign and without the container's shift.
  std::uint64_t sign_bit() const { return std::uint64_t{1} << (bits() - 1); }
  std::uint64_t fraction_mask() const { return (std::uint64_t{1} << fraction_bits()) - 1; }
  std::uint64_t infinity() const;  // the first encoding with the top exponent
  std::uint64_t largest_finite() const;
  std::uint64_t nan() const;  // the default one; for formats without NaN the largest finite
};

std::span<const Format> formats();

struct Operand {
  Number value;  // NaN where `nan` is set
  bool nan;
  bool signaling;
};

// Returns the operand of an encoding, given as it stands in a line of cases.
Operand decode(const Format& format, std::uint64_t container);

// Returns the encoding of a number of the format, or of Inf or NaN where the format has them.
std::uint64_t encode(const Format& format, mpfr_srcptr value);

// Returns the largest finite number of the format.
Number largest_finite(const Format& format);

}  // namespace mpfr_oracle
