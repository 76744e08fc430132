// SPDX-License-Identifier: Apache-2.0
//
// RangeSummary: what one pass over an array keeps. It has integers only, so that any split over
// threads, ranks, files, CPU or GPU merges to the same bytes. Everything a report says of a
// tensor's values follows from it. What is counted is defined in emulate/range_count.h (RangeBlock,
// range_count); the kernels that count are emulate/fast/range_count.*,
// emulate/fast/vector_range_count.h and cuda/range_count.*.
#pragma once

#include <cstdint>
#include <string>
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
  std::uint64_t negative = 0;  ///< elements with the sign bit set, -0 and -Inf included, NaN not
  /// The smallest and the largest finite non-zero magnitude; their significand is 0 if there is
  /// none.
  Placed smallest;
  Placed largest;
  Binades binades;                   ///< one row per binade that holds values
  std::vector<ErrorColumn> columns;  ///< formats and scales whose squared errors are summed
  /// For each column, the sum of squared errors over the values that lie, scaled, in binades up to
  /// emax of the format. An error is that of the scaled value, divided by the scale. The errors of
  /// larger values follow from the binades (total_squared_error).
  std::vector<ExactSum> squared_error;

  std::uint64_t nonzero() const { return values - zeros - nan - inf; }  ///< finite and non-zero
  friend bool operator==(const RangeSummary&, const RangeSummary&) = default;
};

/// A summary, and the name of the tensor whose values it counted.
struct NamedSummary {
  std::string name;
  RangeSummary summary;
};

/// Returns the summary of no values.
RangeSummary empty_summary(const std::vector<ErrorColumn>& columns);

/// Adds b to a. Throws Error unless both have the same columns.
void merge(RangeSummary& a, const RangeSummary& b);

/// Returns the summary of all values times 2^log2, exactly. A column for the scale 2^s becomes one
/// for 2^(s - log2), at which each value is rounded as before, since x·2^log2·2^(s - log2) = x·2^s;
/// its squared errors are multiplied by 2^(2·log2), as the squares of the values are. Throws Error
/// if a binade or a column's scale would leave the range that the bytes of a summary can hold.
RangeSummary scaled(const RangeSummary& summary, int log2);

/// Adds a block of `values` values that were counted with the summary's columns.
template <std::floating_point T>
void add_block(RangeSummary& summary, const RangeBlock<T>& block, std::uint64_t values);

extern template void add_block(RangeSummary&, const RangeBlock<float>&, std::uint64_t);
extern template void add_block(RangeSummary&, const RangeBlock<double>&, std::uint64_t);

/// Returns x as a double: exactly if binary64 has the number, else rounded to the nearest (scaled()
/// can make numbers below 2^-1022 that have more bits than binary64 keeps there).
double value_of(const Placed& x);

}  // namespace binade
