// SPDX-License-Identifier: Apache-2.0
//
// Operands of scalar instructions as pure functions of a case number, the same on the host and on a
// device, and what comparing results with the emulator leaves: counts, lowest cases, a hash.
#pragma once

#include <array>
#include <cstdint>

namespace binade {

/// All of them, or seeded ones.
struct ScalarCases {
  std::uint64_t count = 0;
  bool exhaustive = false;
  std::uint64_t seed = 1;
};

struct ScalarTally {
  static constexpr std::uint64_t none = ~std::uint64_t{0};
  std::uint64_t cases = 0;
  std::uint64_t mismatches = 0;       ///< another number, or a NaN against a number
  std::uint64_t nan_differences = 0;  ///< both NaN, in other bits
  std::uint64_t padding = 0;          ///< bits set in the padding (tf32: PTX leaves them open)
  std::uint64_t lowest_mismatch = none, lowest_nan_difference = none;  ///< case numbers
  std::uint64_t hash = 0;  ///< the sum of mixed(case, result) mod 2^64

  constexpr void merge(const ScalarTally& other) {
    cases += other.cases;
    mismatches += other.mismatches;
    nan_differences += other.nan_differences;
    padding += other.padding;
    if (other.lowest_mismatch < lowest_mismatch) lowest_mismatch = other.lowest_mismatch;
    if (other.lowest_nan_difference < lowest_nan_difference) {
      lowest_nan_difference = other.lowest_nan_difference;
    }
    hash += other.hash;
  }
};

}  // namespace binade
