// SPDX-License-Identifier: Apache-2.0
//
// `quantize` of arrays by tiles of 128. Formats and attributes that tiles do not know go to
// `quantized`, one float after the other, or to the definition.
#include "emulate/fast/quantize.h"

#include <cstring>

#include "emulate/fast/kernels.h"
#include "emulate/fast/quantize_tile.h"

namespace binade::fast {
namespace {

/// For quantizers that tiles do not know: by the plan of single floats where that knows them, else
/// by the definition.
void quantize_one_by_one(const float* in, float* out, std::size_t n, std::uint64_t first,
                         const Quantizer& to, EventCounts& counts) {
  const QuantizePlan plan = quantize_plan(to);
  if (!plan.known) return definitions().quantize_f32(in, out, n, first, to, counts);
  for (std::size_t i = 0; i < n; ++i) {
    const std::uint32_t random = plan.stochastic ? random_word(to.seed, to.stream, first + i) : 0;
    const auto bits = static_cast<std::uint32_t>(bits_of(in[i]));
    const Quantized result = quantized(bits, random, plan);
    out[i] = std::bit_cast<float>(result.bits);
    count_events(bits, result.events, plan, counts);
  }
}
void quantize_one_by_one(const double* in, double* out, std::size_t n, std::uint64_t first,
                         const Quantizer& to, EventCounts& counts) {
  definitions().quantize_f64(in, out, n, first, to, counts);
}

template <std::floating_point T>
void quantize_by_tiles(const T* in, T* out, std::size_t n, std::uint64_t first, const Quantizer& to,
                       EventCounts& counts) {
  const TileQuantizer<T> quantizer(to);
  if (!quantizer.known()) return quantize_one_by_one(in, out, n, first, to, counts);
  std::array<typename Carrier<T>::Bits, tile_size> x, results;
  for (std::size_t done = 0; done < n; done += tile_size) {
    const std::size_t count = n - done < tile_size ? n - done : tile_size;
    std::memcpy(x.data(), in + done, count * sizeof(T));
    const SpecialValues<T> specials(x.data(), count);
    quantizer(x.data(), results.data(), count, first + done, counts);
    std::memcpy(out + done, results.data(), count * sizeof(T));
    specials.each(counts, [&](std::size_t i, T value) {
      (definitions().*KernelsOf<T>::quantize)(&value, out + done + i, 1, first + done + i, to,
                                              counts);
    });
  }
}

}  // namespace

void quantize(const float* in, float* out, std::size_t n, std::uint64_t first, const Quantizer& to,
              EventCounts& counts) {
  quantize_by_tiles(in, out, n, first, to, counts);
}
void quantize(const double* in, double* out, std::size_t n, std::uint64_t first,
              const Quantizer& to, EventCounts& counts) {
  quantize_by_tiles(in, out, n, first, to, counts);
}

}  // namespace binade::fast
