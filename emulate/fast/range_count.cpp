// SPDX-License-Identifier: Apache-2.0
//
// An array is counted in pieces of as many values as the cells hold; after each piece the used
// cells are added to the block and emptied.
#include "emulate/fast/range_count.h"

#include <algorithm>
#include <bit>
#include <span>

namespace binade::fast {
namespace {

constexpr std::int32_t fraction_mask = 0x007FFFFF;
constexpr std::int32_t hidden_bit = 0x00800000;
constexpr std::int32_t infinity = 0x7F800000;
constexpr std::int32_t largest_integer = 0x7FFFFFFF;

constexpr std::size_t range_tile = 128;

/// What each value of a tile adds, and to which cell, numbered from the first row's first.
struct RangeTile {
  std::array<std::uint32_t, range_tile> row, cell, significand;
  std::array<RangeCells::Cell, range_tile> added;
};

/// Adds the squared rounding errors of one significand in the columns first … first + width - 1.
template <std::size_t width>
inline void add_errors(std::int32_t m, const RangeCells::Rules& rules, std::uint64_t* sums,
                       std::size_t first) {
  std::uint32_t error[width];
  for (std::size_t c = 0; c < width; ++c) {
    const auto cap = static_cast<std::int32_t>(rules.cap[first + c]);
    const std::int32_t rest = m & static_cast<std::int32_t>(rules.mask[first + c]);
    const std::int32_t above = static_cast<std::int32_t>(rules.ulp[first + c]) - rest;
    const std::int32_t nearest = rest < above ? rest : above;
    error[c] = static_cast<std::uint32_t>(m > cap ? m - cap : nearest);
  }
  for (std::size_t c = 0; c < width; ++c) {
    sums[first + c] += static_cast<std::uint64_t>(error[c]) * error[c];
  }
}

/// Prepares a tile of up to range_tile values.
void prepare(const float* in, std::size_t n, RangeTile& tile, RangeSeen& seen) {
  const auto mask = [](bool is_so) { return -static_cast<std::int32_t>(is_so); };
  std::int32_t negative = 0;  // a sum of masks, minus the count
  std::int32_t largest = 0, smallest_less_one = largest_integer;
  for (std::size_t i = 0; i < n; ++i) {
    const auto bits = std::bit_cast<std::int32_t>(in[i]);
    const std::int32_t magnitude = bits & largest_integer;
    const std::int32_t is_zero = mask(magnitude == 0);
    const std::int32_t is_nan = mask(magnitude > infinity);
    const std::int32_t is_special = mask(magnitude >= infinity);
    const std::int32_t is_subnormal = mask(magnitude < hidden_bit) & ~is_zero;
    negative += (bits >> 31) & ~is_nan;
    const std::int32_t number = magnitude & ~is_special;
    largest = number > largest ? number : largest;
    const std::int32_t less_one = (magnitude - 1) & largest_integer;  // 2^31 - 1 where it is zero
    const std::int32_t below = (less_one & ~is_special) | (largest_integer & is_special);
    smallest_less_one = below < smallest_less_one ? below : smallest_less_one;

    const auto as_float = std::bit_cast<std::int32_t>(static_cast<float>(magnitude));
    const std::int32_t placed = (as_float & is_subnormal) | (magnitude & ~is_subnormal);
    const std::int32_t fraction = placed & fraction_mask;
    const std::int32_t row = (placed >> 23) + (129 & is_subnormal);
    // The cuts of segment_of (emulate/range_count.h), each given by the last fraction below it.
    const std::int32_t past = mask(fraction > 0) + mask(fraction > 0x5FFFFF) +
                              mask(fraction > 0x680000) + mask(fraction > 0x6FFFFF) +
                              mask(fraction > 0x7EFFFF) + mask(fraction > 0x7F7FFF) +
                              mask(fraction > 0x7FDFFF) + mask(fraction > 0x7FEFFF);
    tile.row[i] = static_cast<std::uint32_t>(row);
    tile.cell[i] = static_cast<std::uint32_t>((row << 3) + row + 8 + past);
    tile.significand[i] = static_cast<std::uint32_t>(fraction | hidden_bit);
  }
  seen.negative += static_cast<std::uint64_t>(-negative);
  seen.largest = std::max(seen.largest, static_cast<std::uint32_t>(largest));
  seen.smallest_less_one =
      std::min(seen.smallest_less_one, static_cast<std::uint32_t>(smallest_less_one));
  for (std::size_t i = 0; i < n; ++i) {
    const std::uint64_t m = tile.significand[i];
    tile.added[i] = {std::uint64_t{1} << 40 | m, m * m};
  }
}

/// Returns whether up to range_tile values are all zeros, and counts them if they are.
bool are_zeros(const float* in, std::size_t n, RangeSeen& seen) {
  std::int32_t any = 0, negative = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const auto bits = std::bit_cast<std::int32_t>(in[i]);
    any |= bits & largest_integer;
    negative += bits >> 31;
  }
  if (any != 0) return false;
  seen.negative += static_cast<std::uint64_t>(-negative);
  seen.zeros += n;
  return true;
}

void count_tile(const float* in, std::size_t n, std::size_t columns, RangeCells& work,
                RangeSeen& seen) {
  if (are_zeros(in, n, seen)) return;
  RangeTile tile;
  prepare(in, n, tile, seen);
  for (std::size_t i = 0; i < n; ++i) {
    RangeCells::Cell& cell = work.cells[i % RangeCells::copies][tile.cell[i]];
    cell.count_and_sum += tile.added[i].count_and_sum;
    cell.squares += tile.added[i].squares;
  }
  for (std::size_t i = 0; columns > 0 && i < n; ++i) {
    const std::size_t row = tile.row[i];
    const auto m = static_cast<std::int32_t>(tile.significand[i]);
    std::uint64_t* sums = work.errors[row].data();
    std::size_t c = 0;
    for (; c + 1 < columns; c += 4) add_errors<4>(m, work.rules[row], sums, c);
    if (c < columns) add_errors<1>(m, work.rules[row], sums, c);
  }
}

/// Returns the row of cells for a row of a block.
constexpr std::size_t cells_of(std::size_t row) {
  constexpr std::size_t subnormals = RangeCells::rows - RangeCells::subnormal_rows;
  return row < subnormals ? row + RangeCells::subnormal_rows : row - subnormals + 1;
}

/// Returns the row in a block of a finite nonzero magnitude.
std::size_t row_of(std::uint32_t magnitude) {
  const Fields x = fields_of(magnitude, binary32);
  return static_cast<std::size_t>(place(x, binary32).exponent - RangeBlock<float>::lowest);
}

/// The sum of all copies of a cell; `take` empties them.
struct Taken {
  std::uint64_t count = 0, sum = 0;
  uint128 squares = 0;
};
Taken take(RangeCells& work, std::size_t row, std::size_t segment) {
  const std::size_t at = row * segments + segments - 1 - segment;
  Taken out;
  std::uint64_t any = 0;
  for (const auto& cells : work.cells) any |= cells[at].count_and_sum;
  if (any == 0) return out;
  for (auto& cells : work.cells) {
    RangeCells::Cell& cell = cells[at];
    out.count += cell.count_and_sum >> 40;
    out.sum += cell.count_and_sum & ((std::uint64_t{1} << 40) - 1);
    out.squares += cell.squares;
    cell = {};
  }
  return out;
}

}  // namespace

void set_rules(RangeCells& work, const RangeBlock<float>& block, std::size_t half) {
  const std::span<const ErrorColumn> of = block.error_columns();
  const std::size_t columns = of.size();
  if (work.rule_half == half &&
      std::ranges::equal(std::span(work.rules_of).first(work.rule_columns), of)) {
    return;
  }
  std::ranges::copy(of, work.rules_of.begin());
  work.rule_columns = columns;
  work.rule_half = half;
  std::array<std::size_t, RangeCells::columns> lane;
  for (std::size_t c = 0; c < columns; ++c) {
    lane[c] = c / (2 * half) * (2 * half) + c % half * 2 + c / half % 2;
  }
  for (std::size_t row = 0; row < block.rows.size(); ++row) {
    RangeCells::Rules& to = work.rules[cells_of(row)];
    for (std::size_t c = 0; c < columns; ++c) {
      const ErrorRule& rule = block.rows[row].rules[c];
      // A significand has 24 bits: from an ulp of 2^25 on the error is the significand, however
      // large the ulp is.
      to.cap[lane[c]] = static_cast<std::uint32_t>(std::min<std::uint64_t>(rule.cap, 1U << 25));
      to.mask[lane[c]] =
          static_cast<std::uint32_t>(std::min<std::uint64_t>(rule.mask, (1U << 26) - 1));
      to.ulp[lane[c]] = static_cast<std::uint32_t>(std::min<std::uint64_t>(rule.ulp, 1U << 26));
    }
  }
}

void empty_cells(RangeBlock<float>& block, RangeCells& work, const RangeSeen& seen) {
  block.zeros += seen.zeros + take(work, 0, 0).count;
  block.inf += take(work, RangeCells::special_row, 0).count;
  for (std::size_t s = 1; s < std::size_t{segments}; ++s) {
    block.nan += take(work, RangeCells::special_row, s).count;
  }
  work.errors[0] = work.errors[RangeCells::special_row] = {};
  block.negative += seen.negative;
  if (seen.largest == 0) return;
  const std::uint32_t smallest = seen.smallest_less_one + 1;
  block.smallest = std::min(block.smallest, std::uint64_t{smallest});
  block.largest = std::max(block.largest, std::uint64_t{seen.largest});
  const auto columns = static_cast<std::size_t>(block.columns);
  const std::size_t last = row_of(seen.largest);
  for (std::size_t row = row_of(smallest); row <= last; ++row) {
    RangeBlock<float>::Row& to = block.rows[row];
    for (std::size_t s = 0; s < std::size_t{segments}; ++s) {
      const Taken taken = take(work, cells_of(row), s);
      to.count[s] += taken.count;
      to.sum[s] += taken.sum;
      to.squares += taken.squares;
    }
    auto& errors = work.errors[cells_of(row)];
    for (std::size_t c = 0; c < columns; ++c) {
      to.squared_error[c] += errors[c];
      if (columns <= RangeCells::columns_in_turn) {
        to.squared_error[c] += errors[c + RangeCells::columns_in_turn];
      }
    }
    errors = {};
  }
}

void range_count(const float* in, std::size_t n, RangeBlock<float>& block, RangeCells& work) {
  if (n < few_values) return binade::range_count(in, n, block);
  const auto columns = static_cast<std::size_t>(block.columns);
  if (columns > 0) set_rules(work, block, 1);
  const std::size_t capacity =
      columns > 0 ? RangeCells::capacity_with_errors : RangeCells::capacity;
  for (std::size_t done = 0; done < n; done += capacity) {
    const std::size_t end = done + std::min(capacity, n - done);
    RangeSeen seen;
    for (std::size_t at = done; at < end; at += range_tile) {
      count_tile(in + at, std::min(range_tile, end - at), columns, work, seen);
    }
    empty_cells(block, work, seen);
  }
}

}  // namespace binade::fast
