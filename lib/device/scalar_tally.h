// SPDX-License-Identifier: Apache-2.0
//
// The comparison of a scalar instruction's result with the emulator's, and the tally of many:
// counts, the lowest cases that differ, a hash. A tally has integers only, so any split over
// threads gives the same. GPUs compile this header too.
#pragma once

#include <cstdint>

#include "lib/cases/scalar_operands.h"
#include "lib/instruction/scalar_instruction.h"

namespace binade {

enum class ScalarVerdict : std::uint8_t {
  equal,
  nan_difference,  ///< in each lane that differs both results are NaNs, with different bits
  mismatch,        ///< a lane differs, and not both of its results are NaNs
};

/// Returns the bits of a result that its instruction defines. PTX leaves the low 13 bits of tf32
/// undefined.
constexpr std::uint64_t defined_bits(const ScalarOperation& x, std::uint64_t result) {
  return result & ~((std::uint64_t{1} << x.result.padding_bits) - 1);
}

/// Compares the defined bits of a device's result with those of the emulator's, lane by lane.
constexpr ScalarVerdict judge(const ScalarOperation& x, std::uint64_t hardware,
                              std::uint64_t emulated) {
  hardware = defined_bits(x, hardware);
  emulated = defined_bits(x, emulated);
  if (hardware == emulated) return ScalarVerdict::equal;
  const int width = x.result_lane_bits();
  const std::uint64_t mask = ~std::uint64_t{0} >> (64 - width);
  const auto is_nan = [&](std::uint64_t bits) {
    return kind_of(fields_of(bits & mask, x.result), x.result) == Kind::nan;
  };
  for (int lane = 0; lane < x.lanes; ++lane) {
    const std::uint64_t one = hardware >> (lane * width), other = emulated >> (lane * width);
    if (((one ^ other) & mask) != 0 && !(is_nan(one) && is_nan(other))) {
      return ScalarVerdict::mismatch;
    }
  }
  return ScalarVerdict::nan_difference;
}

/// Returns the summand of ScalarTally::hash for the result of case `number`.
constexpr std::uint64_t mixed(std::uint64_t number, std::uint64_t result) {
  return mixed(mixed(number + 0x9E3779B97F4A7C15) ^ result);
}

struct ScalarTally {
  static constexpr std::uint64_t none = ~std::uint64_t{0};
  std::uint64_t cases = 0;
  std::uint64_t mismatches = 0;
  std::uint64_t nan_differences = 0;
  std::uint64_t padding = 0;  ///< number of results with bits set in the padding
  std::uint64_t lowest_mismatch = none, lowest_nan_difference = none;  ///< case numbers
  std::uint64_t hash = 0;  ///< sum of mixed(case, defined bits of the device's result) mod 2^64

  /// Adds a result without comparing it, and returns its defined bits.
  constexpr std::uint64_t add(const ScalarOperation& x, std::uint64_t number,
                              std::uint64_t result) {
    const std::uint64_t defined = defined_bits(x, result);
    cases += 1;
    padding += defined != result ? 1 : 0;
    hash += mixed(number, defined);
    return defined;
  }

  /// Adds a result and compares it with the emulator's.
  constexpr void add(const ScalarOperation& x, std::uint64_t number, std::uint64_t result,
                     std::uint64_t emulated) {
    const ScalarVerdict verdict = judge(x, add(x, number, result), emulated);
    if (verdict == ScalarVerdict::mismatch) {
      mismatches += 1;
      if (number < lowest_mismatch) lowest_mismatch = number;
    } else if (verdict == ScalarVerdict::nan_difference) {
      nan_differences += 1;
      if (number < lowest_nan_difference) lowest_nan_difference = number;
    }
  }

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

  friend constexpr bool operator==(const ScalarTally&, const ScalarTally&) = default;
};

}  // namespace binade
