// SPDX-License-Identifier: Apache-2.0
//
// Compares an instruction's results with their emulation, and counts where they differ. Plain C++:
// each thread of the kernel fills one with the hardware's results, a test with a software
// stand-in's.
#pragma once

#include <cstdint>

#include "cuda/conversions.h"

namespace binade {

/// What CUDA's 64-bit atomics take.
using Count = unsigned long long;

/// The lowest input of a kind and both its results, as input · 2^32 + result: the minimum of two is
/// the lower input's, whichever thread came first.
struct Lowest {
  static constexpr Count none = ~Count{0};
  Count hardware = none;
  Count emulated = none;  ///< no emulated result is all ones, so here `none` is never an input's

  constexpr bool found() const { return emulated != none; }
  constexpr Count input() const { return emulated >> 32; }

  constexpr void merge(const Lowest& other) {
    hardware = other.hardware < hardware ? other.hardware : hardware;
    emulated = other.emulated < emulated ? other.emulated : emulated;
  }
};

/// Sums and minima of integers only: any split over threads merges to the same tally.
struct Tally {
  Count inputs = 0;
  Count mismatches = 0;       ///< another number, or a NaN against a number
  Count nan_differences = 0;  ///< both NaN, in other bits
  Count padding = 0;          ///< bits set in the padding
  Lowest mismatch;
  Lowest nan_difference;

  /// One input and what the instruction made of it. Bits in the padding are counted, not compared:
  /// PTX leaves the low 13 of tf32 open.
  constexpr void compare(const Conversion& conversion, std::uint32_t input,
                         std::uint32_t hardware) {
    const Format& to = conversion.to;
    const std::uint32_t emulated = conversion.emulate(input);
    const std::uint32_t open = (std::uint32_t{1} << to.padding_bits) - 1;
    inputs += 1;
    padding += (hardware & open) != 0 ? 1 : 0;
    if ((hardware | open) == (emulated | open)) return;
    const Lowest here{Count{input} << 32 | hardware, Count{input} << 32 | emulated};
    if (Conversion::is_nan(hardware, to) && Conversion::is_nan(emulated, to)) {
      nan_differences += 1;
      nan_difference.merge(here);
    } else {
      mismatches += 1;
      mismatch.merge(here);
    }
  }

  constexpr void merge(const Tally& other) {
    inputs += other.inputs;
    mismatches += other.mismatches;
    nan_differences += other.nan_differences;
    padding += other.padding;
    mismatch.merge(other.mismatch);
    nan_difference.merge(other.nan_difference);
  }
};

}  // namespace binade
