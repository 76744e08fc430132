// SPDX-License-Identifier: Apache-2.0
//
// Sums of a tile's row, which are encodings, as numbers of a carrier, and back: by the portable kernels of arrays.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "emulate/fast/kernels.h"

namespace binade::fast {

/// n <= tile_columns of format f: T's own, or binary16.
template <std::floating_point T>
void values_of_sums(const std::uint64_t* sums, std::size_t n, const Format& f, T* out) {
  if (f != binary16) {
    for (std::size_t j = 0; j < n; ++j) {
      out[j] = std::bit_cast<T>(static_cast<typename Carrier<T>::Bits>(sums[j]));
    }
    return;
  }
  std::array<std::uint16_t, tile_columns> codes;
  for (std::size_t j = 0; j < n; ++j) codes[j] = static_cast<std::uint16_t>(sums[j]);
  const auto* const bytes = reinterpret_cast<const std::byte*>(codes.data());
  (own_kernels(Level::portable).*KernelsOf<T>::decode)(bytes, out, n, f);
}

/// What values_of_sums reads, of numbers of f.
template <std::floating_point T>
void sums_of_values(const T* values, std::size_t n, const Format& f, std::uint64_t* out) {
  if (f != binary16) {
    for (std::size_t j = 0; j < n; ++j) out[j] = bits_of(values[j]);
    return;
  }
  std::array<std::uint16_t, tile_columns> codes;
  EventCounts none;
  auto* const bytes = reinterpret_cast<std::byte*>(codes.data());
  (own_kernels(Level::portable).*KernelsOf<T>::encode)(values, bytes, n, 0, {f, {}}, none);
  for (std::size_t j = 0; j < n; ++j) out[j] = codes[j];
}

}  // namespace binade::fast
