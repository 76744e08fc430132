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
constexpr std::uint32_t infinity_field = 255;
constexpr std::size_t range_tile = 128;

/// What the values of a tile add to which cell.
struct RangeTile {
  std::array<std::uint32_t, range_tile> cell, significand;
  std::array<RangeCells::Cell, range_tile> added;
};

/// What a piece saw besides its cells.
struct Seen {
  std::uint64_t negative = 0;
  std::uint32_t largest = 0, smallest_less_one = ~0U;
};

/// Rules of 24-bit significands; what exceeds them cuts or caps nothing.
void set_rules(RangeCells& work, const RangeBlock<float>& block) {
  const auto columns = static_cast<std::size_t>(block.columns);
  for (std::uint32_t field = 1; field < infinity_field; ++field) {
    RangeCells::Rules& to = work.rules[field];
    const RangeBlock<float>::Row& row = block.rows[field + 22];
    for (std::size_t c = 0; c < RangeCells::columns; ++c) {
      const ErrorRule rule = c < columns ? row.rules[c] : ErrorRule{};
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

/// The tile of up to range_tile values; false where one is subnormal, infinite or NaN.
bool prepare(const float* in, std::size_t n, RangeTile& tile, Seen& seen) {
  const auto mask = [](bool is_so) { return 0U - static_cast<std::uint32_t>(is_so); };
  std::uint32_t irregular = 0, negative = 0;
  std::int32_t largest = 0, smallest_less_one = 0x7FFFFFFF;
  for (std::size_t i = 0; i < n; ++i) {
    const auto bits = std::bit_cast<std::uint32_t>(in[i]);
    const auto magnitude = static_cast<std::int32_t>(bits & 0x7FFFFFFF);
    const std::int32_t fraction = magnitude & fraction_mask;
    const std::int32_t field = magnitude >> 23;
    // The cuts of segment_of, each by the last fraction below it.
    const std::uint32_t past = mask(fraction > 0) + mask(fraction > 0x5FFFFF) +
                               mask(fraction > 0x680000) + mask(fraction > 0x6FFFFF) +
                               mask(fraction > 0x7EFFFF) + mask(fraction > 0x7F7FFF) +
                               mask(fraction > 0x7FDFFF) + mask(fraction > 0x7FEFFF);
    const std::uint32_t zero = mask(magnitude == 0);
    irregular |= mask(field == 255) | (mask(field == 0) & ~zero);
    negative += bits >> 31;
    largest = magnitude > largest ? magnitude : largest;
    const auto below =
        static_cast<std::int32_t>(static_cast<std::uint32_t>(magnitude - 1) & 0x7FFFFFFF);
    smallest_less_one = below < smallest_less_one ? below : smallest_less_one;
    tile.cell[i] = (static_cast<std::uint32_t>(field) << 4) - past;
    tile.significand[i] = static_cast<std::uint32_t>(fraction | hidden_bit);
  }
  if (irregular != 0) return false;
  for (std::size_t i = 0; i < n; ++i) {
    const std::uint64_t m = tile.significand[i];
    tile.added[i] = {std::uint64_t{1} << 40 | m, m * m};
  }
  seen.negative += negative;
  seen.largest = std::max(seen.largest, static_cast<std::uint32_t>(largest));
  const auto less_one = static_cast<std::uint32_t>(smallest_less_one);
  if (largest != 0) seen.smallest_less_one = std::min(seen.smallest_less_one, less_one);
  return true;
}

void count_tile(const float* in, std::size_t n, RangeBlock<float>& block, RangeCells& work,
                Seen& seen) {
  RangeTile tile;
  if (!prepare(in, n, tile, seen)) {
    if (n == 1) return binade::range_count(in, 1, block);
    const std::size_t half = n / 2;  // what is regular may still be counted quickly
    count_tile(in, half, block, work, seen);
    return count_tile(in + half, n - half, block, work, seen);
  }
  for (std::size_t i = 0; i < n; ++i) {
    RangeCells::Cell& cell = work.cells[tile.cell[i]];
    cell.count_and_sum += tile.added[i].count_and_sum;
    cell.squares += tile.added[i].squares;
  }
  const auto columns = static_cast<std::size_t>(block.columns);
  for (std::size_t i = 0; columns > 0 && i < n; ++i) {
    const std::size_t field = tile.cell[i] >> 4;
    const auto m = static_cast<std::int32_t>(tile.significand[i]);
    std::uint64_t* sums = work.errors[field].data();
    std::size_t c = 0;
    for (; c + 1 < columns; c += 4) add_errors<4>(m, work.rules[field], sums, c);
    if (c < columns) add_errors<1>(m, work.rules[field], sums, c);
  }
}

void empty_cells(RangeBlock<float>& block, RangeCells& work, const Seen& seen) {
  block.zeros += work.cells[0].count_and_sum >> 40;
  work.cells[0] = {};
  block.negative += seen.negative;
  if (seen.largest == 0) return;
  const std::uint64_t smallest = std::uint64_t{seen.smallest_less_one} + 1;
  block.smallest = std::min(block.smallest, smallest);
  block.largest = std::max<std::uint64_t>(block.largest, seen.largest);
  for (std::size_t field = smallest >> 23; field <= seen.largest >> 23; ++field) {
    RangeBlock<float>::Row& row = block.rows[field + 22];
    for (std::size_t segment = 0; segment < segments; ++segment) {
      RangeCells::Cell& cell = work.cells[field << 4 | segment];
      row.count[segment] += cell.count_and_sum >> 40;
      row.sum[segment] += cell.count_and_sum & ((std::uint64_t{1} << 40) - 1);
      row.squares += cell.squares;
      cell = {};
    }
    for (std::size_t c = 0; c < static_cast<std::size_t>(block.columns); ++c) {
      row.squared_error[c] += work.errors[field][c];
    }
    work.errors[field] = {};
  }
  work.errors[0] = {};
}

}  // namespace

void range_count(const float* in, std::size_t n, RangeBlock<float>& block, RangeCells& work) {
  if (block.columns > 0) set_rules(work, block);
  for (std::size_t done = 0; done < n; done += piece_size) {
    const std::size_t end = done + std::min(piece_size, n - done);
    Seen seen;
    for (std::size_t at = done; at < end; at += range_tile) {
      count_tile(in + at, std::min(range_tile, end - at), block, work, seen);
    }
    empty_cells(block, work, seen);
  }
}

}  // namespace binade::fast
