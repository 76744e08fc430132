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

void values_of_codes(const std::byte* in, float* out, std::size_t n, const Format& format);
void values_of_codes(const std::byte* in, double* out, std::size_t n, const Format& format);

}  // namespace binade::fast
