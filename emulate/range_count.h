// SPDX-License-Identifier: Apache-2.0
//
// What a range summary (RangeSummary of lib/range) counts: where the values of an array lie, in
// integers. There is a count and a sum per binade and segment of the significand, the sum of
// squares per binade, and for chosen formats the squared rounding error. From these follows what
// every value becomes in a format at any power-of-two scale, to nearest even: zero, subnormal,
// normal or overflow (its fate; lib/range). So one pass over the data serves all scales. All
// numbers are integers, so any order of the values and any division of them gives the same sums.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include "emulate/quantize.h"

namespace binade {

/// The significand m, 1 <= m < 2, is divided where a value's fate changes in some format of the
/// reports:
///
///   segment  0    1          2               3                4       5        6        7         8
///            1 | (1, 1.75) [1.75, 1.8125] (1.8125, 1.875) [1.875, 2-2^-7, 2-2^-8, 2-2^-10, 2-2^-11, 2)
///
/// m = 1 stands by itself, because 2^(emin - p), half the smallest subnormal, is a tie that rounds
/// to zero. From 2-2^(1-p) on, a value in binade emin - 1 rounds up to the smallest normal number.
/// From 2-2^-p on, a value in binade emax overflows. e4m3's largest number is 448; its tie 464 =
/// 1.8125·2^8 does not overflow, since the even neighbour is 448.
inline constexpr int segments = 9;

/// Returns the segment of a significand m that is given as the integer m·2^fraction_bits;
/// fraction_bits is at least 11.
template <int fraction_bits = 52, class Integer = std::uint64_t>
constexpr int segment_of(Integer m) {
  constexpr Integer one = Integer{1} << fraction_bits;
  constexpr auto below_two = [](int k) { return static_cast<Integer>(2 * one - (one >> k)); };
  return int{m > one} + int{m >= one + 3 * (one / 4)} + int{m > one + 13 * (one / 16)} +
         int{m >= one + 7 * (one / 8)} + int{m >= below_two(7)} + int{m >= below_two(8)} +
         int{m >= below_two(10)} + int{m >= below_two(11)};
}

/// A format and a scale for which squared rounding errors are summed: those of x·2^scale_log2,
/// rounded to nearest with saturation.
struct ErrorColumn {
  Format format = binary16;
  int scale_log2 = 0;

  friend constexpr bool operator==(const ErrorColumn&, const ErrorColumn&) = default;
};

/// The most columns that a RangeBlock can have.
inline constexpr int max_error_columns = 16;

/// The binade (exponent) and the significand of a finite non-zero value
/// x = ±significand·2^(exponent - 52), 2^52 <= significand < 2^53.
struct Placed {
  friend constexpr bool operator==(const Placed&, const Placed&) = default;

  int exponent = 0;
  std::uint64_t significand = 0;
};

/// The rounding error of the values of one binade in one column, where significands are integers of
/// the source's precision. For a column in binary16 (p = 11) and a float (24 bits), 13 bits are
/// dropped:
///
///     m        1xxxxxxxxxx|rrrrrrrrrrrrr     error = min(r, ulp - r); ulp = 2^13, mask = 2^13 - 1
///
/// Ties need no rule, because both neighbours are equally far. A value beyond the range rounds to
/// the largest finite number. Above binade emax nothing is summed (all members are zero but cap),
/// since there the error x - max follows from the counts and sums; nor where no bits are dropped.
struct ErrorRule {
  std::uint64_t cap = ~std::uint64_t{0};  ///< largest finite number, if it is in this binade
  std::uint64_t mask = 0;                 ///< the bits that rounding drops
  std::uint64_t ulp = 0;                  ///< weight of the lowest bit kept

  /// Returns the rounding error of a significand, in units of its lowest bit.
  constexpr std::uint64_t error(std::uint64_t m) const {
    const std::uint64_t rest = m & mask;
    const std::uint64_t nearest = rest < ulp - rest ? rest : ulp - rest;
    return m > cap ? m - cap : nearest;
  }
};

/// Returns the rule for values m·2^(exponent - precision + 1), where m has `precision` bits.
constexpr ErrorRule error_rule(const ErrorColumn& column, int exponent, int precision) {
  const Format& f = column.format;
  const int e = exponent + column.scale_log2;
  const int drop = precision - f.precision + (e < f.emin() ? f.emin() - e : 0);
  if (e > f.emax() || drop <= 0) return {};
  const std::uint64_t ulp = std::uint64_t{1} << (drop < 62 ? drop : 62);
  const bool top = e == f.emax();
  return {.cap = top ? f.max_significand() << (precision - f.precision) : ~std::uint64_t{0},
          .mask = ulp - 1,
          .ulp = ulp};
}

/// Returns the binade and the significand of a finite non-zero encoding of a format whose precision
/// is at most 53. A subnormal number is normalised.
constexpr Placed place(const Fields& x, const Format& f) {
  const bool subnormal = f.has_zero && x.exponent == 0;
  const std::uint64_t m =
      subnormal ? x.fraction : x.fraction | std::uint64_t{1} << f.fraction_bits();
  const int width = bit_width(m);
  const int e = subnormal ? f.emin() : static_cast<int>(x.exponent) - f.bias;
  return {e - f.fraction_bits() + width - 1, m << (53 - width)};
}

/// The counts of up to 2^40 floats or 2^22 doubles, with one row for each binade of T. Significands
/// are integers of T's precision, so that a Sum (64 bits for float, 128 for double) holds any sum
/// and any single square, and 128 bits hold any sum of squares.
template <std::floating_point T>
struct RangeBlock {
  static constexpr Format format = Carrier<T>::format;
  /// Exponent of the lowest binade, which is row 0, and the number of binades.
  static constexpr int lowest = format.quantum_exponent();
  static constexpr int binades = format.emax() - lowest + 1;
  static constexpr std::size_t capacity = std::size_t{1} << (format.precision == 24 ? 40 : 22);
  using Sum = std::conditional_t<format.precision == 24, std::uint64_t, uint128>;

  struct Row {
    std::array<std::uint64_t, segments> count{};
    std::array<Sum, segments> sum{};
    uint128 squares = 0;
    std::array<uint128, max_error_columns> squared_error{};
    std::array<ErrorRule, max_error_columns> rules{};
  };

  std::uint64_t zeros = 0;
  std::uint64_t nan = 0;
  std::uint64_t inf = 0;
  std::uint64_t negative = 0;                  ///< sign bit set: -0 and -Inf too, NaN not
  std::uint64_t smallest = ~std::uint64_t{0};  ///< least encoding of a finite non-zero magnitude
  std::uint64_t largest = 0;                   ///< greatest such encoding; 0 if there is none
  int columns = 0;                             ///< columns that are in use
  std::array<ErrorColumn, max_error_columns> column{};  ///< the first `columns` of them are in use
  std::array<Row, static_cast<std::size_t>(binades)> rows{};

  /// Empties the block and sets the columns (at most max_error_columns).
  constexpr void reset(std::span<const ErrorColumn> error_columns) {
    zeros = nan = inf = negative = largest = 0;
    smallest = ~std::uint64_t{0};
    for (Row& row : rows) row = Row{};
    columns = static_cast<int>(error_columns.size());
    for (std::size_t c = 0; c < error_columns.size(); ++c) {
      column[c] = error_columns[c];
      for (int i = 0; i < binades; ++i) {
        rows[static_cast<std::size_t>(i)].rules[c] =
            error_rule(error_columns[c], lowest + i, format.precision);
      }
    }
  }

  /// Empties a block that was reset, and keeps its columns.
  constexpr void clear() {
    for (Row& row : used_rows()) {
      row.count = {};
      row.sum = {};
      row.squares = 0;
      row.squared_error = {};
    }
    zeros = nan = inf = negative = largest = 0;
    smallest = ~std::uint64_t{0};
  }

  /// Returns the rows from the smallest magnitude's to the largest one's; all other rows are empty.
  constexpr std::span<Row> used_rows() { return std::span(rows).subspan(first_row(), used()); }
  constexpr std::span<const Row> used_rows() const {
    return std::span(rows).subspan(first_row(), used());
  }
  /// Returns the columns that are in use.
  std::span<const ErrorColumn> error_columns() const {
    return std::span(column).first(static_cast<std::size_t>(columns));
  }
  /// Returns the index of used_rows()[0] in `rows`; 0 if no row is used.
  constexpr std::size_t first_row() const { return largest == 0 ? 0 : row_of(smallest); }

 private:
  static constexpr std::size_t row_of(std::uint64_t magnitude) {
    return static_cast<std::size_t>(place(fields_of(magnitude, format), format).exponent - lowest);
  }
  constexpr std::size_t used() const {
    return largest == 0 ? 0 : row_of(largest) + 1 - row_of(smallest);
  }
};

/// Adds a value `times` times to a block that was reset. Between two resets, at most `capacity`
/// values may be added.
template <std::floating_point T>
constexpr void count_value(RangeBlock<T>& block, T value, std::uint64_t times) {
  using Block = RangeBlock<T>;
  using Sum = typename Block::Sum;
  const Fields x = fields_of(bits_of(value), Block::format);
  if (x.exponent == Block::format.exponent_mask()) {
    block.nan += x.fraction != 0 ? times : 0;
    block.inf += x.fraction == 0 ? times : 0;
    block.negative += x.fraction == 0 && x.negative ? times : 0;
    return;
  }
  block.negative += x.negative ? times : 0;
  if (x.exponent == 0 && x.fraction == 0) {
    block.zeros += times;
    return;
  }
  const std::uint64_t magnitude = bits_of({false, x.exponent, x.fraction}, Block::format);
  block.smallest = magnitude < block.smallest ? magnitude : block.smallest;
  block.largest = magnitude > block.largest ? magnitude : block.largest;
  const Placed p = place(x, Block::format);
  typename Block::Row& row = block.rows[static_cast<std::size_t>(p.exponent - Block::lowest)];
  const auto segment = static_cast<std::size_t>(segment_of(p.significand));
  const std::uint64_t m = p.significand >> (53 - Block::format.precision);
  row.count[segment] += times;
  row.sum[segment] += static_cast<Sum>(m) * times;
  row.squares += static_cast<uint128>(static_cast<Sum>(m) * m) * times;
  for (std::size_t c = 0; c < static_cast<std::size_t>(block.columns); ++c) {
    const std::uint64_t error = row.rules[c].error(m);
    row.squared_error[c] += static_cast<uint128>(static_cast<Sum>(error) * error) * times;
  }
}

/// Adds n values to a block.
template <std::floating_point T>
constexpr void range_count(const T* in, std::size_t n, RangeBlock<T>& block) {
  for (std::size_t i = 0; i < n; ++i) count_value(block, in[i], 1);
}

}  // namespace binade
