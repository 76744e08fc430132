// SPDX-License-Identifier: Apache-2.0
//
// Products in tiles of 128. The definition does the elements whose product is a NaN or an infinity.
#include "emulate/fast/unscale.h"

#include <cstring>

#include "emulate/fast/kernels.h"
#include "emulate/fast/quantize_tile.h"

namespace binade::fast {

NonFinite unscale(const float* in, float* out, std::size_t n, const Format& format,
                  float inv_scale) {
  const TileQuantizer<float> quantizer({format, {.nan = NanResult::nvidia}});
  if (!quantizer.known()) return definitions().unscale_f32(in, out, n, format, inv_scale);
  NonFinite found{.at = n};
  std::array<float, tile_size> x;
  std::array<std::uint32_t, tile_size> products, results;
  EventCounts counts;
  for (std::size_t done = 0; done < n; done += tile_size) {
    const std::size_t count = n - done < tile_size ? n - done : tile_size;
    std::memcpy(x.data(), in + done, count * sizeof(float));
    for (std::size_t i = 0; i < count; ++i) {
      products[i] = std::bit_cast<std::uint32_t>(x[i] * inv_scale);
    }
    // A NaN or an infinity has such a product; so has a number that overflows, which the definition
    // tells from them.
    const SpecialValues<float> specials(products.data(), count);
    quantizer(products.data(), results.data(), count, 0, counts);
    std::memcpy(out + done, results.data(), count * sizeof(float));
    specials.each(counts, [&](std::size_t i, float) {
      const NonFinite here = definitions().unscale_f32(&x[i], out + done + i, 1, format, inv_scale);
      if (found.at == n && here.at == 0) found = {done + i, here.value};
    });
  }
  return found;
}

}  // namespace binade::fast
