// SPDX-License-Identifier: Apache-2.0
//
// RangeSummary: what one pass over an array keeps. Integers only, so that any split over threads,
// ranks, files, CPU or GPU merges to the same bytes; everything the report says follows from it.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "emulate/range_count.h"
#include "lib/range/exact_sum.h"

namespace binade {

/// A 192-bit unsigned integer that only grows: 2^64 squares of 53-bit significands.
struct SquareSum {
  std::array<std::uint64_t, 3> limbs{};  ///< lowest first

  void add(uint128 value);
  void add_product(uint128 a, std::uint64_t b);
  SquareSum& operator+=(const SquareSum& other);
  friend bool operator==(const SquareSum&, const SquareSum&) = default;
};

inline constexpr int summary_fraction_bits = 52;  ///< of a significand that is summed

/// The values of one binade, x = m·2^(exponent - 52) with m in [2^52, 2^53), by segments of m.
struct BinadeRow {
  std::array<std::uint64_t, segments> count{};
  std::array<uint128, segments> sum{};  ///< of m
  SquareSum squares;                    ///< of m, over all segments

  std::uint64_t total() const;
  friend bool operator==(const BinadeRow&, const BinadeRow&) = default;
};

struct RangeSummary {
  std::uint64_t values = 0;  ///< all elements
  std::uint64_t zeros = 0;
  std::uint64_t nan = 0;
  std::uint64_t inf = 0;
  std::uint64_t negative = 0;  ///< sign bit set: -0 and -Inf too, NaN not
  Placed smallest;             ///< finite non-zero magnitudes; significand 0: there is none
  Placed largest;
  std::map<int, BinadeRow> binades;     ///< by exponent; only those that hold values
  std::vector<ErrorColumn> columns;     ///< formats and scales with a squared error
  std::vector<ExactSum> squared_error;  ///< of the values in binades up to emax; per column

  std::uint64_t nonzero() const { return values - zeros - nan - inf; }  ///< finite and non-zero
  friend bool operator==(const RangeSummary&, const RangeSummary&) = default;
};

/// Adds b to a. Both must have the same columns.
void merge(RangeSummary& a, const RangeSummary& b);

/// Adds `count` equal values, given by their encoding in `format`.
void add_encoding(RangeSummary& summary, std::uint64_t bits, const Format& format,
                  std::uint64_t count);

/// Adds a block of `values` values counted with the summary's columns.
template <std::floating_point T>
void add_block(RangeSummary& summary, const RangeBlock<T>& block, std::uint64_t values);

extern template void add_block(RangeSummary&, const RangeBlock<float>&, std::uint64_t);
extern template void add_block(RangeSummary&, const RangeBlock<double>&, std::uint64_t);

/// x as a double, exactly.
double value_of(const Placed& x);

}  // namespace binade
