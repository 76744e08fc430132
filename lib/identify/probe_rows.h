// SPDX-License-Identifier: Apache-2.0
//
// Rows of operands that distinguish orders and alignments, drawn from a seed.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "emulate/format.h"

namespace binade {

/// Draws operands of format f for rows of a, and for columns of b, which are mostly about 1; `sum`
/// is the format of the sum that the rows probe. The kinds of rows take turns. Integers are random
/// bits.
class ProbeRows {
 public:
  ProbeRows(const Format& f, const Format& sum, std::size_t k, std::uint64_t seed)
      : f_(f), sum_(sum), k_(k), random_(seed) {}

  /// Returns a row of k numbers of the next kind.
  std::vector<std::uint64_t> row();
  /// Returns a column of k numbers of the next kind; the first column, unless of integers, has 1.0
  /// everywhere.
  std::vector<std::uint64_t> column();
  /// Returns a number of either sign whose magnitude is from 2^-12 up to but not including 2^7, as
  /// far as the format's range allows; +0 one time in four. Integers are random bits.
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
