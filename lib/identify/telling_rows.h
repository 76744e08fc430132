// SPDX-License-Identifier: Apache-2.0
//
// Rows of operands that tell orders and alignments apart, drawn from a seed.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "emulate/format.h"

namespace binade {

/// Numbers of a format for a row of a (or dot), whose partners are about 1.
class TellingRows {
 public:
  TellingRows(const Format& f, const Format& sum, std::size_t k, std::uint64_t seed)
      : f_(f), sum_(sum), k_(k), random_(seed) {}

  /// A row of the next kind.
  std::vector<std::uint64_t> row();
  /// A column of the next kind: the first is all ones.
  std::vector<std::uint64_t> column();
  /// An addend about 1, or zero.
  std::uint64_t addend(const Format& f);

 private:
  std::uint64_t number(const Format& f, int exponent, bool power_of_two);
  int between(int low, int high);
  std::vector<std::uint64_t> masks();
  std::vector<std::uint64_t> ladder();
  std::vector<std::uint64_t> near_floor();
  std::vector<std::uint64_t> cancelling();
  std::vector<std::uint64_t> spread(int low, int high, bool powers_of_two);
  std::vector<std::uint64_t> integers();

  Format f_, sum_;
  std::size_t k_;
  std::mt19937_64 random_;
  std::uint64_t rows_ = 0, columns_ = 0;
};

}  // namespace binade
