// SPDX-License-Identifier: Apache-2.0
//
// `elementwise` of emulate/elementwise.h on floats: in binary64, whose result is either exact or cannot be mistaken for
// another once it is rounded to at most 24 bits, then by the tiles of quantize_tile.h.
//
//     product           24 + 24 bits: exact
//     sum, fused sum    to odd (double_double.h): the last bit stands for all that lies below it
//     quotient, root    of 24-bit operands they keep 2^-50 of themselves away from every number of up to 25 bits that
//                       they are not: neither a result nor the middle between two is reached by rounding to 53 bits
//
// Stochastic rounding asks 32 bits below the result's last, which sums and products have for precisions up to 20.
#pragma once

#include <cstddef>
#include <cstdint>

#include "emulate/elementwise.h"

namespace binade::fast {

void elementwise(const float* a, const float* b, const float* c, float* out, std::size_t n,
                 std::uint64_t first, const Elementwise& how, EventCounts& counts);

}  // namespace binade::fast
