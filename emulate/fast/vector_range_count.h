// SPDX-License-Identifier: Apache-2.0
//
// `range_count` of emulate/range_count.h for floats, equal in every count and sum: 32 values at a
// time go into the RangeCells of emulate/fast/range_count.h, by vectors of V (the level's types and
// functions: avx2.h, avx512.h). The lack of a fraction f is its inverted bits; as a float, its
// exponent field is an index into a table of segments:
//
//     f  1111 1110 0000 1010 1111 000   lack  0000 0001 1111 0101 0000 111 1100'0000
//
// That lack has 24 bits: exponent field 150, less 143 (field_of_index_0), is index 7, segment 5.
// The tail 1100'0000 makes the lack of f = 0, and no other, round up to the next binade as a float,
// so that 0 has an index of its own. The one boundary between segments whose distance from 2 is no
// power of two, 1.8125, is a comparison.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "emulate/fast/kernels.h"
#include "emulate/fast/range_count.h"

namespace binade::fast {

/// Values go by the unit V, columns of errors by the unit E, which may be shorter: a value adds to
/// sums in memory that the value before may have changed, and short vectors come back from memory
/// sooner.
template <class V, class E>
struct VectorRangeCount {
  using I = typename V::I;
  using M = typename V::M;
  using Words = typename V::Words;
  using Columns = typename E::I;
  using Cell = RangeCells::Cell;

  static constexpr std::size_t group = 32, vectors = group / V::lanes;
  static constexpr std::size_t half = E::lanes / 2;  ///< columns of a vector's even lanes
  static constexpr std::uint32_t hidden_bit = 0x00800000;
  static constexpr std::uint32_t infinity = 0x7F800000;

  /// What each value of a group adds, and to which cell.
  struct Tile {
    alignas(V::bytes) std::uint32_t row[group], significand[group];
    alignas(V::bytes) std::uint32_t cell[group];  ///< distance from the first cell in bytes
    alignas(V::bytes) Cell added[group];          ///< in each vector ordered by lane % 4, then lane
  };

  /// RangeSeen for each lane.
  struct Seen {
    I negative, largest, smallest_less_one;
    std::uint64_t zeros = 0;

    Seen() : negative(V::zero()), largest(V::zero()), smallest_less_one(V::set(~0U)) {}

    RangeSeen total() const {
      alignas(V::bytes) std::uint32_t large[V::lanes], small[V::lanes];
      V::store(large, largest);
      V::store(small, smallest_less_one);
      RangeSeen out;
      out.negative = V::total(negative);
      out.zeros = zeros;
      for (std::size_t k = 0; k < V::lanes; ++k) {
        out.largest = out.largest < large[k] ? large[k] : out.largest;
        out.smallest_less_one = small[k] < out.smallest_less_one ? small[k] : out.smallest_less_one;
      }
      return out;
    }
  };

  /// A cell's place in its row, in bytes (segment 8 first, 0 last), by the length of the lack
  /// without its tail: indices 0 to 3 for up to 12 bits, 4 for 13, …, 14 for 23, 15 for f = 0.
  /// Significands up to 1.8125 lie one cell further.
  alignas(16) static constexpr std::uint8_t segment_table[16]{0,  0,  0,  0,  16, 32, 32, 48,
                                                              64, 64, 64, 64, 80, 96, 96, 112};

  static constexpr std::uint32_t lack_tail = 0xC0, field_of_index_0 = 127 + 12 + 8 - 1 - 3;

  /// Which values a group has: zeros only, zeros and normal numbers, or any.
  enum class Values : std::uint8_t { zeros, regular, any };

  static Values values_of(const float* x, Seen& seen) {
    I largest = V::zero(), smallest_less_one = V::set(~0U);
    for (std::size_t k = 0; k < vectors; ++k) {
      const I magnitude = V::bit_and(V::load(x + k * V::lanes), V::set(~0U >> 1));
      largest = V::max(largest, magnitude);
      smallest_less_one = V::min_unsigned(smallest_less_one, V::sub(magnitude, V::set(1)));
    }
    if (V::any(V::greater(largest, V::set(infinity - 1)))) return Values::any;
    if (V::any(V::greater_unsigned(V::set(hidden_bit - 1), smallest_less_one))) return Values::any;
    seen.largest = V::max(seen.largest, largest);
    seen.smallest_less_one = V::min_unsigned(seen.smallest_less_one, smallest_less_one);
    return V::any(V::greater(largest, V::zero())) ? Values::regular : Values::zeros;
  }

  static void count_signs(const float* x, Seen& seen) {
    for (std::size_t k = 0; k < vectors; ++k) {
      seen.negative = V::plus_one(seen.negative, V::has_sign(V::load(x + k * V::lanes)));
    }
  }

  template <bool regular, bool with_rows>
  static void prepare(const float* in, Tile& tile, Seen& seen) {
    const I table = V::table(segment_table);
    for (std::size_t k = 0; k < vectors; ++k) {
      const I x = V::load(in + k * V::lanes);
      I magnitude = V::bit_and(x, V::set(~0U >> 1));
      if constexpr (!regular) {
        const M is_special = V::greater(magnitude, V::set(infinity - 1));
        const M is_nan = V::greater(magnitude, V::set(infinity));
        const I special = V::where(is_special, V::set(~0U));
        const I less_one = V::sub(magnitude, V::set(1));
        seen.negative = V::plus_one(seen.negative, V::but_not(V::has_sign(x), is_nan));
        seen.largest = V::max(seen.largest, V::and_not(magnitude, special));
        seen.smallest_less_one =
            V::min_unsigned(seen.smallest_less_one, V::bit_or(less_one, special));
        const M is_subnormal =
            V::but_not(V::greater(V::set(hidden_bit), magnitude), V::equal(magnitude, V::zero()));
        const I as_float = V::add(V::bits(V::to_number(magnitude)), V::set(129U << 23));
        magnitude = V::select(is_subnormal, as_float, magnitude);
      }
      const I row = V::shift_right(magnitude, 23);
      const I upper = V::bit_or(V::shift_left(magnitude, 8), V::set(hidden_bit << 8));
      const I m = V::shift_right(upper, 8);
      const I lack = V::sub(V::set(0xFFFFFF00 | lack_tail), upper);
      const I length = V::shift_right(V::bits(V::to_number(lack)), 23);
      const I segment = V::look_up(table, V::sub_to_zero(length, V::set(field_of_index_0)));
      const M is_low = V::greater(lack, V::set((0x800000 - 0x680001) << 8));
      const I cell = V::add(V::add(V::mul_pairs(row, V::set(sizeof(Cell) * segments)), segment),
                            V::where(is_low, V::set(sizeof(Cell))));
      V::store(tile.cell + k * V::lanes, cell);
      if constexpr (with_rows) {
        V::store(tile.row + k * V::lanes, row);
        V::store(tile.significand + k * V::lanes, m);
      }
      const I odd = Words::high_words(m);
      const I even_sum = Words::join_words(m, Words::set(1U << 8));
      const I odd_sum = Words::bit_or(odd, Words::set(std::uint64_t{1} << 40));
      const I even_square = Words::mul_words(m, m), odd_square = Words::mul_words(odd, odd);
      Cell* const added = tile.added + k * V::lanes;
      constexpr std::size_t quarter = V::lanes / 4;
      Words::store(added, Words::low_pairs(even_sum, even_square));
      Words::store(added + quarter, Words::low_pairs(odd_sum, odd_square));
      Words::store(added + 2 * quarter, Words::high_pairs(even_sum, even_square));
      Words::store(added + 3 * quarter, Words::high_pairs(odd_sum, odd_square));
    }
  }

  static void add(const Tile& tile, RangeCells& work) {
    for (std::size_t i = 0; i < group; i += V::lanes) {
      for (std::size_t lane = 0; lane < V::lanes; ++lane) {
        auto* const first_cell =
            reinterpret_cast<std::byte*>(work.cells[lane % RangeCells::copies].data());
        V::add_two_words(first_cell + tile.cell[i + lane],
                         tile.added + i + lane % 4 * (V::lanes / 4) + lane / 4);
      }
    }
  }

  /// Adds the squares of the even lanes.
  static void add_squares(std::uint64_t* sums, Columns x) {
    using Squares = typename E::Words;
    Squares::store(sums, Squares::add(Squares::load(sums), Squares::mul_words(x, x)));
  }

  /// Adds a group's squared errors in halves · half columns.
  template <std::size_t halves>
  static void add_errors(const Tile& tile, RangeCells& work) {
    constexpr bool in_turn = halves * half <= RangeCells::columns_in_turn;
    for (std::size_t i = 0; i < group; i += 2) {
      for (std::size_t turn = 0; turn < 2; ++turn) {
        const std::size_t row = tile.row[i + turn];
        const RangeCells::Rules& rules = work.rules[row];
        std::uint64_t* const sums =
            work.errors[row].data() + (in_turn ? turn * RangeCells::columns_in_turn : 0);
        const Columns m = E::set(tile.significand[i + turn]);
        for (std::size_t k = 0; k < halves; k += 2) {
          const std::size_t first = k * half;
          const Columns rest = E::bit_and(m, E::load(rules.mask.data() + first));
          const Columns above = E::sub(E::load(rules.ulp.data() + first), rest);
          // The cap is on the grid: above it m - cap is the larger of the two, up to it m - cap is
          // not positive.
          const Columns error =
              E::max(E::min(rest, above), E::sub(m, E::load(rules.cap.data() + first)));
          add_squares(sums + first, error);
          if (k + 1 < halves) add_squares(sums + first + half, E::Words::high_words(error));
        }
      }
    }
  }

  template <std::size_t halves>
  static void add_tile(const Tile& tile, RangeCells& work) {
    add(tile, work);
    if constexpr (halves > 0) add_errors<halves>(tile, work);
  }

  template <std::size_t halves>
  static void count(const float* in, std::size_t n, RangeBlock<float>& block, RangeCells& work) {
    constexpr std::size_t capacity =
        halves > 0 ? RangeCells::capacity_with_errors : RangeCells::capacity;
    if constexpr (halves > 0) set_rules(work, block, half);
    // A group is added after the next one was prepared: a vector that was just stored cannot be
    // loaded in parts before it has reached the cache.
    Tile tiles[2];
    for (std::size_t done = 0; done < n;) {
      const std::size_t end = n - done < capacity ? n : done + capacity;
      Seen seen;
      std::size_t prepared = 0;
      for (; done < end; done += group) {
        const float* from = in + done;
        float rest[group];
        if (end - done < group) {  // filled with zeros, which are not counted
          std::memset(rest, 0, sizeof rest);
          std::memcpy(rest, from, (end - done) * sizeof(float));
          from = rest;
          seen.zeros -= group - (end - done);
        }
        const Values values = values_of(from, seen);
        if (values == Values::zeros) {
          count_signs(from, seen);
          seen.zeros += group;
          continue;
        }
        Tile& tile = tiles[prepared % 2];
        if (values == Values::regular) {
          count_signs(from, seen);
          prepare<true, (halves > 0)>(from, tile, seen);
        } else {
          prepare<false, (halves > 0)>(from, tile, seen);
        }
        if (++prepared > 1) add_tile<halves>(tiles[prepared % 2], work);
      }
      if (prepared > 0) add_tile<halves>(tiles[(prepared - 1) % 2], work);
      empty_cells(block, work, seen.total());
    }
  }
};

template <class V, class E>
void range_count_vectors(const float* in, std::size_t n, RangeBlock<float>& block,
                         RangeCells& work) {
  if (n < few_values) return definitions().range_count_f32(in, n, block, work);
  using Count = VectorRangeCount<V, E>;
  const std::size_t halves =
      (static_cast<std::size_t>(block.columns) + Count::half - 1) / Count::half;
  switch (halves) {
    case 0: return Count::template count<0>(in, n, block, work);
    case 1: return Count::template count<1>(in, n, block, work);
    case 2: return Count::template count<2>(in, n, block, work);
    default: return Count::template count<RangeCells::columns / Count::half>(in, n, block, work);
  }
}

}  // namespace binade::fast
