// SPDX-License-Identifier: Apache-2.0
//
// `values_of_codes` of emulate/quantize.h, equal in every bit: encodings (codes) to floats or
// doubles, the carrier T. The code's exponent and fraction are shifted to where the carrier has
// them; then the carrier's number is multiplied by 2^(carrier's bias - format's bias), which is
// exact and makes normal numbers of the format's subnormals:
//
//     binary16 2^-15     00000 1000000000 << 13 = 0000 0000 1000 0000 0000 0000 0000 000 · 2^(127 - 15)
//                                               = 0111 0000 0000 0000 0000 0000 0000 000
//
// The definition converts infinities and NaNs.
#pragma once

#include <cstddef>
#include <cstdint>

#include "emulate/quantize.h"

namespace binade::fast {

/// The places of a format's fields in a code, which stands in a word of T's width after its padding
/// was shifted out.
template <std::floating_point T>
struct CodeFields {
  using Bits = typename Carrier<T>::Bits;

  bool known = false;     ///< false: nothing else is set; the definition does it
  std::size_t bytes = 0;  ///< size of a code's container
  /// Unused bits at the container's end; shifts to the left, from the code's fields to the
  /// carrier's.
  int padding = 0, fraction_shift = 0, sign_shift = 0;
  Bits magnitude = 0;  ///< mask of exponent and fraction
  Bits special = 0;    ///< the smallest magnitude that is an infinity or a NaN
  Bits sign = 0;       ///< mask of the sign; 0 where the format has none
  Bits lone_nan = 0;   ///< fnuz: the code of its only NaN, else 0

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

/// Converts n codes, in containers of code_bytes(format) bytes each, to floats or doubles.
void values_of_codes(const std::byte* in, float* out, std::size_t n, const Format& format);
void values_of_codes(const std::byte* in, double* out, std::size_t n, const Format& format);

}  // namespace binade::fast
