// SPDX-License-Identifier: Apache-2.0
//
// A pass over arrays by vectors of a vector unit V (emulate/fast/avx2.h). It handles as many
// elements at a time as a vector has bytes, so that they fill a whole number of vectors of each
// array. All that is read goes into what is written, or into a sum that the compiler may not leave
// out.
#pragma once

#include <cstddef>

#include "tests/bench/limits.h"

namespace binade::bench {

template <class V, std::size_t arrays, std::size_t read, std::size_t written, bool streamed,
          bool prefetched>
void pass_of(const std::byte* const* in, std::byte* out, std::size_t n) {
  using I = typename V::I;
  constexpr std::size_t vectors = read > written ? read : written;
  constexpr std::size_t fewer = read > written ? written : read;
  constexpr std::size_t distinct = fewer > 0 ? fewer : 1;  // of what is written
  I x[vectors];
  for (I& of : x) of = V::zero();
  for (std::size_t done = 0; done + V::bytes <= n; done += V::bytes) {
    if constexpr (written > 0) {
      for (I& of : x) of = V::zero();
    }
    for (std::size_t k = 0; k < arrays; ++k) {
      const std::byte* const from = in[k] + done * read;
      if constexpr (prefetched) {
        for (std::size_t at = 0; at < read * V::bytes; at += 64) V::prefetch(from + 2048 + at);
      }
      for (std::size_t v = 0; v < read; ++v) {
        x[v] = V::bit_xor(x[v], V::load(from + v * V::bytes));
      }
    }
    if constexpr (read > written && written > 0) {
      for (std::size_t v = written; v < read; ++v) {
        x[v % written] = V::bit_xor(x[v % written], x[v]);
      }
    }
    for (std::size_t v = 0; v < written; ++v) {
      std::byte* const to = out + done * written + v * V::bytes;
      const I result = x[v % distinct];
      streamed ? V::stream(to, result) : V::store(to, result);
    }
  }
  if constexpr (streamed && written > 0) V::streamed();
  asm volatile("" : : "r"(&x) : "memory");
}

template <class V, std::size_t arrays, std::size_t read, std::size_t written>
Pass pass_of(Way way) {
  if (way.streamed && way.prefetched) return &pass_of<V, arrays, read, written, true, true>;
  if (way.streamed) return &pass_of<V, arrays, read, written, true, false>;
  if (way.prefetched) return &pass_of<V, arrays, read, written, false, true>;
  return &pass_of<V, arrays, read, written, false, false>;
}

/// Returns the pass of a traffic that some kernel has; null for any other.
template <class V>
Pass pass_of(const Traffic& traffic, Way way) {
  const auto is = [&](std::size_t arrays, std::size_t read, std::size_t written) {
    return traffic == Traffic{arrays, read, written};
  };
  if (is(1, 4, 4)) return pass_of<V, 1, 4, 4>(way);
  if (is(2, 4, 4)) return pass_of<V, 2, 4, 4>(way);
  if (is(2, 8, 1)) return pass_of<V, 2, 8, 1>(way);
  if (is(3, 4, 4)) return pass_of<V, 3, 4, 4>(way);
  if (is(1, 4, 2)) return pass_of<V, 1, 4, 2>(way);
  if (is(1, 4, 1)) return pass_of<V, 1, 4, 1>(way);
  if (is(1, 2, 4)) return pass_of<V, 1, 2, 4>(way);
  if (is(1, 1, 4)) return pass_of<V, 1, 1, 4>(way);
  if (is(0, 0, 4)) return pass_of<V, 0, 0, 4>(way);
  if (is(1, 4, 0)) return pass_of<V, 1, 4, 0>(way);
  if (is(1, 2, 0)) return pass_of<V, 1, 2, 0>(way);
  if (is(1, 1, 0)) return pass_of<V, 1, 1, 0>(way);
  return nullptr;
}

}  // namespace binade::bench
