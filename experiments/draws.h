// SPDX-License-Identifier: Apache-2.0
//
// Random numbers for experiments: a stream of Philox words made into uniform and normal numbers, the same
// on every machine, since its one logarithm is the correctly rounded one.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>

#include "emulate/functions.h"
#include "emulate/philox.h"

namespace binade {

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
  /// In (0, 1), 33 significant bits.
  double uniform() { return (static_cast<double>(word()) + 0.5) * 0x1p-32; }
  /// Mean 0, deviation 1: Marsaglia's polar method, one of its two numbers.
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
