// SPDX-License-Identifier: Apache-2.0
//
// Values to codes in tiles of 128: each tile is rounded onto the format's grid, and its values
// become codes. The definition does NaNs, infinities and the formats that tiles do not know.
#include "emulate/fast/encode.h"

#include <cstring>

#include "emulate/fast/kernels.h"

namespace binade::fast {
namespace {

template <class Code, class Bits>
void narrow(const Bits* codes, std::byte* out, std::size_t n) {
  std::array<Code, tile_size> small;
  for (std::size_t i = 0; i < n; ++i) small[i] = static_cast<Code>(codes[i]);
  std::memcpy(out, small.data(), n * sizeof(Code));
}

template <class Bits>
void store(const Bits* codes, std::byte* out, std::size_t n, std::size_t bytes) {
  switch (bytes) {
    case 1: return narrow<std::uint8_t>(codes, out, n);
    case 2: return narrow<std::uint16_t>(codes, out, n);
    case 4: return narrow<std::uint32_t>(codes, out, n);
    case 8: return narrow<std::uint64_t>(codes, out, n);
  }
}

template <std::floating_point T>
void encode_by_tiles(const T* in, std::byte* out, std::size_t n, std::uint64_t first,
                     const Quantizer& to, EventCounts& counts) {
  const TileQuantizer<T> quantizer(to);
  const CodePlan<T> codes_of(to.format);
  if (!quantizer.known() || !codes_of.known) {
    return (definitions().*KernelsOf<T>::encode)(in, out, n, first, to, counts);
  }
  const std::size_t bytes = code_bytes(to.format);
  std::array<typename Carrier<T>::Bits, tile_size> x, values, codes;
  for (std::size_t done = 0; done < n; done += tile_size) {
    const std::size_t count = n - done < tile_size ? n - done : tile_size;
    std::memcpy(x.data(), in + done, count * sizeof(T));
    const SpecialValues<T> specials(x.data(), count);
    quantizer(x.data(), values.data(), count, first + done, counts);
    codes_of(values.data(), codes.data(), count);
    if (any_special(values.data(), count)) codes_of.mend(values.data(), codes.data(), count);
    store(codes.data(), out + done * bytes, count, bytes);
    specials.each(counts, [&](std::size_t i, T value) {
      (definitions().*KernelsOf<T>::encode)(&value, out + (done + i) * bytes, 1, first + done + i,
                                            to, counts);
    });
  }
}

}  // namespace

void quantize_to_codes(const float* in, std::byte* out, std::size_t n, std::uint64_t first,
                       const Quantizer& to, EventCounts& counts) {
  encode_by_tiles(in, out, n, first, to, counts);
}
void quantize_to_codes(const double* in, std::byte* out, std::size_t n, std::uint64_t first,
                       const Quantizer& to, EventCounts& counts) {
  encode_by_tiles(in, out, n, first, to, counts);
}

}  // namespace binade::fast
