// SPDX-License-Identifier: Apache-2.0
//
// `random_words` of stochastic.h, equal to `random_word` of emulate/philox.h, by vectors of V with
// 64-bit lanes: each lane computes one block of Philox. V is the level's vector unit (avx2.h,
// avx512.h): a struct of types and functions for its vectors. A word of the counter stands in the
// lower half of its lane; the upper half may hold anything (....), since the multiplication of
// 32-bit words does not read it.
//
//     lane                0 block b        1 block b + 2    2 block b + 1    3 block b + 3      in AVX2
//     c0                  .... 0123abcd    .... 89efcdab    …                                   c1, c2, c3 the same way
//     a round             two products, two shifts of the upper halves down, four exclusive ors
//     front, back         c0 with c1 above it, c2 with c3 above it: a block's words in two lanes of 64 bits
//     stored              front 0, back 0, front 2, back 2, front 1, …: blocks b, b + 1, b + 2, b + 3 in order
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "emulate/fast/stochastic.h"

namespace binade::fast {

/// Philox under one seed and stream, with V::lanes blocks at a time. V is a unit of 64-bit lanes.
template <class V>
struct VectorPhilox {
  using I = typename V::I;
  static constexpr std::size_t words = 4 * V::lanes;  ///< number of words that a step makes

  std::uint64_t stream = 0;
  struct Key {
    I low, high;
  };
  Key keys[10];

  VectorPhilox(std::uint64_t seed, std::uint64_t of_stream) : stream(of_stream) {
    auto low = static_cast<std::uint32_t>(seed), high = static_cast<std::uint32_t>(seed >> 32);
    for (Key& key : keys) {
      key = {V::set(low), V::set(high)};
      low += 0x9E3779B9;
      high += 0xBB67AE85;
    }
  }

  /// Stores the words of the blocks from `block` on, V::lanes of them, in ascending order.
  void step(std::uint64_t block, std::uint32_t* out) const {
    const I first = V::set(0xD2511F53), second = V::set(0xCD9E8D57);
    // Elements are numbered modulo 2^64, and a block has four, so blocks are numbered modulo 2^62.
    I c0 =
        V::bit_and(V::add(V::set(block), V::load(V::lane_order)), V::set(~std::uint64_t{0} >> 2));
    I c1 = V::high_words(c0);
    I c2 = V::set(stream);
    I c3 = V::set(stream >> 32);
    for (const Key& key : keys) {
      const I a = V::mul_words(c0, first), b = V::mul_words(c2, second);
      c0 = V::bit_xor(V::high_words(b), c1, key.low);
      c2 = V::bit_xor(V::high_words(a), c3, key.high);
      c1 = b;
      c3 = a;
    }
    const I front = V::join_words(c0, c1), back = V::join_words(c2, c3);
    V::store(out, V::low_pairs(front, back));
    V::store(out + words / 2, V::high_pairs(front, back));
  }

  /// Makes the words of the elements first … first + n - 1 and returns a pointer to the first, in
  /// `out`. Only whole blocks and steps are made, so `out` has room for n + 4 + `words`.
  const std::uint32_t* fill(std::uint64_t first, std::size_t n, std::uint32_t* out) const {
    const std::size_t skipped = first % 4;
    for (std::size_t done = 0; done < n + skipped; done += words)
      step((first + done) / 4, out + done);
    return out + skipped;
  }
};

/// The level's kernel: out[i] = random_word(seed, stream, first + i) for i < n. V is a unit of
/// 64-bit lanes.
template <class V>
void random_word_vectors(std::uint64_t seed, std::uint64_t stream, std::uint64_t first,
                         std::size_t n, std::uint32_t* out) {
  using Philox = VectorPhilox<V>;
  const Philox philox(seed, stream);
  std::size_t done = (4 - first % 4) % 4;  // elements in front of the first whole block
  if (n < done) done = n;
  random_words(seed, stream, first, done, out);
  for (; done + Philox::words <= n; done += Philox::words) {
    philox.step((first + done) / 4, out + done);
  }
  if (done == n) return;
  std::array<std::uint32_t, Philox::words> last;
  philox.step((first + done) / 4, last.data());
  std::memcpy(out + done, last.data(), (n - done) * sizeof *out);
}

}  // namespace binade::fast
