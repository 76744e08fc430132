// SPDX-License-Identifier: Apache-2.0
//
// Fused blocks (`dot` of emulate/dot.h, equal in every bit) by vectors of V, a lane for each
// column, of operands whose products are exact in binary32. V is the level's vector unit (avx2.h,
// avx512.h): a struct of types and functions for its vectors. A block's top exponent is found in
// bytes, 32 columns at a time; then each product, scaled to units of 2^(top - F), is cut toward
// zero by its conversion to an integer:
//
//     a, b      ±1.ffffffffff · 2^e, exact          │ bytes: e of each, -128 of a zero
//     a·b       22 bits, exact                      │ top = max over the block of e_a + e_b, of c's, and of the floor
//     a·b·q     q = 2^(F - top)                     │ ────────────────────────────────'
//     s += the integer part;  s += that of c·q      │ d = s · 1/q, toward zero to the grid's bits;
//                                                   │ of binary16: to odd, then to nearest; d is the next c
//
//     1.5 · 1.5 - 2^-30, c = 0, F = 24     bytes 0 + 0 and -30: top = 0, q = 2^24
//     2.25 · 2^24 = 37748736,  -2^-6       as integers 37748736 and 0, cut toward zero;  s · 2^-24 = 2.25
//
// A sum beyond the range is an infinity, and remains one. A block whose exponents have no room in
// bytes, or whose c is tiny (below 2^-100), is done with exponents of 32 bits (wide_block); a sum
// that has no room in 32 bits is computed by itself, by dot_blocks.h.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "emulate/fast/block_plan.h"
#include "emulate/fast/dot_blocks.h"
#include "emulate/fast/kernels.h"
#include "emulate/fast/products.h"
#include "emulate/fast/rounding.h"
#include "emulate/fast/sparse_lines.h"
#include "emulate/fast/vector_rounding.h"

namespace binade::fast {

/// A tile of 4 rows × 32 columns of a model's fused blocks. V is a unit of 32-bit lanes.
template <class V>
struct VectorDotBlocks {
  using I = typename V::I;
  using F = typename V::F;
  using Bytes = typename V::Exponents;

  template <class T>
  using Tile = std::array<std::array<T, tile_columns>, tile_rows>;

  /// What a block's sums are; `in_doubt`: of binary32, and each block is tested for being a wide
  /// one; `scaled`: of binary32, with scales.
  enum class Sums : std::uint8_t { of_binary32, in_doubt, of_binary16, scaled };

  static constexpr std::size_t vectors = tile_columns / V::lanes;
  static constexpr int height = tile_rows;
  static constexpr std::uint32_t sign_bit = 0x80000000, infinity = 0x7F800000;
  static constexpr std::uint32_t tiny_below = std::uint32_t{27} << 23;  ///< 2^-100
  /// The largest sum of products to which c can be added in 32 bits, and whose total converts: 2^31
  /// - 2^26 - 2^8. As a float's bits it is less than infinity's.
  static constexpr std::uint32_t most = 0x7BFFFF00;

  GemmModel g;  ///< a sparse model's dense one (sparse_lines.h)
  BlockPlan plan;
  CarrierLanes<V, float> half;
  VectorRows rows;
  VectorColumns columns;
  Tile<float>* sums = nullptr;
  TileScales scales;
  VectorDetours* detours;
  bool are_all_in_bytes;                ///< exponents of all products have room in bytes
  std::size_t elements;                 ///< number of elements of the tile
  alignas(V::bytes) Tile<float> waits;  ///< c, until it is added at an instruction's end
  /// A block's largest exponents of products, or the floor, without c; biased by 127.
  alignas(V::bytes) Tile<std::uint8_t> tops;

  VectorDotBlocks(const GemmModel& model, const ProductTile& x)
      : g(dense_twin(model)),
        plan(model.model, model.types, model.k),
        half(rounding_plan<float>(binary16, Attributes{})),
        rows(x),
        columns(x),
        scales(x.scales),
        detours(x.detours),
        are_all_in_bytes(BlockPlan::in_bytes(x.of_rows, x.of_columns)),
        elements(static_cast<std::size_t>(x.row_count * x.column_count)) {}

  /// Runs instructions on the sums `on`, from product number `first` on. `from_zero`: all sums are
  /// 0.
  void run(std::size_t first, int instructions, TileValues& on, bool from_zero) {
    sums = &on.rows;
    const auto n = static_cast<std::size_t>(instructions) * static_cast<std::size_t>(g.k);
    if (plan.is_half) return run_instructions<Sums::of_binary16>(first, n);
    if (plan.is_scaled) return run_instructions<Sums::scaled>(first, n);
    const bool is_wide = plan.is_wide && !are_all_in_bytes && !in_bytes(first, n);
    if (is_wide || (!plan.c_last && !from_zero && any_tiny())) {
      return run_instructions<Sums::in_doubt>(first, n);
    }
    run_instructions<Sums::of_binary32>(first, n);
  }

 private:
  template <Sums kind>
  void run_instructions(std::size_t first, std::size_t n) {
    const auto k = static_cast<std::size_t>(g.k);
    if (plan.is_chain()) return run_blocks<kind>(first, n);
    for (std::size_t at = first; at < first + n; at += k) {
      if (plan.c_last) {
        waits = *sums;
        *sums = {};
      }
      run_blocks<kind>(at, k);
      finish();
    }
  }
  float* row_of(std::size_t i) const { return (*sums)[i].data(); }

  template <Sums kind>
  void run_blocks(std::size_t begin, std::size_t n) {
    const auto block_size = static_cast<std::size_t>(g.model.block);
    const auto k = static_cast<std::size_t>(g.k);
    const std::size_t part = g.model.recipe == Recipe::expanded ? k / 2 : k;
    std::uint32_t least_c = plan.least_c;
    for (std::size_t first = begin; first < begin + n; first += part) {
      for (std::size_t at = first; at < first + part; at += block_size) {
        block<kind>(at, std::min(block_size, first + part - at), least_c);
        least_c = plan.least_sum;
      }
    }
  }

  /// Does what an instruction does after its blocks: adds the c that waits, and rounds to binary16.
  void finish() {
    const bool to_half = plan.is_half || plan.ends_half;
    for (std::size_t i = 0; i < height; ++i) {
      for (std::size_t j = 0; j < tile_columns; j += V::lanes) {
        F sum = V::load_floats(row_of(i) + j);
        if (plan.c_last) sum = V::add(sum, V::load_floats(waits[i].data() + j));
        I bits = V::bits(sum);
        if (to_half) {
          const I magnitude = V::bit_and(bits, V::set(~sign_bit));
          const I r = in_range_of_half(to_half_nearest(magnitude), magnitude);
          bits = V::bit_or(r, V::and_not(bits, V::set(~sign_bit)));
        }
        V::store(row_of(i) + j, bits);
      }
    }
  }
  I to_half_nearest(I magnitude) const {
    CodeParts<V> code;
    const I a = V::min(magnitude, half.last);
    return half.template round<Rounding::ties_to_even>(a, magnitude, magnitude, code);
  }
  /// Replaces magnitudes beyond binary16's range by infinity, or by the NaN that the operand was.
  static I in_range_of_half(I rounded, I magnitude) {
    return V::select(V::greater(rounded, V::set(half_max)), V::max(V::set(infinity), magnitude),
                     rounded);
  }

  bool any_tiny() const {
    I found = V::zero();
    for (std::size_t i = 0; i < height; ++i) {
      for (std::size_t j = 0; j < tile_columns; j += V::lanes) {
        const I magnitude = V::bit_and(V::load(row_of(i) + j), V::set(~sign_bit));
        const auto is_tiny =
            V::but_not(V::greater(V::set(tiny_below), magnitude), V::equal(magnitude, V::zero()));
        found = V::bit_or(found, V::where(is_tiny, V::set(1)));
      }
    }
    return V::any(V::greater(found, V::zero()));
  }
  /// Returns whether bytes suffice for n products from k on: nonzero ones have exponents from
  /// BlockPlan::least_exponent on, and no operand has one above most_exponent.
  bool in_bytes(std::size_t k, std::size_t n) const {
    ExponentRange a, b;
    const auto* words = reinterpret_cast<const std::int8_t*>(rows.exponents + k * height);
    a.add(words, n * height * sizeof(std::uint32_t));
    b.add(columns.exponents + k * tile_columns, n * tile_columns);
    return BlockPlan::in_bytes(a.least() + b.least(), std::max(a.most(), b.most()));
  }
  /// The least and the largest exponent of nonzero operands.
  struct ExponentRange {
    typename Bytes::I high, low;

    ExponentRange() : high(Bytes::set(no_exponent)), low(Bytes::set(127)) {}
    void add(const std::int8_t* from, std::size_t n) {
      std::size_t at = 0;
      for (; at + Bytes::size <= n; at += Bytes::size) add(Bytes::load(from + at));
      if (at == n) return;
      std::array<std::int8_t, Bytes::size> last;
      last.fill(no_exponent);
      std::memcpy(last.data(), from + at, n - at);
      add(Bytes::load(last.data()));
    }
    void add(typename Bytes::I more) {
      high = Bytes::max(high, more);
      low = Bytes::min(low, Bytes::instead_of(more, no_exponent, 127));
    }
    int most() const {
      return extreme(high, [](int one, int other) { return one > other; });
    }
    int least() const {
      return extreme(low, [](int one, int other) { return one < other; });
    }

   private:
    template <class Before>
    static std::int8_t extreme(typename Bytes::I all, const Before& before) {
      std::array<std::int8_t, Bytes::size> bytes;
      Bytes::store(bytes.data(), all);
      std::int8_t out = bytes[0];
      for (const std::int8_t byte : bytes) out = before(byte, out) ? byte : out;
      return out;
    }
  };

  /// Sets `tops` for the block of n products from `at` on.
  void find_tops(std::size_t at, std::size_t n) {
    const std::uint32_t* a = rows.exponents + at * height;
    const std::int8_t* b = columns.exponents + at * tile_columns;
    typename Bytes::I top[height];
    const int floor =
        plan.is_scaled ? no_exponent : static_cast<int>(plan.floor >> 23) - binary32.bias;
    for (int i = 0; i < height; ++i) top[i] = Bytes::set(floor);
    for (std::size_t k = 0; k < n; ++k, a += height, b += tile_columns) {
      const auto of_b = Bytes::load(b);
      for (int i = 0; i < height; ++i) {
        top[i] = Bytes::max(top[i], Bytes::add_saturated(of_b, Bytes::broadcast(a + i)));
      }
    }
    for (int i = 0; i < height; ++i) {
      Bytes::store(tops[static_cast<std::size_t>(i)].data(), Bytes::biased(top[i]));
    }
  }

  /// Computes one block of n products from `at` on, for all elements of the tile. `least_c` is the
  /// least exponent of a nonzero c, as bits.
  template <Sums kind>
  void block(std::size_t at, std::size_t n, std::uint32_t least_c) {
    if constexpr (kind == Sums::scaled) return scaled_block(at, n);
    if constexpr (kind == Sums::in_doubt) {
      if (any_tiny() || (plan.is_wide && !are_all_in_bytes && !in_bytes(at, n))) {
        return wide_block(at, n, least_c);
      }
    }
    find_tops(at, n);
    const I one = V::set(static_cast<std::uint32_t>(254 + plan.fraction_bits) << 23);
    for (std::size_t j = 0; j < vectors; ++j) {
      const std::size_t column = j * V::lanes;
      I s[height];
      F q[height];
      I beyond = V::zero();  // the largest top, as bits, or sum of products
      for (int i = 0; i < height; ++i) {
        const auto row = static_cast<std::size_t>(i);
        const I sum = V::load(row_of(row) + column);
        I of_sum = V::bit_and(sum, V::set(infinity));
        if constexpr (kind == Sums::of_binary16) {
          const I magnitude = V::bit_and(sum, V::set(~sign_bit));
          of_sum = V::where(V::greater(magnitude, V::zero()), V::max(of_sum, V::set(least_c)));
        }
        const I of_products = V::shift_left(V::load_narrow(tops[row].data() + column, 1), 23);
        const I top = V::max(of_products, of_sum);
        beyond = V::max(beyond, top);
        q[i] = V::number(V::sub(one, top));
      }
      beyond = V::max(beyond, sum_products(at, n, column, q, s));
      I largest = V::zero();
      for (int i = 0; i < height; ++i) {
        const auto row = static_cast<std::size_t>(i);
        const F sum = V::load_floats(row_of(row) + column);
        const I all = V::add(s[i], V::truncated(V::mul(sum, q[i])));
        const I sign = V::bit_and(all, V::set(sign_bit));
        const F unit = V::number(V::sub(V::set(std::uint32_t{254} << 23), V::bits(q[i])));
        const I cut = converted<kind == Sums::of_binary16>(V::magnitude(all));
        I d = V::bits(V::mul(V::number(cut), unit));
        if constexpr (kind == Sums::of_binary16) {
          d = to_half_nearest(d);
          largest = V::max(largest, d);
          d = V::where(V::greater(d, V::zero()), V::bit_or(d, sign));
        } else {
          d = V::bit_and(V::bit_or(d, sign), V::set(plan.kept_bits));
        }
        s[i] = d;
      }
      const auto has_no_room = V::greater(beyond, V::set(most));
      if (V::any(V::either(has_no_room, V::greater(largest, V::set(half_max))))) [[unlikely]] {
        mend(at, n, column, least_c, q, s);
      }
      for (int i = 0; i < height; ++i) V::store(row_of(static_cast<std::size_t>(i)) + column, s[i]);
    }
  }

  /// Sets s to the sum of each row's products. Returns the largest magnitude of the sums, one
  /// beyond `most` where a sum has no room in 32 bits, and 0 under a plan in which all have room.
  I sum_products(std::size_t at, std::size_t n, std::size_t column, const F (&q)[height],
                 I (&s)[height]) const {
    for (I& sum : s) sum = V::zero();
    I largest = V::zero();
    if (!plan.is_long) {
      add_products(at, n, column, q, s);
      if (!plan.may_carry) return largest;
      for (const I& sum : s) largest = V::max(largest, V::magnitude(sum));
      return largest;
    }
    I lower[height];
    for (I& sum : lower) sum = V::zero();
    add_products(at, n / 2, column, q, lower);
    add_products(at + n / 2, n - n / 2, column, q, s);
    for (int i = 0; i < height; ++i) largest = V::max(largest, add_half(lower[i], s[i]));
    return largest;
  }
  /// Adds `other` to s. Returns the sum's magnitude, or one beyond `most` where the sum has no room
  /// in 32 bits.
  static I add_half(I other, I& s) {
    const I sum = V::add(other, s);
    const I carried = V::bit_and(V::bit_xor(other, sum), V::bit_xor(s, sum));
    s = sum;
    return V::select(V::has_sign(carried), V::set(~sign_bit), V::magnitude(sum));
  }
  /// Adds n cut products, from `at` on, to the sum of each row in V::lanes columns.
  void add_products(std::size_t at, std::size_t n, std::size_t column, const F (&q)[height],
                    I (&s)[height]) const {
    const float* a = rows.values + at * height;
    const float* b = columns.values + at * tile_columns + column;
    for (std::size_t k = 0; k < n; ++k, a += height, b += tile_columns) {
      const F of_b = V::load_floats(b);
      for (int i = 0; i < height; ++i) {
        s[i] = V::add(s[i], V::truncated(V::mul(V::mul(of_b, V::broadcast(a + i)), q[i])));
      }
    }
  }

  /// Converts an integer's magnitude to a float, as bits, toward zero or to odd. The bit 24 places
  /// below the first one is worth half of the last bit kept; it is cleared first, and without it
  /// the conversion, to nearest, does not round up.
  template <bool odd>
  I converted(I magnitude) const {
    if (plan.is_short) return V::bits(V::to_number(magnitude));
    I out;
    if constexpr (NamesRounding<V>) {
      out = V::bits(V::to_number_toward_zero(magnitude));
    } else {
      out = V::bits(V::to_number(V::and_not(magnitude, V::shift_right(magnitude, 24))));
    }
    if constexpr (odd) {
      const auto is_lost = V::greater(magnitude, V::truncated(V::number(out)));
      out = V::bit_or(out, V::where(is_lost, V::set(1)));
    }
    return out;
  }

  /// Corrects results of a block: where c is an infinity or a NaN, where sums have no room in 32
  /// bits, and where results leave binary16's range.
  [[gnu::noinline]] void mend(std::size_t at, std::size_t n, std::size_t column,
                              std::uint32_t least_c, const F (&q)[height], I (&d)[height]) {
    for (int i = 0; i < height; ++i) {
      const auto row = static_cast<std::size_t>(i);
      if (plan.may_carry) {
        one_by_one(row, at, n, column, least_c, magnitude_of(row, at, n, column, q[i]), d[i]);
      }
      if (plan.is_half) {
        const I magnitude = V::bit_and(d[i], V::set(~sign_bit));
        d[i] =
            V::bit_or(in_range_of_half(magnitude, magnitude), V::and_not(d[i], V::set(~sign_bit)));
      }
      d[i] = infinity_stays(V::load(row_of(row) + column), d[i]);
    }
  }
  /// Returns the magnitudes of a row's sums of products, or one beyond `most` where a sum has no
  /// room.
  I magnitude_of(std::size_t row, std::size_t at, std::size_t n, std::size_t column, F q) const {
    I lower = V::zero(), s = V::zero();
    for (std::size_t k = 0; k < n; ++k) {
      const F b = V::load_floats(columns.values + (at + k) * tile_columns + column);
      const F product = V::mul(b, V::broadcast(rows.values + (at + k) * height + row));
      I& sum = k < n / 2 ? lower : s;
      sum = V::add(sum, V::truncated(V::mul(product, q)));
    }
    return add_half(lower, s);
  }
  /// Returns c in the lanes where it is an infinity or a NaN, and d in the others.
  static I infinity_stays(I of_c, I d) {
    const I magnitude = V::bit_and(of_c, V::set(~sign_bit));
    return V::select(V::greater(magnitude, V::set(infinity - 1)), of_c, d);
  }
  /// Computes by itself each of a row's elements whose sum of products has no room in 32 bits.
  void one_by_one(std::size_t row, std::size_t at, std::size_t n, std::size_t column,
                  std::uint32_t least_c, I sums_of_products, I& d) const {
    alignas(V::bytes) std::array<std::uint32_t, V::lanes> magnitudes, results;
    V::store(magnitudes.data(), sums_of_products);
    V::store(results.data(), d);
    for (std::size_t lane = 0; lane < V::lanes; ++lane) {
      if (magnitudes[lane] > most) {
        results[lane] = one_sum(row, column + lane, at, n, least_c);
        if (detours != nullptr) detours->alone += n;
      }
    }
    d = V::load(results.data());
  }
  std::uint32_t one_sum(std::size_t row, std::size_t column, std::size_t at, std::size_t n,
                        std::uint32_t least_c, int scale = 0) const {
    // Under is_half, c has binary16's format, except before the first block where C's format is
    // wider.
    const Format sum = plan.is_half ? binary16 : binary32;
    const Format before = least_c == plan.least_sum ? sum : binary32;
    std::array<Factor, 64> a, b;
    factors(row, column, at, n, a.data(), b.data());
    const std::uint64_t c_bits = std::bit_cast<std::uint32_t>(row_of(row)[column]);
    const std::uint64_t out =
        detail::predecoded_block(g.model, product_bits(), a.data(), b.data(), static_cast<int>(n),
                                 convert(c_bits, binary32, before).bits, before, sum, scale);
    return std::bit_cast<std::uint32_t>(value_of<float>(out, sum));
  }

  // scaled_block: a block whose products all have the same scales, 2^t. Exponents are words, biased
  // by 127:
  //
  //     a·b · 2^(F + t - top)    cut, top = max(exponents of a·b, + t; c's; the floor)    c · 2^(F - top)
  //
  // An element with an exponent outside 2^-101 … 2^127, or a scale that is a NaN, is done by
  // itself.

  static constexpr std::uint32_t least_top = BlockPlan::least_exponent + 127, largest_top = 254;

  std::uint32_t row_scale(std::size_t run, std::size_t row) const {
    return scales.rows == nullptr ? e8m0_one : scales.rows[run * tile_rows + row];
  }
  I column_scales(std::size_t run, std::size_t column) const {
    if (scales.columns == nullptr) return V::set(e8m0_one);
    return V::load_words(scales.columns + run * tile_columns + column);
  }
  /// The exponents of products without scales, and of c; both `floor` of what is zero.
  I top_of_products(I products, I t, I floor) const {
    const auto counts = V::greater(products, V::set(least_top - 1));
    return V::select(counts, V::add(products, t), floor);
  }
  static I top_of_c(I c, I floor) {
    const I magnitude = V::bit_and(c, V::set(~sign_bit));
    return V::select(V::equal(magnitude, V::zero()), floor, V::shift_right(magnitude, 23));
  }

  void scaled_block(std::size_t at, std::size_t n) {
    find_tops(at, n);
    const std::size_t run = at / n;
    const I floor = V::shift_right(V::set(plan.floor), 23);
    const I up = V::set(static_cast<std::uint32_t>(254 + plan.fraction_bits));
    for (std::size_t j = 0; j < vectors; ++j) {
      const std::size_t column = j * V::lanes;
      const I of_columns = column_scales(run, column);
      I s[height];
      F q[height], of_c[height];
      I highest = of_columns, lowest = floor;
      for (int i = 0; i < height; ++i) {
        const auto row = static_cast<std::size_t>(i);
        const std::uint32_t of_row = row_scale(run, row);
        highest = V::max(highest, V::set(of_row));
        const I t = V::add(of_columns, V::set(of_row - 2 * e8m0_one));
        const I products = top_of_products(V::load_narrow(tops[row].data() + column, 1), t, floor);
        const I c = top_of_c(V::load(row_of(row) + column), floor);
        const I top = V::max(V::max(products, c), floor);
        highest = V::max(highest, top);
        lowest = V::min(lowest, V::min(products, c));
        const I shift = V::sub(up, top);
        of_c[i] = V::number(V::shift_left(shift, 23));
        // of a block of zeros it may be anything that is finite
        const I of_products = V::min(V::max(V::add(shift, t), V::zero()), V::set(253));
        q[i] = V::number(V::shift_left(of_products, 23));
      }
      const I largest = sum_products(at, n, column, q, s);
      for (int i = 0; i < height; ++i) {
        const F c = V::load_floats(row_of(static_cast<std::size_t>(i)) + column);
        const I all = V::add(s[i], V::truncated(V::mul(c, of_c[i])));
        const F unit = V::number(V::sub(V::set(std::uint32_t{254} << 23), V::bits(of_c[i])));
        const I d = V::bits(V::mul(V::number(converted<false>(V::magnitude(all))), unit));
        s[i] = V::bit_and(V::bit_or(d, V::bit_and(all, V::set(sign_bit))), V::set(plan.kept_bits));
      }
      const auto is_beyond = V::either(V::greater(highest, V::set(largest_top)),
                                       V::greater(V::set(least_top), lowest));
      if (V::any(V::either(is_beyond, V::greater(largest, V::set(most))))) [[unlikely]] {
        mend_scaled(at, n, column, q, s);
      }
      for (int i = 0; i < height; ++i) V::store(row_of(static_cast<std::size_t>(i)) + column, s[i]);
    }
  }
  /// Computes by itself each element that has no room in a scaled block's words.
  [[gnu::noinline]] void mend_scaled(std::size_t at, std::size_t n, std::size_t column,
                                     const F (&q)[height], I (&d)[height]) const {
    const std::size_t run = at / n;
    for (std::size_t i = 0; i < height; ++i) {
      alignas(V::bytes) std::array<std::uint32_t, V::lanes> magnitudes, codes, results;
      V::store(magnitudes.data(), magnitude_of(i, at, n, column, q[i]));
      V::store(codes.data(), column_scales(run, column));
      V::store(results.data(), d[i]);
      const std::uint32_t of_row = row_scale(run, i);
      for (std::size_t lane = 0; lane < V::lanes; ++lane) {
        const std::size_t j = column + lane;
        const float c = row_of(i)[j];
        const bool is_nan = of_row == e8m0_nan || codes[lane] == e8m0_nan;
        const int t = static_cast<int>(of_row + codes[lane]) - 2 * static_cast<int>(e8m0_one);
        const int of_products = tops[i][j], of_c = std::bit_cast<int>(c) >> 23 & 0xFF;
        const bool fits = of_products < static_cast<int>(least_top) ||
                          (of_products + t >= static_cast<int>(least_top) &&
                           of_products + t <= static_cast<int>(largest_top));
        const bool c_fits = c == 0 || of_c >= static_cast<int>(least_top);
        if (is_nan) {
          results[lane] = infinity | 0x400000;
        } else if (of_c > static_cast<int>(largest_top)) {
          results[lane] = std::bit_cast<std::uint32_t>(c);
        } else if (!fits || !c_fits || magnitudes[lane] > most) {
          results[lane] = one_sum(i, j, at, n, plan.least_sum, t);
          if (detours != nullptr) detours->alone += n;
        }
      }
      d[i] = V::load(results.data());
    }
  }

  // wide_block: blocks with exponents of 32 bits, all biased by 2 · 127 as the sum of two biased
  // ones is. An operand stands as m · 2^(e - 1), 2 <= |m| < 4 of a normal one:
  //
  //     m_a·m_b · 2^(e_a + e_b - top + F - 2)    cut          m_c · 2^(e_c - top + F - 1)
  //     s · 2^w, w = top - F                     where w < -149, the bits below 2^-149 are cut off first

  static constexpr std::int32_t bias = binary32.bias;
  static I word(std::int32_t x) { return V::set(static_cast<std::uint32_t>(x)); }
  /// Returns 2^e, e biased by 127; 0 where e <= 0.
  static F power(I e) { return V::number(V::shift_left(V::max(e, V::zero()), 23)); }

  struct Parts {
    F m;
    I e;  ///< biased by 127; a zero's is -16384
  };
  /// Decodes floats; `least` is the biased exponent of subnormals.
  static Parts parts_of(I bits, I least) {
    const I magnitude = V::bit_and(bits, V::set(~sign_bit));
    const I e = V::max(V::shift_right(magnitude, 23), least);
    const F scale = V::number(V::shift_left(V::sub(word(2 * bias + 1), e), 23));
    const auto is_zero = V::equal(magnitude, V::zero());
    return {V::mul(V::number(bits), scale), V::select(is_zero, word(-16384), e)};
  }
  static I least_of(const Format& f) { return word(f.emin() + bias); }

  /// `block` for exponents that have no room in bytes and for tiny c's.
  [[gnu::noinline]] void wide_block(std::size_t at, std::size_t n, std::uint32_t least_c) {
    constexpr std::size_t most_products = 64;
    if (detours != nullptr) detours->wide += n * elements;
    alignas(V::bytes) std::array<float, most_products * tile_columns> b_values;
    alignas(V::bytes) std::array<std::int32_t, most_products * tile_columns> b_exponents;
    alignas(V::bytes) std::array<float, most_products * height> a_values;
    alignas(V::bytes) std::array<std::int32_t, most_products * height> a_exponents;
    const auto take_apart = [](const float* from, std::size_t count, const Format& f, float* values,
                               std::int32_t* exponents) {
      const I least = least_of(f);
      for (std::size_t i = 0; i < count; i += V::lanes) {
        const Parts parts = parts_of(V::load(from + i), least);
        V::store(values + i, V::bits(parts.m));
        V::store(exponents + i, parts.e);
      }
    };
    take_apart(columns.values + at * tile_columns, n * tile_columns,
               block_operand(g.model, g.types.b), b_values.data(), b_exponents.data());
    // A vector holds the rows of several k; the last one holds more than exist, so they are read
    // from a copy.
    std::array<float, most_products * height> rows_here{};
    std::copy_n(rows.values + at * height, n * height, rows_here.data());
    take_apart(rows_here.data(), (n * height + V::lanes - 1) / V::lanes * V::lanes,
               block_operand(g.model, g.types.a), a_values.data(), a_exponents.data());
    const I least = V::max(V::shift_right(V::set(least_c), 23), word(1));
    for (std::size_t i = 0; i < height; ++i) {
      for (std::size_t column = 0; column < tile_columns; column += V::lanes) {
        I top = word(g.model.exponent_floor + 2 * bias);
        for (std::size_t k = 0; k < n; ++k) {
          const I of_b = V::load(b_exponents.data() + k * tile_columns + column);
          top = V::max(top, V::add(of_b, word(a_exponents[k * height + i])));
        }
        float* const at_c = row_of(i) + column;
        const I before = V::load(at_c);
        const Parts of_c = parts_of(before, least);
        const I c_exponent = V::add(of_c.e, word(bias));
        top = V::max(top, c_exponent);
        const I up = V::sub(word(plan.fraction_bits - 2 + bias), top);
        I lower = V::zero(), s = V::zero();
        for (std::size_t k = 0; k < n; ++k) {
          const std::size_t b = k * tile_columns + column, a = k * height + i;
          const I e = V::add(V::add(V::load(b_exponents.data() + b), word(a_exponents[a])), up);
          const F m = V::mul(V::load_floats(b_values.data() + b), V::broadcast(&a_values[a]));
          I& sum = k < n / 2 ? lower : s;
          sum = V::add(sum, V::truncated(V::mul(m, power(e))));
        }
        const I magnitude = add_half(lower, s);
        const F c_units = V::mul(of_c.m, power(V::add(V::add(c_exponent, up), word(1))));
        const I all = V::add(s, V::truncated(c_units));
        const I w = V::sub(top, word(2 * bias + plan.fraction_bits));
        const I fallen = V::max(V::sub(word(-149), w), V::zero());
        const I left = V::shift_right_each(V::magnitude(all), fallen);
        const I e = V::add(w, fallen);
        const I first = V::max(V::min(e, word(bias)), word(1 - bias));
        const F scaled =
            V::mul(V::number(converted<false>(left)), power(V::add(first, word(bias))));
        I d = V::bits(V::mul(scaled, power(V::add(V::sub(e, first), word(bias)))));
        const I sign = V::bit_and(all, V::set(sign_bit));
        d = V::bit_and(d, V::set(plan.kept_bits));
        d = V::where(V::greater(d, V::zero()), V::bit_or(d, sign));
        if (plan.may_carry && V::any(V::greater(magnitude, V::set(most)))) [[unlikely]] {
          one_by_one(i, at, n, column, least_c, magnitude, d);
        }
        V::store(at_c, infinity_stays(before, d));
      }
    }
  }

  int product_bits() const {
    return block_operand(g.model, g.types.a).fraction_bits() +
           block_operand(g.model, g.types.b).fraction_bits();
  }
  static Factor factor(float value, std::int32_t exponent, int fraction_bits) {
    if (exponent == no_exponent) return {};
    const int e = binary64.bias + fraction_bits - exponent;
    const auto scale = std::bit_cast<double>(static_cast<std::uint64_t>(e) << 52);
    return {static_cast<std::int32_t>(value * scale), exponent};
  }
  /// Sets a and b to n operands of an element as dot_blocks.h takes them.
  void factors(std::size_t row, std::size_t column, std::size_t at, std::size_t n, Factor* a,
               Factor* b) const {
    const int of_a = block_operand(g.model, g.types.a).fraction_bits();
    const int of_b = block_operand(g.model, g.types.b).fraction_bits();
    for (std::size_t k = 0; k < n; ++k) {
      const std::size_t i = (at + k) * height + row, j = (at + k) * tile_columns + column;
      a[k] = factor(rows.values[i], static_cast<std::int8_t>(rows.exponents[i] & 0xFF), of_a);
      b[k] = factor(columns.values[j], columns.exponents[j], of_b);
    }
  }

  static constexpr std::uint32_t half_max = std::uint32_t{142} << 23 | 0x7FE000;  ///< 65504
};

}  // namespace binade::fast
