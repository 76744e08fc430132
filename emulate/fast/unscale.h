// SPDX-License-Identifier: Apache-2.0
//
// `unscale` of emulate/unscale.h, of floats: the machine's own product, which is binary32's, then the tiles of
// quantize_tile.h. The first NaN or infinity is looked for on the way, since the gradient is asked before it is changed:
//
//     + 0x00800000      0111 1111 0… and above carry into the sign: one bit of a sum of all tells of any
#pragma once

#include <cstddef>

#include "emulate/unscale.h"

namespace binade::fast {

NonFinite unscale(const float* in, float* out, std::size_t n, const Format& format,
                  float inv_scale);

}  // namespace binade::fast
