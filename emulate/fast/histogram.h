// SPDX-License-Identifier: Apache-2.0
//
// `histogram` of emulate/histogram.h, eight or sixteen bytes at a time, neighbours into different tables:
//
//     16 bits    code 0    1    2    3      8 bits    code 0  1  2  3  4  5  6  7
//               table 0    1    0    1               table 0  1  2  3  4  5  6  7
//
// An addition to a count that an addition of a moment ago still holds waits for that one; in an array of zeros each does.
// Tables of 16 bits are too large for eight of them, so eight equal codes are one addition there.
#pragma once

#include <cstddef>

#include "emulate/histogram.h"

namespace binade::fast {

void histogram(const std::byte* in, std::size_t n, EncodingCounts<8>& counts);
void histogram(const std::byte* in, std::size_t n, EncodingCounts<16>& counts);

}  // namespace binade::fast
