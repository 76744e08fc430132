// SPDX-License-Identifier: Apache-2.0
//
// `unscale` of emulate/unscale.h, equal in every bit: gradients, carried in floats, times
// inv_scale. The product is the machine's, which is binary32's; the tiles of quantize_tile.h round
// it to the gradients' format. A gradient that is a NaN or an infinity has such a product, so that
// a tile is searched by its products, with one addition each:
//
//     infinity              0111 1111 1000 0000 0000 0000 0000 0000
//     + 0x00800000          1000 0000 0000 0000 …                      NaNs and infinities carry into the sign bit,
//     largest number        0111 1111 0111 1111 1111 1111 1111 1111    smaller magnitudes do not; all sums are joined
//     + 0x00800000          0111 1111 1111 1111 …                      by "or", and one comparison finds any
#pragma once

#include <cstddef>

#include "emulate/unscale.h"

namespace binade::fast {

/// Sets out[i] = in[i] · inv_scale, rounded to `format`. Returns the first in[i] that is a NaN or
/// an infinity, and its place; n where none is. `out` may be `in`.
NonFinite unscale(const float* in, float* out, std::size_t n, const Format& format,
                  float inv_scale);

}  // namespace binade::fast
