// SPDX-License-Identifier: Apache-2.0
//
// Rows of operands that distinguish orders and alignments, drawn from a seed.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "emulate/format.h"

namespace binade {

/// Draws operands of a format for rows of a, and for columns of b, which are mostly about 1. The
/// kinds of rows take turns.
class ProbeRows {
 public:
  ProbeRows(const Format& f, const Format& sum, std::size_t k, std::uint64_t seed)
      : f_(f), sum_(sum), k_(k), random_(seed) {}

  /// Returns a row of k numbers of the next kind.
  std::vector<std::uint64_t> row();
  /// Returns a column of k numbers of the next kind; the first is all ones.
  std::vector<std::uint64_t> column();
  /// Returns a number of magnitude 2^-12 to 2^7, or zero one time in four.
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
