// SPDX-License-Identifier: Apache-2.0
//
// The loops that the kernels of blocks have in common: over tiles, over the blocks of a tile and
// over the numbers of a block, of which a compiler makes vectors:
//
//     tile     b0 b0 b0 b0 | b1 b1 b1 b1 | …     step(number, of its block): times a factor, a scale
//
// They are templates of a tag V, so that each level has its own, compiled for its instructions.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "emulate/fast/blocks.h"

namespace binade::fast {

/// Calls f with a block's width as a constant where it is a usual one, else with 0.
template <class V, class F>
void with_width(std::size_t width, const F& f) {
  switch (width) {
    case 16: return f(std::integral_constant<std::size_t, 16>{});
    case 32: return f(std::integral_constant<std::size_t, 32>{});
    case 128: return f(std::integral_constant<std::size_t, 128>{});
    default: return f(std::integral_constant<std::size_t, 0>{});
  }
}

/// Returns a number times or over what its block is scaled by, where operands and results that are
/// subnormal may be zeros of their signs (ScaleRule::flushes). Each level has its own.
template <class V>
float scaled_number(float x, float by, bool divided, bool flushes) {
  const auto held = [flushes](float y) {
    const auto bits = std::bit_cast<std::uint32_t>(y);
    const bool is_small = (bits & block_steps::magnitude) < 0x00800000;
    return std::bit_cast<float>(flushes && is_small ? bits & ~block_steps::magnitude : bits);
  };
  return held(divided ? held(x) / by : held(x) * by);
}

/// Calls run(begin, count) for each tile, which lies within one block or begins with one.
template <class V, class Run>
void each_block_tile(std::size_t n, std::size_t width, const Run& run) {
  for (std::size_t done = 0; done < n;) {
    const std::size_t most = width > block_tile ? width - done % width : block_tile / width * width;
    const std::size_t count = std::min({most, block_tile, n - done});
    run(done, count);
    done += count;
  }
}

/// Writes step(in[i], the factor of its block) for whole blocks of `fixed` numbers, or of `width`
/// if that is 0.
template <class V, std::size_t fixed, class T, class Step>
void each_of_whole_blocks(const float* in, std::size_t blocks, std::size_t width,
                          const float* factors, T* __restrict out, const Step& step) {
  const std::size_t size = fixed == 0 ? width : fixed;
  for (std::size_t block = 0; block < blocks; ++block, in += size, out += size) {
    const float factor = factors[block];
    for (std::size_t i = 0; i < size; ++i) out[i] = step(in[i], factor);
  }
}

/// Writes step(in[i], the factor of its block) for n numbers, which begin within a block where
/// `width` is larger than n. `out` lies apart from the others.
template <class V, class T, class Step>
void each_of_blocks(const float* in, std::size_t n, std::size_t width, const float* factors,
                    T* __restrict out, const Step& step) {
  if (width == 1) {
    for (std::size_t i = 0; i < n; ++i) out[i] = step(in[i], factors[i]);
    return;
  }
  std::size_t at = n / width * width;
  with_width<V>(width, [&](auto fixed) {
    each_of_whole_blocks<V, fixed()>(in, n / width, width, factors, out, step);
  });
  for (const float factor = at < n ? factors[at / width] : 0; at < n; ++at) {
    out[at] = step(in[at], factor);
  }
}

}  // namespace binade::fast
