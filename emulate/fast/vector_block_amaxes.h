// SPDX-License-Identifier: Apache-2.0
//
// `block_amaxes` of emulate/block_arrays.h, the same bits: magnitudes are compared as integers, of
// which a NaN's are the largest, so that a block with one is seen and left to the definition. By
// vectors of V, whose lanes are one block's, until as many blocks as it has lanes become one
// vector:
//
//     lanes    7.5 3 0.5 1 | 96 0 2 4 | …     vectors of one block each
//     amaxes   7.5 96 …                       a vector of as many blocks
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "emulate/fast/kernels.h"
#include "emulate/fast/vector_block_loops.h"

namespace binade::fast {

/// Prefetches as many numbers as are read at once, further on.
template <class V>
void prefetch_behind(const float* in, std::size_t n) {
  constexpr std::size_t line = 64 / sizeof *in;
  for (std::size_t i = 0; i < n; i += line) V::prefetch(in + prefetch_distance / sizeof *in + i);
}

template <class V>
std::uint32_t largest_magnitude(const float* in, std::size_t n) {
  std::uint32_t out = 0;
  if constexpr (requires { V::lanes; }) {
    typename V::I largest[4]{V::zero(), V::zero(), V::zero(), V::zero()};
    const auto mask = V::set(block_steps::magnitude);
    for (; n >= 4 * V::lanes; in += 4 * V::lanes, n -= 4 * V::lanes) {
      prefetch_behind<V>(in, 4 * V::lanes);
      for (std::size_t k = 0; k < 4; ++k) {
        largest[k] = V::max(largest[k], V::bit_and(V::load(in + k * V::lanes), mask));
      }
    }
    std::array<std::uint32_t, V::lanes> lanes;
    V::store(lanes.data(), V::max(V::max(largest[0], largest[1]), V::max(largest[2], largest[3])));
    for (const std::uint32_t x : lanes) out = x > out ? x : out;
  }
  for (std::size_t i = 0; i < n; ++i) {
    const std::uint32_t x = std::bit_cast<std::uint32_t>(in[i]) & block_steps::magnitude;
    out = x > out ? x : out;
  }
  return out;
}

/// Amaxes of blocks of one number: those of columns, line after line.
template <class V>
void column_amaxes(const ScaleRule& rule, const float* in, std::size_t n, std::uint32_t* amaxes) {
  constexpr std::size_t part = 256;
  std::size_t done = 0;
  if constexpr (requires { V::lanes; }) {
    constexpr std::size_t group = 4 * V::lanes;
    const auto mask = V::set(block_steps::magnitude), infinity = V::set(block_steps::infinity);
    for (; n - done >= group; done += group) {
      typename V::I larger[4];
      for (std::size_t k = 0; k < 4; ++k) {
        const auto x = V::bit_and(V::load(in + done + k * V::lanes), mask);
        larger[k] = V::max(x, V::load(amaxes + done + k * V::lanes));
      }
      const auto largest = V::max(V::max(larger[0], larger[1]), V::max(larger[2], larger[3]));
      if (V::any(V::greater(largest, infinity))) {
        definitions().block_amaxes(rule, in + done, group, 1, amaxes + done);
        continue;
      }
      for (std::size_t k = 0; k < 4; ++k) V::store(amaxes + done + k * V::lanes, larger[k]);
    }
  }
  for (; done < n; done += part) {
    const std::size_t count = n - done < part ? n - done : part;
    const float* const x = in + done;
    std::uint32_t* const amax = amaxes + done;
    std::array<std::uint32_t, part> larger;
    std::uint32_t largest = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const std::uint32_t magnitude = std::bit_cast<std::uint32_t>(x[i]) & block_steps::magnitude;
      larger[i] = magnitude > amax[i] ? magnitude : amax[i];
      largest = larger[i] > largest ? larger[i] : largest;
    }
    if (largest > block_steps::infinity) {
      definitions().block_amaxes(rule, x, count, 1, amax);
    } else {
      std::memcpy(amax, larger.data(), count * sizeof *amax);
    }
  }
}

/// Takes as many blocks as a vector has lanes into their amaxes. Returns false, with nothing done,
/// where one has a NaN.
template <class V, std::size_t width>
bool take_blocks(const float* in, std::uint32_t* amaxes) {
  const auto mask = V::set(block_steps::magnitude);
  typename V::I largest[V::lanes];
  for (std::size_t block = 0; block < V::lanes; ++block) {
    const float* const from = in + block * width;
    prefetch_behind<V>(from, width);
    largest[block] = V::bit_and(V::load(from), mask);
    for (std::size_t i = V::lanes; i < width; i += V::lanes) {
      largest[block] = V::max(largest[block], V::bit_and(V::load(from + i), mask));
    }
  }
  const auto larger = V::max(V::load(amaxes), V::largest_of_each(largest));
  if (V::any(V::greater(larger, V::set(block_steps::infinity)))) return false;
  V::store(amaxes, larger);
  return true;
}

template <class V>
void block_amaxes_loops(const ScaleRule& rule, const float* in, std::size_t n, std::size_t width,
                        std::uint32_t* amaxes) {
  if (width == 1) return column_amaxes<V>(rule, in, n, amaxes);
  const auto take = [&](std::size_t block, std::size_t at, std::size_t count,
                        std::uint32_t largest) {
    std::uint32_t& amax = amaxes[block];
    const std::uint32_t larger = largest > amax ? largest : amax;
    if (larger > block_steps::infinity) {
      definitions().block_amaxes(rule, in + at, count, count, &amax);
    } else {
      amax = larger;
    }
  };
  std::size_t at = 0, block = 0;
  with_width<V>(width, [&](auto fixed) {
    const std::size_t step = fixed() == 0 ? width : fixed();
    if constexpr (requires { V::lanes; } && fixed() > 0) {
      while (at + V::lanes * step <= n) {
        const std::size_t end = block + V::lanes;
        if (take_blocks<V, fixed()>(in + at, amaxes + block)) {
          at += V::lanes * step;
          block = end;
        }
        for (; block < end; ++block, at += step) {
          take(block, at, step, largest_magnitude<V>(in + at, step));
        }
      }
    }
    for (; at + step <= n; at += step, ++block) {
      take(block, at, step, largest_magnitude<V>(in + at, step));
    }
  });
  if (at < n) take(block, at, n - at, largest_magnitude<V>(in + at, n - at));
}

}  // namespace binade::fast
