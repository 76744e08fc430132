// SPDX-License-Identifier: Apache-2.0
//
// `histogram` of emulate/histogram.h, equal in every sum over tables: how often each code occurs.
// Words of eight bytes are loaded, and neighbouring codes are counted in different tables:
//
//     a word    bit 63                            0     a word    bit 63                             0
//     16 bits   code 3  | code 2 | code 1 | code 0      8 bits    | 7 | 6 | 5 | 4 | 3 | 2 | 1 | code 0 |
//     table     1       | 0      | 1      | 0           table     | 7 | 6 | 5 | 4 | 3 | 2 | 1 | 0      |
//
// An addition to a count waits for the one before if that changed the same count a moment ago, as
// in an array of zeros. Eight tables of 16-bit codes would be too large for a cache, so there eight
// equal codes are one addition of 8.
#pragma once

#include <cstddef>

#include "emulate/histogram.h"

namespace binade::fast {

/// Adds n codes, lowest byte first and at any alignment, to the counts.
void histogram(const std::byte* in, std::size_t n, EncodingCounts<8>& counts);
void histogram(const std::byte* in, std::size_t n, EncodingCounts<16>& counts);

}  // namespace binade::fast
