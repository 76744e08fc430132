// SPDX-License-Identifier: Apache-2.0
//
// `random_words` of stochastic.h by vectors of 64-bit lanes, a block of Philox in each. Its words stand in the lanes'
// lower halves; the upper ones hold what the multiplication does not read.
//
//     lane     0 block b      1 block b + 2   …
//     c0       .... 0123abcd  .... 89efcdab       two products, two shifts, four exclusive ors a round
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "emulate/fast/stochastic.h"

namespace binade::fast {

/// V: a unit of 64-bit lanes.
template <class V>
struct VectorPhilox {
  using I = typename V::I;
  static constexpr std::size_t words = 4 * V::lanes;  ///< of one step

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

  /// The words of V::lanes blocks.
  void step(std::uint64_t block, std::uint32_t* out) const {
    const I first = V::set(0xD2511F53), second = V::set(0xCD9E8D57);
    // Elements count modulo 2^64, blocks modulo 2^62.
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

  /// out[i] is element first + i's, i < n; steps are whole, so room for n + 4 + `words` is needed. Returns where the
  /// first one stands.
  const std::uint32_t* fill(std::uint64_t first, std::size_t n, std::uint32_t* out) const {
    const std::size_t skipped = first % 4;
    for (std::size_t done = 0; done < n + skipped; done += words)
      step((first + done) / 4, out + done);
    return out + skipped;
  }
};

/// V: a unit of 64-bit lanes.
template <class V>
void random_word_vectors(std::uint64_t seed, std::uint64_t stream, std::uint64_t first,
                         std::size_t n, std::uint32_t* out) {
  using Philox = VectorPhilox<V>;
  const Philox philox(seed, stream);
  std::size_t done = (4 - first % 4) % 4;  // to where a block begins
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
