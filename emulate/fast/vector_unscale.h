// SPDX-License-Identifier: Apache-2.0
//
// `unscale` of emulate/unscale.h, equal in every bit, by vectors of V. V is the level's vector unit
// (avx2.h, avx512.h): a struct of types and functions for its vectors. The products of a tile of
// 1024 floats are made first; vector_quantize.h rounds them to the gradients' format, except
// binary32's, which are rounded already. An element whose product is a NaN or an infinity is done
// by the definition:
//
//     in · inv_scale           p0    p1    NaN   p3   …    four vectors, a group
//     largest magnitude        > 0x7F7FFFFF: the group's elements are looked at one by one
//     products of the tile     p0    p1    0     p3   …    quantized; the definition's result replaces the 0 at the end
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "emulate/fast/kernels.h"
#include "emulate/fast/quantize_tile.h"
#include "emulate/fast/vector_quantize.h"

namespace binade::fast {

/// The level's kernel. Returns the first in[i] that is a NaN or an infinity, and its place; n where
/// none is.
template <class V>
NonFinite unscale_vectors(const float* in, float* out, std::size_t n, const Format& format,
                          float inv_scale) {
  using I = typename V::I;
  using Quantizer = VectorQuantizer<V, float>;
  using Plan = RoundingPlan<float>;
  constexpr std::size_t tile = 1024, group = 4 * V::lanes;
  const TileQuantizer<float> quantizer({format, {.nan = NanResult::nvidia}});
  const auto quantize = Quantizer::template run_of<AsNumbers<V>>(quantizer);
  if (quantize == nullptr) {
    return own_kernels(Level::portable).unscale_f32(in, out, n, format, inv_scale);
  }
  const bool streamed = n * sizeof(float) >= streamed_bytes && in != out;
  const I magnitude = V::set(Plan::magnitude_bits), last_number = V::set(Plan::infinity - 1);
  const auto factor = V::set_number(inv_scale);
  NonFinite found{.at = n};
  EventCounts counts;
  struct {
    std::size_t place;
    float value;
  } specials[tile];
  alignas(V::bytes) std::array<float, tile> products;
  const std::size_t past = reinterpret_cast<std::uintptr_t>(out) % V::bytes;
  std::size_t count = streamed && past != 0 ? (V::bytes - past) / sizeof(float) : tile;
  for (std::size_t done = 0; done < n; done += count, count = tile) {
    if (n - done < count) count = n - done;
    const float* x = in + done;
    std::array<float, tile> padded;
    const std::size_t end = (count + group - 1) / group * group;
    if (count != end) {
      for (std::size_t i = count; i < end; ++i) padded[i] = 0;
      std::memcpy(padded.data(), x, count * sizeof(float));
      x = padded.data();
    }
    std::size_t special_count = 0;
    for (std::size_t at = 0; at < end; at += group) {
      I largest = V::zero();
      for (std::size_t i = at; i < at + group; i += V::lanes) {
        const I product = V::bits(V::mul(V::load_floats(x + i), factor));
        largest = V::max(largest, V::bit_and(product, magnitude));
        V::store(products.data() + i, product);
      }
      if (!V::any(V::greater(largest, last_number))) [[likely]]
        continue;
      for (std::size_t i = at; i < at + group && i < count; ++i) {
        std::uint32_t bits;
        std::memcpy(&bits, &products[i], sizeof bits);
        if ((bits & Plan::magnitude_bits) < Plan::infinity) continue;
        auto& special = specials[special_count++];
        special.place = i;
        const NonFinite here =
            definitions().unscale_f32(x + i, &special.value, 1, format, inv_scale);
        if (found.at == n && here.at == 0) found = {done + i, here.value};
        products[i] = 0;
      }
    }
    float* const to = out + done;
    const bool past_caches = streamed && special_count == 0;
    if (format == binary32) {
      std::size_t i = 0;
      for (; i + V::lanes <= count; i += V::lanes) {
        const I product = V::load(products.data() + i);
        V::put(past_caches && count == tile, to + i, product);
      }
      std::memcpy(to + i, products.data() + i, (count - i) * sizeof(float));
    } else {
      const auto* const next = streamed && n - done > tile
                                   ? reinterpret_cast<const std::byte*>(in + done + tile)
                                   : nullptr;
      quantize(products.data(), reinterpret_cast<std::byte*>(to),
               {quantizer, nullptr, 0, count, past_caches, counts, {next}});
    }
    for (std::size_t i = 0; i < special_count; ++i) to[specials[i].place] = specials[i].value;
  }
  if (streamed) V::streamed();
  return found;
}

}  // namespace binade::fast
