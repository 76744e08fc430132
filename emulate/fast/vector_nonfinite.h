// SPDX-License-Identifier: Apache-2.0
//
// `any_nonfinite` of emulate/nonfinite.h, the same answer, by vectors of V: mask and value of
// emulate/fast/nonfinite.h stand in each lane, and four vectors are compared at a time. V is the
// level's vector unit (avx2.h, avx512.h): a struct of types and functions for its vectors.
//
//     lanes, binary16      3C00  FC00  0001  7E01  …      & 7C00 each  ==  7C00 each:  no  yes  no  yes
//     array                |--- 2 KiB ---|--- 2 KiB ---|----|----|--|
//     the last vectors                                        |----|   the very last ends with the array
#pragma once

#include <cstddef>
#include <cstdint>

#include "emulate/fast/kernels.h"
#include "emulate/fast/nonfinite.h"

namespace binade::fast {

/// Searches `size` bytes, at least a vector, in lanes of U, which are a code wide.
template <class V, class U>
bool any_nonfinite_lanes(const std::byte* in, std::size_t size, std::uint64_t lane_mask,
                         std::uint64_t lane_value) {
  using M = typename U::M;
  const auto mask = V::Words::set(lane_mask), value = V::Words::set(lane_value);
  const auto found_at = [&](std::size_t at) {
    return U::equal(U::bit_and(U::load(in + at), mask), value);
  };
  std::size_t at = 0;
  while (size - at >= nonfinite_part) {
    M found[4]{found_at(at), found_at(at + U::bytes), found_at(at + 2 * U::bytes),
               found_at(at + 3 * U::bytes)};
    const std::size_t end = at + nonfinite_part;
    for (at += 4 * U::bytes; at < end; at += 4 * U::bytes) {
      for (std::size_t k = 0; k < 4; ++k) {
        found[k] = U::either(found[k], found_at(at + k * U::bytes));
      }
    }
    if (U::any(U::either(U::either(found[0], found[1]), U::either(found[2], found[3])))) {
      return true;
    }
  }
  M found = found_at(size - U::bytes);
  for (; size - at >= U::bytes; at += U::bytes) found = U::either(found, found_at(at));
  return U::any(found);
}

template <class V>
bool any_nonfinite_vectors(const std::byte* in, std::size_t n, const Format& format) {
  const NonFiniteBits bits = nonfinite_bits(format);
  const std::size_t bytes = static_cast<std::size_t>(format.storage_bits()) / 8;
  if (bits.mask == 0 || n * bytes < V::bytes) {
    return own_kernels(Level::portable).any_nonfinite(in, n, format);
  }
  const auto in_lanes = [bytes](std::uint64_t x) {  // repeats a code over 64 bits
    for (std::size_t width = bytes; width < 8; width *= 2) x |= x << 8 * width;
    return x;
  };
  const std::uint64_t mask = in_lanes(bits.mask), value = in_lanes(bits.value);
  switch (bytes) {
    case 1: return any_nonfinite_lanes<V, typename V::Bytes>(in, n, mask, value);
    case 2: return any_nonfinite_lanes<V, typename V::HalfWords>(in, 2 * n, mask, value);
    case 4: return any_nonfinite_lanes<V, V>(in, 4 * n, mask, value);
    default: return any_nonfinite_lanes<V, typename V::Words>(in, 8 * n, mask, value);
  }
}

}  // namespace binade::fast
