// SPDX-License-Identifier: Apache-2.0
//
// `any_nonfinite` of emulate/nonfinite.h, the same answer: whether an array of encodings (codes)
// has a NaN or an infinity. In every format that is one comparison of some of a code's bits:
//
//                mask                     value
//     binary16   0 11111 0000000000       the same          an exponent field of ones
//     e4m3       0 1111 111               the same          all ones
//     e4m3fnuz   1 1111 111               1 0000 000        the encoding that would be -0
//
// Only integers are compared, so that subnormals cost nothing and signaling NaNs raise no
// exception. The array is searched in parts of 2 KiB, without a branch in a part, and the search
// ends with the first part that has a NaN or an infinity.
#pragma once

#include <cstddef>
#include <cstdint>

#include "emulate/format.h"

namespace binade::fast {

/// A code is a NaN or an infinity exactly if (code & mask) == value. A mask of 0 says that the
/// format has neither.
struct NonFiniteBits {
  std::uint64_t mask = 0, value = 0;
};

constexpr NonFiniteBits nonfinite_bits(const Format& f) {
  const std::uint64_t exponent = f.exponent_mask() << f.fraction_bits() << f.padding_bits;
  const std::uint64_t fraction = f.fraction_mask() << f.padding_bits;
  const std::uint64_t sign = std::uint64_t{1} << (f.bits() - 1 + f.padding_bits);
  switch (f.specials) {
    case Specials::ieee: return {exponent, exponent};
    case Specials::nan_only: return {exponent | fraction, exponent | fraction};
    case Specials::fnuz: return {sign | exponent | fraction, sign};
    case Specials::none: break;
  }
  return {};
}

/// Bytes of a part, after which the search looks whether anything was found.
inline constexpr std::size_t nonfinite_part = 2048;

/// Returns whether one of n codes, in containers of code_bytes(format) bytes at any alignment, is a
/// NaN or an infinity.
bool any_nonfinite(const std::byte* in, std::size_t n, const Format& format);

}  // namespace binade::fast
