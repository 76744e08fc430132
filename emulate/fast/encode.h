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

#include "emulate/quantize.h"

namespace binade::fast {

void quantize_to_codes(const float* in, std::byte* out, std::size_t n, std::uint64_t first,
                       const Quantizer& to, EventCounts& counts);
void quantize_to_codes(const double* in, std::byte* out, std::size_t n, std::uint64_t first,
                       const Quantizer& to, EventCounts& counts);

}  // namespace binade::fast
