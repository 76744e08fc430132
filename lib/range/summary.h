// SPDX-License-Identifier: Apache-2.0
//
// RangeSummary: what one pass over an array keeps. Integers only, so that any split over threads,
// ranks, files, CPU or GPU merges to the same bytes; everything the report says follows from it.
#pragma once

#include <cstdint>
#include <vector>

#include "emulate/range_count.h"
#include "lib/number/exact_sum.h"
#include "lib/range/binades.h"

namespace binade {

struct RangeSummary {
  std::uint64_t values = 0;  ///< all elements
  std::uint64_t zeros = 0;
  std::uint64_t nan = 0;
  std::uint64_t inf = 0;
  std::uint64_t negative = 0;  ///< sign bit set: -0 and -Inf too, NaN not
  Placed smallest;             ///< finite non-zero magnitudes; significand 0: there is none
  Placed largest;
  Binades binades;                      ///< those that hold values
  std::vector<ErrorColumn> columns;     ///< formats and scales with a squared error
  std::vector<ExactSum> squared_error;  ///< of the values in binades up to emax; per column

  std::uint64_t nonzero() const { return values - zeros - nan - inf; }  ///< finite and non-zero
  friend bool operator==(const RangeSummary&, const RangeSummary&) = default;
};

/// Of no values yet.
RangeSummary empty_summary(const std::vector<ErrorColumn>& columns);

/// Adds b to a. Both must have the same columns.
void merge(RangeSummary& a, const RangeSummary& b);

/// Of the values times 2^log2, exactly. A column's errors are those at the scale that puts the scaled values where they were:
/// x·2^log2·2^(s - log2) = x·2^s. Error where a binade or a column's scale has no room in a summary's bytes.
RangeSummary scaled(const RangeSummary& summary, int log2);

/// Adds a block of `values` values counted with the summary's columns.
template <std::floating_point T>
void add_block(RangeSummary& summary, const RangeBlock<T>& block, std::uint64_t values);

extern template void add_block(RangeSummary&, const RangeBlock<float>&, std::uint64_t);
extern template void add_block(RangeSummary&, const RangeBlock<double>&, std::uint64_t);

/// x as a double, exactly.
double value_of(const Placed& x);

}  // namespace binade
