// SPDX-License-Identifier: Apache-2.0
//
// `values_of_codes` of emulate/quantize.h: an encoding's fields moved to where the carrier has them, times
// 2^(carrier's bias - bias), which is exact and makes the format's subnormals what they are:
//
//     binary16 2^-15     00000 1000000000 << 13 = 0000 0000 1000 0000 0000 0000 0000 000 · 2^(127 - 15)
//                                               = 0111 0000 0000 0000 0000 0000 0000 000
//
// Infinities and NaNs are the definition's.
#pragma once

#include <cstddef>
#include <cstdint>

#include "emulate/quantize.h"

namespace binade::fast {

/// A format's fields in words of T's width, padding included.
template <std::floating_point T>
struct CodeFields {
  using Bits = typename Carrier<T>::Bits;

  bool known = false;  ///< else nothing else is set
  std::size_t bytes = 0;
  int padding = 0, fraction_shift = 0, sign_shift = 0;
  Bits magnitude = 0;  ///< mask of exponent and fraction
  Bits special = 0;    ///< the first magnitude that is no number
  Bits sign = 0;       ///< of the format; 0 where it has none
  Bits lone_nan = 0;   ///< fnuz: the code of its NaN

  explicit CodeFields(const Format& f) {
    constexpr const Format& c = Carrier<T>::format;
    known = fits_in(f, c) && f.has_zero && f.storage_bits() <= c.storage_bits();
    if (!known) return;
    const auto bit = [](int at) { return static_cast<Bits>(Bits{1} << at); };
    const int magnitude_bits = f.exponent_bits + f.fraction_bits();
    bytes = code_bytes(f);
    padding = f.padding_bits;
    fraction_shift = c.precision - f.precision;
    sign_shift = c.bits() - f.bits();
    magnitude = bit(magnitude_bits) - 1;
    special = static_cast<Bits>(static_cast<Bits>(max_bits(f, false) >> f.padding_bits) + 1);
    sign = f.has_sign ? bit(magnitude_bits) : 0;
    lone_nan = f.specials == Specials::fnuz ? sign : 0;
  }
};

void values_of_codes(const std::byte* in, float* out, std::size_t n, const Format& format);
void values_of_codes(const std::byte* in, double* out, std::size_t n, const Format& format);

}  // namespace binade::fast
