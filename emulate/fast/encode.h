// SPDX-License-Identifier: Apache-2.0
//
// `quantize_to_codes` of emulate/quantize.h, equal in every bit and count: tiles of values are
// rounded onto the format's grid (quantize_tile.h), and their fields are then shifted. Times
// 2^(format's bias - carrier's bias), which is exact, a number's exponent field is the format's,
// and gradual underflow turns the format's subnormals into the carrier's:
//
//     binary16 2^-14     0111 0001 0000 0000 0000 0000 0000 000 · 2^(15 - 127)
//                      = 0000 0001 0000 0000 0000 0000 0000 000 >> 13  = 00001 0000000000
#pragma once

#include <cstddef>
#include <cstdint>

#include "emulate/fast/quantize_tile.h"

namespace binade::fast {

/// Turns values on a format's grid, as a TileQuantizer leaves them in Ts, into codes of the format.
template <std::floating_point T>
struct CodePlan {
  using Bits = typename Carrier<T>::Bits;

  bool known = false;     ///< false: no plan; the definition (emulate/quantize.h) does it
  T to_bias = 1;          ///< 2^(format's bias - carrier's bias)
  int fraction_drop = 0;  ///< fraction bits of the carrier minus those of the format
  int padding = 0;        ///< unused bits at the end of a code
  int sign_shift = 0;     ///< to the right: from the carrier's sign to the format's, before padding
  Format format;

  explicit CodePlan(const Format& f) : format(f) {
    constexpr const Format& c = Carrier<T>::format;
    const int shift = f.bias - c.bias;
    // A code with its padding is made in a word of T's width.
    known = shift >= c.emin() && shift <= 0 && f.storage_bits() <= c.storage_bits();
    if (!known) return;
    to_bias = std::bit_cast<T>(static_cast<Bits>(shift + c.bias) << c.fraction_bits());
    fraction_drop = c.precision - f.precision;
    padding = f.padding_bits;
    sign_shift = c.bits() - f.bits();
  }

  /// Converts the bits of n finite values on the grid.
  void operator()(const Bits* values, Bits* codes, std::size_t n) const {
    constexpr Bits magnitude_bits = RoundingPlan<T>::magnitude_bits;
    for (std::size_t i = 0; i < n; ++i) {
      const T rebiased = std::bit_cast<T>(values[i] & magnitude_bits) * to_bias;
      const Bits sign = (values[i] & ~magnitude_bits) >> sign_shift;
      codes[i] = (std::bit_cast<Bits>(rebiased) >> fraction_drop | sign) << padding;
    }
  }
  /// Converts again those of n values that are infinities or NaNs, which an overflow may have made.
  void mend(const Bits* values, Bits* codes, std::size_t n) const {
    for (std::size_t i = 0; i < n; ++i) {
      if ((values[i] & RoundingPlan<T>::magnitude_bits) < RoundingPlan<T>::infinity) continue;
      const Attributes keep{.nan = NanResult::propagate};
      codes[i] = static_cast<Bits>(convert(values[i], Carrier<T>::format, format, keep).bits);
    }
  }
};

/// Rounds n values to codes, in containers of code_bytes(to.format) bytes each; in[0] is element
/// `first` of its stream of random words. Adds to `counts`.
void quantize_to_codes(const float* in, std::byte* out, std::size_t n, std::uint64_t first,
                       const Quantizer& to, EventCounts& counts);
void quantize_to_codes(const double* in, std::byte* out, std::size_t n, std::uint64_t first,
                       const Quantizer& to, EventCounts& counts);

}  // namespace binade::fast
