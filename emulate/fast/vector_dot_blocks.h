// SPDX-License-Identifier: Apache-2.0
//
// Fused blocks of dot_blocks.h by vectors of a level's unit V (avx2.h, avx512.h), lanes being columns, for operands whose
// products are numbers of binary32. What a block needs of the exponents is found in bytes, 32 columns at a time; then
// each product, scaled to units of 2^(top - F), is cut by its conversion to an integer:
//
//     a, b      ±1.ffffffffff · 2^e, exact          │ bytes: e of each, -128 of a zero
//     a·b       22 bits, exact                      │ top = max over the block of e_a + e_b, of c's, and of the floor
//     a·b·q     q = 2^(F - top)                     │ ────────────────────────────────'
//     s += the integer part;  s += that of c·q      │ c = s · 1/q, toward zero to the grid's bits;
//                                                   │ of binary16: to odd, then to nearest as `quantize` does
//
// A block of binary32 has numbers below 2^-126 on its way only where no product counts and c is below 2^-100: then c,
// cut, is its result. A sum that has no room in 32 bits, and a block whose exponents have none in bytes, are
// dot_blocks.h's.
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
#include "emulate/fast/tile_values.h"
#include "emulate/fast/vector_decode.h"
#include "emulate/fast/vector_rounding.h"

namespace binade::fast {

/// V: a unit of 32-bit lanes.
template <class V>
struct VectorDotBlocks {
  using I = typename V::I;
  using F = typename V::F;
  using Bytes = typename V::Exponents;

  template <class T>
  using Tile = std::array<std::array<T, tile_columns>, tile_rows>;

  /// `in_doubt`: each block is asked whether its products stay within bytes.
  enum class Sums : std::uint8_t { of_binary32, with_tiny_c, in_doubt, of_binary16 };

  static constexpr std::size_t vectors = tile_columns / V::lanes;
  static constexpr std::uint32_t sign_bit = 0x80000000, infinity = 0x7F800000;
  static constexpr std::uint32_t tiny_below = std::uint32_t{27} << 23;  ///< 2^-100
  /// Sums of products up to which c has room, and the conversion of all, too: 2^31 - 2^26 - 2^8.
  static constexpr std::uint32_t most = 0x7BFFFF00;

  const GemmModel& g;
  const BlockPlan& plan;
  const ProductTile& x;
  VectorRows rows;
  VectorColumns columns;
  CarrierLanes<V, float> half;
  alignas(V::bytes) Tile<float> c;      ///< the sums, as numbers
  alignas(V::bytes) Tile<float> waits;  ///< c, while it waits
  TileMask infinite{};                  ///< that were so on the way
  /// The largest magnitudes that became binary16, where it lacks some as numbers.
  alignas(V::bytes) Tile<std::uint32_t> largest{};
  /// The tops of a block without c's, biased as binary32's exponents; below 26, 2^-101's, where no product counts.
  alignas(V::bytes) Tile<std::uint8_t> tops;

  VectorDotBlocks(const GemmModel& model, const BlockPlan& of, const ProductTile& tile)
      : g(model),
        plan(of),
        x(tile),
        rows(tile),
        columns(tile),
        half(rounding_plan<float>(binary16, Attributes{})) {}

  template <int height>
  void run(TileSums& sums, TileMask& left) {
    const bool any_tiny = load<height>(sums, left);
    if (plan.is_half) {
      run_instructions<height, Sums::of_binary16>();
    } else if (plan.is_wide && !in_bytes<height>(x.first, product_count())) {
      run_instructions<height, Sums::in_doubt>();
    } else if ((any_tiny && !plan.c_last) || plan.is_wide) {
      run_instructions<height, Sums::with_tiny_c>();
    } else {
      run_instructions<height, Sums::of_binary32>();
    }
    store<height>(sums, left);
  }

 private:
  /// c's as numbers. True where one is tiny.
  template <int height>
  bool load(const TileSums& sums, TileMask& left) {
    bool any_tiny = false;
    const auto n = static_cast<std::size_t>(x.column_count);
    for (std::size_t i = 0; i < height; ++i) {
      c[i].fill(0);
      values_of_sums(sums[i].data(), n, g.types.c, c[i].data());
      for (std::size_t j = 0; j < n; ++j) {
        const std::uint32_t magnitude = std::bit_cast<std::uint32_t>(c[i][j]) & ~sign_bit;
        if (magnitude >= infinity) {
          left[i] |= std::uint32_t{1} << j;
          c[i][j] = 0;
        }
        any_tiny = any_tiny || (magnitude != 0 && magnitude < tiny_below);
      }
    }
    return any_tiny;
  }

  template <int height>
  void store(TileSums& sums, TileMask& left) const {
    const auto n = static_cast<std::size_t>(x.column_count);
    const bool to_half = g.types.d == binary16;
    const std::uint32_t too_large = to_half ? half_max + 1 : infinity;
    for (std::size_t i = 0; i < height; ++i) {
      std::array<std::uint64_t, tile_columns> results;
      sums_of_values(c[i].data(), n, g.types.d, results.data());
      for (std::size_t j = 0; j < n; ++j) {
        const std::uint32_t bit = std::uint32_t{1} << j;
        const std::uint32_t bits = std::bit_cast<std::uint32_t>(c[i][j]);
        const bool leaves = std::max(largest[i][j], bits & ~sign_bit) >= too_large;
        if (leaves || (infinite[i] & bit) != 0) left[i] |= bit;
        if ((left[i] & bit) == 0) sums[i][j] = results[j];
      }
    }
  }

  template <int height, Sums kind>
  void run_instructions() {
    const auto k = static_cast<std::size_t>(g.k);
    const auto n = static_cast<std::size_t>(x.instructions) * k;
    if (plan.is_chain()) return run_blocks<height, kind>(x.first, n);
    for (std::size_t at = x.first; at < x.first + n; at += k) {
      if (plan.c_last) {
        std::copy_n(c.begin(), height, waits.begin());
        for (std::size_t i = 0; i < height; ++i) c[i].fill(0);
      }
      run_blocks<height, kind>(at, k);
      finish<height>();
    }
  }

  template <int height, Sums kind>
  void run_blocks(std::size_t begin, std::size_t n) {
    const auto block_size = static_cast<std::size_t>(g.model.block);
    const auto k = static_cast<std::size_t>(g.k);
    const std::size_t part = g.model.recipe == Recipe::expanded ? k / 2 : k;
    std::uint32_t least_c = plan.least_c;
    for (std::size_t first = begin; first < begin + n; first += part) {
      for (std::size_t at = first; at < first + part; at += block_size) {
        block<height, kind>(at, std::min(block_size, first + part - at), least_c);
        least_c = plan.least_sum;
      }
    }
  }

  /// The end of an instruction.
  template <int height>
  void finish() {
    const bool to_half = plan.is_half || plan.ends_half;
    for (std::size_t i = 0; i < height; ++i) {
      for (std::size_t j = 0; j < tile_columns; j += V::lanes) {
        F sum = V::load_floats(c[i].data() + j);
        if (plan.c_last) sum = V::add(sum, V::load_floats(waits[i].data() + j));
        I bits = V::bits(sum);
        if (to_half) {
          const I magnitude = to_half_nearest(i, j, V::bit_and(bits, V::set(~sign_bit)));
          bits = V::bit_or(magnitude, V::bit_and(bits, V::set(sign_bit)));
        }
        V::store(c[i].data() + j, bits);
      }
    }
  }
  /// Of elements of a row, noted.
  I to_half_nearest(std::size_t row, std::size_t column, I magnitude) {
    I field;
    const I r = half.template round<Rounding::ties_to_even>(magnitude, magnitude, magnitude, field);
    std::uint32_t* const noted = largest[row].data() + column;
    V::store(noted, V::max(V::load(noted), r));
    return r;
  }

  std::size_t product_count() const {
    return static_cast<std::size_t>(x.instructions) * static_cast<std::size_t>(g.k);
  }
  /// Whether n products from k on, but for zeros, have exponents from the least on, and operands none beyond the most.
  template <int height>
  bool in_bytes(std::size_t k, std::size_t n) const {
    ExponentRange a, b;
    const auto* words = reinterpret_cast<const std::int8_t*>(rows.exponents + k * height);
    a.add(words, n * height * sizeof(std::uint32_t));
    b.add(columns.exponents + k * tile_columns, n * tile_columns);
    return std::max(a.most(), b.most()) <= BlockPlan::most_exponent &&
           a.least() + b.least() >= BlockPlan::least_exponent;
  }
  struct ExponentRange {
    typename Bytes::I high, low;

    ExponentRange() : high(Bytes::set(VectorFactor::no_exponent)), low(Bytes::set(127)) {}
    void add(const std::int8_t* from, std::size_t n) {
      std::size_t at = 0;
      for (; at + Bytes::size <= n; at += Bytes::size) add(Bytes::load(from + at));
      if (at == n) return;
      std::array<std::int8_t, Bytes::size> last;
      last.fill(VectorFactor::no_exponent);
      std::memcpy(last.data(), from + at, n - at);
      add(Bytes::load(last.data()));
    }
    void add(typename Bytes::I more) {
      high = Bytes::max(high, more);
      low = Bytes::min(low, Bytes::instead_of(more, VectorFactor::no_exponent, 127));
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

  template <int height>
  void find_tops(std::size_t at, std::size_t n) {
    const std::uint32_t* a = rows.exponents + at * height;
    const std::int8_t* b = columns.exponents + at * tile_columns;
    typename Bytes::I top[height];
    for (int i = 0; i < height; ++i) top[i] = Bytes::set(VectorFactor::no_exponent);
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

  /// One block, of n products from `at` on.
  template <int height, Sums kind>
  void block(std::size_t at, std::size_t n, std::uint32_t least_c) {
    if constexpr (kind == Sums::in_doubt) {
      if (!in_bytes<height>(at, n)) return each<height>(at, n, least_c);
    }
    find_tops<height>(at, n);
    const I floor = V::set(plan.floor);
    const I one = V::set(static_cast<std::uint32_t>(254 + plan.fraction_bits) << 23);
    for (std::size_t j = 0; j < vectors; ++j) {
      const std::size_t column = j * V::lanes;
      I s[height], of_products[height];
      F q[height];
      for (int i = 0; i < height; ++i) {
        const auto row = static_cast<std::size_t>(i);
        const I sum = V::load(c[row].data() + column);
        I of_sum = V::bit_and(sum, V::set(infinity));
        if constexpr (kind == Sums::of_binary16) {
          const I magnitude = V::bit_and(sum, V::set(~sign_bit));
          of_sum = V::where(V::greater(magnitude, V::zero()), V::max(of_sum, V::set(least_c)));
        }
        of_products[i] = V::shift_left(V::load_narrow(tops[row].data() + column, 1), 23);
        const I top = V::max(V::max(of_products[i], floor), of_sum);
        q[i] = V::number(V::sub(one, top));
        s[i] = V::zero();
      }
      add_products<height>(at, n, column, q, s);
      I beyond = V::zero();
      for (int i = 0; i < height; ++i) {
        const auto row = static_cast<std::size_t>(i);
        const F sum = V::load_floats(c[row].data() + column);
        beyond = V::max(beyond, V::magnitude(s[i]));
        const I all = V::add(s[i], V::truncated(V::mul(sum, q[i])));
        const I sign = V::bit_and(all, V::set(sign_bit));
        const F unit = V::number(V::sub(V::set(std::uint32_t{254} << 23), V::bits(q[i])));
        const I cut = converted<kind == Sums::of_binary16>(V::magnitude(all));
        I d = V::bits(V::mul(V::number(cut), unit));
        if constexpr (kind == Sums::of_binary16) {
          d = to_half_nearest(row, column, d);
          d = V::where(V::greater(d, V::zero()), V::bit_or(d, sign));
        } else {
          d = V::bit_and(V::bit_or(d, sign), V::set(plan.kept_bits));
        }
        if constexpr (kind == Sums::with_tiny_c || kind == Sums::in_doubt) {
          const I kept = V::bit_and(V::bits(sum), V::set(plan.kept_c));
          const I number = V::where(V::greater(V::add(kept, kept), V::zero()), kept);
          d = V::select(is_result(V::bits(sum), of_products[i]), number, d);
        }
        s[i] = d;
      }
      if (plan.may_carry && V::any(V::greater(beyond, V::set(most)))) [[unlikely]] {
        exact<height>(at, n, column, least_c, q, s);
      }
      for (int i = 0; i < height; ++i)
        V::store(c[static_cast<std::size_t>(i)].data() + column, s[i]);
    }
  }

  template <int height>
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

  /// An integer's magnitude as bits of binary32, toward zero, or to odd.
  template <bool odd>
  I converted(I magnitude) const {
    if (plan.is_short) return V::bits(V::to_number(magnitude));
    I out;
    if constexpr (NamesRounding<V>) {
      out = V::bits(V::to_number_toward_zero(magnitude));
    } else {
      out = V::bits(V::to_number(magnitude));
      out = V::minus_one(out, V::greater(V::truncated(V::number(out)), magnitude));
    }
    if constexpr (odd) {
      const auto is_lost = V::greater(magnitude, V::truncated(V::number(out)));
      out = V::bit_or(out, V::where(is_lost, V::set(1)));
    }
    return out;
  }

  /// Where c alone is the sum, and not cut by the floor.
  typename V::M is_result(I c_bits, I of_products) const {
    const I magnitude = V::bit_and(c_bits, V::set(~sign_bit));
    const auto is_tiny =
        V::but_not(V::greater(V::set(tiny_below), magnitude), V::equal(magnitude, V::zero()));
    const std::uint32_t least = plan.floor_is_below ? BlockPlan::least_top : 0;
    return V::both(is_tiny, V::greater(V::set(least), of_products));
  }

  /// A block, element by element.
  template <int height>
  [[gnu::noinline]] void each(std::size_t at, std::size_t n, std::uint32_t least_c) {
    for (std::size_t i = 0; i < height; ++i) {
      for (std::size_t j = 0; j < static_cast<std::size_t>(x.column_count); ++j) {
        c[i][j] = std::bit_cast<float>(one_sum<height>(i, j, at, n, least_c));
      }
    }
  }
  /// The block's elements that have no room, again, from c.
  template <int height>
  [[gnu::noinline]] void exact(std::size_t at, std::size_t n, std::size_t column,
                               std::uint32_t least_c, const F (&q)[height], I (&d)[height]) {
    I s[height];
    for (int i = 0; i < height; ++i) s[i] = V::zero();
    add_products<height>(at, n, column, q, s);
    for (int i = 0; i < height; ++i) {
      alignas(V::bytes) std::array<std::uint32_t, V::lanes> sums, results;
      V::store(sums.data(), V::magnitude(s[i]));
      V::store(results.data(), d[i]);
      for (std::size_t lane = 0; lane < V::lanes; ++lane) {
        if (sums[lane] <= most) continue;
        const auto row = static_cast<std::size_t>(i);
        results[lane] = one_sum<height>(row, column + lane, at, n, least_c);
      }
      d[i] = V::load(results.data());
    }
  }

  /// An element's sum, noted.
  template <int height>
  std::uint32_t one_sum(std::size_t row, std::size_t column, std::size_t at, std::size_t n,
                        std::uint32_t least_c) {
    // c is binary16 but in front of the first block of a c that is wider.
    const Format sum = plan.is_half ? binary16 : binary32;
    const Format before = least_c == plan.least_sum ? sum : binary32;
    std::array<Factor, 64> a, b;
    factors<height>(row, column, at, n, a.data(), b.data());
    const std::uint64_t c_bits = std::bit_cast<std::uint32_t>(c[row][column]);
    const std::uint64_t out =
        detail::predecoded_block(g.model, product_bits(), a.data(), b.data(), static_cast<int>(n),
                                 convert(c_bits, binary32, before).bits, before, sum);
    const auto bits = std::bit_cast<std::uint32_t>(value_of<float>(out, sum));
    const std::uint32_t magnitude = bits & ~sign_bit;
    if (plan.is_half) {
      largest[row][column] = std::max(largest[row][column], magnitude);
    } else if (magnitude >= infinity) {
      infinite[row] |= std::uint32_t{1} << column;
    }
    return bits;
  }

  int product_bits() const {
    return block_operand(g.model, g.types.a).fraction_bits() +
           block_operand(g.model, g.types.b).fraction_bits();
  }
  static Factor factor(float value, std::int32_t exponent, int fraction_bits) {
    if (exponent == VectorFactor::no_exponent) return {};
    const int e = binary64.bias + fraction_bits - exponent;
    const auto scale = std::bit_cast<double>(static_cast<std::uint64_t>(e) << 52);
    return {static_cast<std::int32_t>(value * scale), exponent};
  }
  /// n operands of an element as dot_blocks.h has them.
  template <int height>
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

/// The level's kernel: models that it does not know are the portable one's.
template <class V>
struct VectorDotBlocksKernel {
  static constexpr std::size_t column_bytes = sizeof(float) + sizeof(std::int8_t);

  static const ProductKernel& below() { return *own_kernels(Level::portable).dot_blocks; }
  static bool is_own(const Packing& p) { return p.column_bytes == column_bytes; }

  static Packing packing(const GemmModel& g) {
    if (!BlockPlan(g.model, g.types).known) return below().packing(g);
    Packing out{true, block_operand(g.model, g.types.a), block_operand(g.model, g.types.b)};
    out.operand_bytes = sizeof(VectorFactor);
    out.row_bytes = sizeof(float) + sizeof(std::uint32_t);
    out.column_bytes = column_bytes;
    out.column_step = tile_columns;
    out.sparse_group = g.model.sparse_group;
    return out;
  }
  static int place(const GemmModel& g, int i) { return below().place(g, i); }

  template <class Code>
  static void narrow_codes(const std::uint64_t* codes, std::size_t n, std::byte* out) {
    for (std::size_t i = 0; i < n; ++i) {
      const auto code = static_cast<Code>(codes[i]);
      std::memcpy(out + i * sizeof(Code), &code, sizeof(Code));
    }
  }
  static void narrow_codes(const std::uint64_t* codes, std::size_t n, std::size_t bytes,
                           std::byte* out) {
    if (bytes == 1) return narrow_codes<std::uint8_t>(codes, n, out);
    if (bytes == 2) return narrow_codes<std::uint16_t>(codes, n, out);
    narrow_codes<std::uint32_t>(codes, n, out);
  }
  static bool decode(const Packing& p, const Format& f, const Format& as,
                     const std::uint64_t* codes, std::size_t n, std::byte* out) {
    if (!is_own(p)) return below().decode(p, f, as, codes, n, out);
    constexpr std::size_t some = 256;
    std::array<std::byte, some * sizeof(std::uint32_t)> narrow;
    const std::size_t bytes = code_bytes(f);
    std::array<float, some> values;
    bool finite = true;
    for (std::size_t at = 0; at < n; at += some) {
      const std::size_t count = std::min(some, n - at);
      narrow_codes(codes + at, count, bytes, narrow.data());
      decode_vectors<V>(narrow.data(), values.data(), count, f);
      auto* const to = reinterpret_cast<VectorFactor*>(out) + at;
      for (std::size_t i = 0; i < count; ++i) {
        const std::uint32_t magnitude = std::bit_cast<std::uint32_t>(values[i]) & 0x7FFFFFFF;
        const std::int32_t own = static_cast<std::int32_t>(magnitude >> 23) - binary32.bias;
        const std::int32_t exponent =
            magnitude == 0 ? VectorFactor::no_exponent : std::max(own, as.emin());
        finite = finite && own <= binary32.emax();
        to[i] = {values[i], exponent};
      }
    }
    return finite;
  }

  static void pack(const PackedLine& line, std::byte* group) {
    if (!is_own(*line.packing)) return below().pack(line, group);
    pack_kept<VectorFactor>(line, group, &pack_part);
  }
  static void pack_part(const PackedLine& line, std::byte* group) {
    const auto* const from = reinterpret_cast<const VectorFactor*>(line.operands);
    auto* const values = reinterpret_cast<float*>(group);
    std::byte* const exponents = group + line.length * line.lines * sizeof(float);
    for (std::size_t i = 0; i < line.count; ++i) {
      const VectorFactor x = line.places[i] < 0 ? VectorFactor{} : from[line.places[i]];
      const std::size_t to = (line.first + i) * line.lines + line.number;
      values[to] = x.value;
      const auto byte = static_cast<std::uint8_t>(x.exponent);
      if (line.is_column) {
        exponents[to] = static_cast<std::byte>(byte);
      } else {
        reinterpret_cast<std::uint32_t*>(exponents)[to] = byte * std::uint32_t{0x01010101};
      }
    }
  }

  static void run(const GemmModel& g, const ProductTile& x, TileSums& sums, TileMask& left) {
    const BlockPlan plan(g.model, g.types);
    if (!plan.known) return below().run(g, x, sums, left);
    const GemmModel dense = dense_twin(g);
    VectorDotBlocks<V> blocks(dense, plan, x);
    switch (x.row_count) {
      case 1: return blocks.template run<1>(sums, left);
      case 2: return blocks.template run<2>(sums, left);
      case 3: return blocks.template run<3>(sums, left);
      default: return blocks.template run<4>(sums, left);
    }
  }

  static constexpr ProductKernel kernel{&packing, &place, &decode, &pack, &run};
};

}  // namespace binade::fast
