// SPDX-License-Identifier: Apache-2.0
//
// Random numbers for experiments: uniform and normal numbers from a stream of Philox words. They
// are the same on every machine, because the one logarithm that they need is correctly rounded.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>

#include "emulate/functions.h"
#include "emulate/philox.h"

namespace binade {

/// A stream of random numbers, identified by `seed` and `stream`.
class Draws {
 public:
  Draws(std::uint64_t seed, std::uint64_t stream) : seed_(seed), stream_(stream) {}

  std::uint32_t word() {
    if (next_ % 4 == 0) words_ = random_words(seed_, stream_, next_ / 4);
    return words_[next_++ % 4];
  }
  std::uint64_t long_word() {
    const std::uint64_t high = word();
    return high << 32 | word();
  }
  /// Returns a number in (0, 1), with at most 33 significant bits.
  double uniform() { return (static_cast<double>(word()) + 0.5) * 0x1p-32; }
  /// Returns a normally distributed number of mean 0 and deviation 1, by Marsaglia's polar method,
  /// of whose two numbers the second is not used.
  double normal() {
    for (;;) {
      const double x = 2 * uniform() - 1;
      const double y = 2 * uniform() - 1;
      const double square = x * x + y * y;
      if (square >= 1) continue;
      const double log = static_cast<double>(rounded_log(static_cast<float>(square)));
      return x * std::sqrt(-2 * log / square);
    }
  }

 private:
  std::uint64_t seed_, stream_;
  std::uint64_t next_ = 0;
  std::array<std::uint32_t, 4> words_{};
};

}  // namespace binade
