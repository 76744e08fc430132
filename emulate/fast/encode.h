// SPDX-License-Identifier: Apache-2.0
//
// `quantize_to_codes` of emulate/quantize.h: tiles of values on the grid (quantize_tile.h), whose fields are then moved.
// Times 2^(bias - carrier's bias) a number's exponent field is the format's, and gradual underflow makes the format's
// subnormals the carrier's:
//
//     binary16 2^-14     0111 0001 0000 0000 0000 0000 0000 000 · 2^(15 - 127)
//                      = 0000 0001 0000 0000 0000 0000 0000 000 >> 13  = 00001 0000000000
#pragma once

#include <cstddef>
#include <cstdint>

#include "emulate/fast/quantize_tile.h"

namespace binade::fast {

/// A format's codes of the values of a TileQuantizer.
template <std::floating_point T>
struct CodePlan {
  using Bits = typename Carrier<T>::Bits;

  bool known = false;
  T to_bias = 1;  ///< 2^(bias - carrier's bias)
  int fraction_drop = 0;
  int padding = 0;
  int sign_shift = 0;  ///< of the carrier's sign, down to the format's, padding left out
  Format format;

  explicit CodePlan(const Format& f) : format(f) {
    constexpr const Format& c = Carrier<T>::format;
    const int shift = f.bias - c.bias;
    // Codes are made in T's words, padding included.
    known = shift >= c.emin() && shift <= 0 && f.storage_bits() <= c.storage_bits();
    if (!known) return;
    to_bias = std::bit_cast<T>(static_cast<Bits>(shift + c.bias) << c.fraction_bits());
    fraction_drop = c.precision - f.precision;
    padding = f.padding_bits;
    sign_shift = c.bits() - f.bits();
  }

  /// Of n finite values on the grid.
  void operator()(const Bits* values, Bits* codes, std::size_t n) const {
    constexpr Bits magnitude_bits = RoundingPlan<T>::magnitude_bits;
    for (std::size_t i = 0; i < n; ++i) {
      const T rebiased = std::bit_cast<T>(values[i] & magnitude_bits) * to_bias;
      const Bits sign = (values[i] & ~magnitude_bits) >> sign_shift;
      codes[i] = (std::bit_cast<Bits>(rebiased) >> fraction_drop | sign) << padding;
    }
  }
  /// Overflow left infinities or NaNs.
  void mend(const Bits* values, Bits* codes, std::size_t n) const {
    for (std::size_t i = 0; i < n; ++i) {
      if ((values[i] & RoundingPlan<T>::magnitude_bits) < RoundingPlan<T>::infinity) continue;
      const Attributes keep{.nan = NanResult::propagate};
      codes[i] = static_cast<Bits>(convert(values[i], Carrier<T>::format, format, keep).bits);
    }
  }
};

void quantize_to_codes(const float* in, std::byte* out, std::size_t n, std::uint64_t first,
                       const Quantizer& to, EventCounts& counts);
void quantize_to_codes(const double* in, std::byte* out, std::size_t n, std::uint64_t first,
                       const Quantizer& to, EventCounts& counts);

}  // namespace binade::fast
