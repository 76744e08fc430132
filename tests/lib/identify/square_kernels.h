// SPDX-License-Identifier: Apache-2.0
//
// Small square matrices of binary32, kernels that multiply them, and what is told of their D.
#pragma once

#include <doctest/doctest.h>

#include <bit>
#include <cstdint>
#include <string>
#include <vector>

#include "emulate/philox.h"
#include "lib/identify/hypotheses.h"
#include "lib/identify/identification.h"

namespace binade::test {

inline constexpr std::size_t side = 24;
inline const KernelTypes f32_all{binary32, binary32, binary32, binary32, binary32};

/// Square matrices of numbers of 11 bits, whose products are exact in binary32.
struct Matrices {
  std::vector<float> a, b, c;

  Matrices() {
    for (std::size_t i = 0; i < side * side; ++i) {
      a.push_back(drawn(1, i));
      b.push_back(drawn(2, i));
      c.push_back(drawn(3, i));
    }
  }
  static float drawn(std::uint64_t stream, std::size_t i) {
    const std::uint32_t word = random_word(stream, 0, i);
    const float size = 1.0F + static_cast<float>(word & 0x3FF) / 1024.0F;
    return (word >> 31) != 0 ? -size : size;
  }
  float at_a(std::size_t i, std::size_t k) const { return a[i * side + k]; }
  float at_b(std::size_t k, std::size_t j) const { return b[k * side + j]; }

  /// The kernel: each product is added in turn; `product` is what it takes for a[i][k]·b[k][j].
  template <class Product>
  std::vector<float> multiplied(const Product& product) const {
    std::vector<float> d(side * side);
    for (std::size_t i = 0; i < side; ++i) {
      for (std::size_t j = 0; j < side; ++j) {
        float sum = 0;
        for (std::size_t k = 0; k < side; ++k) sum += product(i, j, k);
        d[i * side + j] = sum;
      }
    }
    return d;
  }
  std::vector<float> right() const {
    return multiplied(
        [&](std::size_t i, std::size_t j, std::size_t k) { return at_a(i, k) * at_b(k, j); });
  }
};

inline std::vector<std::uint64_t> bits_of_all(const std::vector<float>& x) {
  std::vector<std::uint64_t> out;
  for (const float one : x) out.push_back(std::bit_cast<std::uint32_t>(one));
  return out;
}

inline KernelHypotheses hypotheses_about(const Matrices& x, const std::vector<float>& d,
                                         bool with_c = false) {
  KernelRun run{side, side, side, false, bits_of_all(x.a), {}, {}, {}, bits_of_all(d)};
  for (std::size_t j = 0; j < side; ++j) {
    for (std::size_t k = 0; k < side; ++k) {
      run.b.push_back(std::bit_cast<std::uint32_t>(x.at_b(k, j)));
    }
  }
  if (with_c) run.c = bits_of_all(x.c);
  const Identification found = identify(f32_all, {run}, {}, {.nearest = 1, .rare = false}, {},
                                        {.instructions = false, .tf32 = false});
  return hypotheses_of(found);
}

/// Checks that the first suspicion has these words and makes every element equal.
inline void check_first(const KernelHypotheses& found, const std::string& words) {
  CAPTURE(words);
  REQUIRE(!found.told.empty());
  CHECK(found.told[0].words.substr(0, words.size()) == words);
  CHECK(found.told[0].elements == side * side);
  CHECK(found.told[0].equal == side * side);
}

}  // namespace binade::test
