// SPDX-License-Identifier: Apache-2.0
//
// Pieces of 2^16 values: counted into cells, then the cells that were used are emptied into the block.
#include "emulate/fast/range_count.h"

#include <algorithm>

namespace binade::fast {
namespace {

constexpr std::size_t piece_size = std::size_t{1} << 16;
constexpr std::int32_t fraction_mask = 0x007FFFFF;
constexpr std::int32_t hidden_bit = 0x00800000;
constexpr std::int32_t infinity = 0x7F800000;
constexpr std::int32_t largest_integer = 0x7FFFFFFF;
constexpr std::int32_t nobodys_row = static_cast<std::int32_t>(RangeCells::rows);

constexpr std::size_t range_tile = 128;

/// What the values of a tile add to which cell.
struct RangeTile {
  std::array<std::uint32_t, range_tile> cell, significand;
  std::array<RangeCells::Cell, range_tile> added;
};

/// What a tile or a piece saw besides.
struct Seen {
  std::uint64_t zeros = 0, nan = 0, inf = 0, negative = 0;
  std::int32_t largest = 0,
               smallest_less_one = largest_integer;  ///< encodings of finite non-zero ones
};

/// Rules of 24-bit significands; what exceeds them cuts or caps nothing.
void set_rules(RangeCells& work, const RangeBlock<float>& block) {
  const auto columns = static_cast<std::size_t>(block.columns);
  for (std::size_t row = 0; row < RangeCells::rows; ++row) {
    RangeCells::Rules& to = work.rules[row];
    for (std::size_t c = 0; c < RangeCells::columns; ++c) {
      const ErrorRule rule = c < columns ? block.rows[row].rules[c] : ErrorRule{};
      // From 2^25 on the significand itself is what is lost, whatever the ulp.
      to.cap[c] = static_cast<std::uint32_t>(std::min<std::uint64_t>(rule.cap, 1U << 25));
      to.mask[c] = static_cast<std::uint32_t>(std::min<std::uint64_t>(rule.mask, (1U << 26) - 1));
      to.ulp[c] = static_cast<std::uint32_t>(std::min<std::uint64_t>(rule.ulp, 1U << 26));
    }
  }
}

/// Columns first … first + width - 1.
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

/// The tile of up to range_tile values. False where none of them is a number other than zero.
bool prepare(const float* in, std::size_t n, RangeTile& tile, Seen& seen) {
  const auto mask = [](bool is_so) { return -static_cast<std::int32_t>(is_so); };
  std::int32_t zeros = 0, nan = 0, inf = 0, negative = 0;  // minus the counts
  std::int32_t largest = 0, smallest_less_one = largest_integer;
  for (std::size_t i = 0; i < n; ++i) {
    const auto bits = std::bit_cast<std::int32_t>(in[i]);
    const std::int32_t magnitude = bits & largest_integer;
    const std::int32_t is_zero = mask(magnitude == 0);
    const std::int32_t is_nan = mask(magnitude > infinity);
    const std::int32_t is_special = mask(magnitude >= infinity);
    const std::int32_t is_subnormal = mask(magnitude < hidden_bit);
    zeros += is_zero;
    nan += is_nan;
    inf += is_special & ~is_nan;
    negative += (bits >> 31) & ~is_nan;
    const std::int32_t number = magnitude & ~is_special;
    largest = number > largest ? number : largest;
    const std::int32_t less_one = (magnitude - 1) & largest_integer;  // of zero the largest integer
    const std::int32_t below = (less_one & ~is_special) | (largest_integer & is_special);
    smallest_less_one = below < smallest_less_one ? below : smallest_less_one;

    const auto as_float = std::bit_cast<std::int32_t>(static_cast<float>(magnitude));
    const std::int32_t placed = (as_float & is_subnormal) | (magnitude & ~is_subnormal);
    const std::int32_t fraction = placed & fraction_mask;
    const std::int32_t own_row = (placed >> 23) + 22 - (149 & is_subnormal);
    const std::int32_t is_nobodys = is_zero | is_special;
    const std::int32_t row = (own_row & ~is_nobodys) | (nobodys_row & is_nobodys);
    // The cuts of segment_of, each by the last fraction below it.
    const std::int32_t past = mask(fraction > 0) + mask(fraction > 0x5FFFFF) +
                              mask(fraction > 0x680000) + mask(fraction > 0x6FFFFF) +
                              mask(fraction > 0x7EFFFF) + mask(fraction > 0x7F7FFF) +
                              mask(fraction > 0x7FDFFF) + mask(fraction > 0x7FEFFF);
    tile.cell[i] = static_cast<std::uint32_t>((row << 4) - past);
    tile.significand[i] = static_cast<std::uint32_t>(fraction | hidden_bit);
  }
  const auto count = [](std::int32_t sum) { return static_cast<std::uint64_t>(-sum); };
  seen.zeros += count(zeros);
  seen.nan += count(nan);
  seen.inf += count(inf);
  seen.negative += count(negative);
  if (largest == 0) return false;
  seen.largest = std::max(seen.largest, largest);
  seen.smallest_less_one = std::min(seen.smallest_less_one, smallest_less_one);
  for (std::size_t i = 0; i < n; ++i) {
    const std::uint64_t m = tile.significand[i];
    tile.added[i] = {std::uint64_t{1} << 40 | m, m * m};
  }
  return true;
}

void count_tile(const float* in, std::size_t n, std::size_t columns, RangeCells& work, Seen& seen) {
  RangeTile tile;
  if (!prepare(in, n, tile, seen)) return;
  for (std::size_t i = 0; i < n; ++i) {
    RangeCells::Cell& cell = work.cells[tile.cell[i]];
    cell.count_and_sum += tile.added[i].count_and_sum;
    cell.squares += tile.added[i].squares;
  }
  for (std::size_t i = 0; columns > 0 && i < n; ++i) {
    const std::size_t row = tile.cell[i] >> 4;
    const auto m = static_cast<std::int32_t>(tile.significand[i]);
    std::uint64_t* sums = work.errors[row].data();
    std::size_t c = 0;
    for (; c + 1 < columns; c += 4) add_errors<4>(m, work.rules[row], sums, c);
    if (c < columns) add_errors<1>(m, work.rules[row], sums, c);
  }
}

/// The row of a finite non-zero magnitude.
std::size_t row_of(std::int32_t magnitude) {
  const Fields x = fields_of(static_cast<std::uint64_t>(magnitude), binary32);
  return static_cast<std::size_t>(place(x, binary32).exponent - RangeBlock<float>::lowest);
}

void empty_cells(RangeBlock<float>& block, RangeCells& work, const Seen& seen) {
  block.zeros += seen.zeros;
  block.nan += seen.nan;
  block.inf += seen.inf;
  block.negative += seen.negative;
  if (seen.largest == 0) return;
  const std::int32_t smallest = seen.smallest_less_one + 1;
  block.smallest = std::min(block.smallest, static_cast<std::uint64_t>(smallest));
  block.largest = std::max(block.largest, static_cast<std::uint64_t>(seen.largest));
  for (std::size_t row = row_of(smallest); row <= row_of(seen.largest); ++row) {
    RangeBlock<float>::Row& to = block.rows[row];
    for (std::size_t segment = 0; segment < std::size_t{segments}; ++segment) {
      RangeCells::Cell& cell = work.cells[row << 4 | segment];
      to.count[segment] += cell.count_and_sum >> 40;
      to.sum[segment] += cell.count_and_sum & ((std::uint64_t{1} << 40) - 1);
      to.squares += cell.squares;
      cell = {};
    }
    for (std::size_t c = 0; c < static_cast<std::size_t>(block.columns); ++c) {
      to.squared_error[c] += work.errors[row][c];
    }
    work.errors[row] = {};
  }
  std::fill_n(&work.cells[RangeCells::rows << 4], 16, RangeCells::Cell{});
  work.errors[RangeCells::rows] = {};
}

}  // namespace

void range_count(const float* in, std::size_t n, RangeBlock<float>& block, RangeCells& work) {
  if (block.columns > 0) set_rules(work, block);
  const auto columns = static_cast<std::size_t>(block.columns);
  for (std::size_t done = 0; done < n; done += piece_size) {
    const std::size_t end = done + std::min(piece_size, n - done);
    Seen seen;
    for (std::size_t at = done; at < end; at += range_tile) {
      count_tile(in + at, std::min(range_tile, end - at), columns, work, seen);
    }
    empty_cells(block, work, seen);
  }
}

}  // namespace binade::fast
