// SPDX-License-Identifier: Apache-2.0
//
// Chains of rounded operations (chains.h; scalar_chain_dot of emulate/dot.h, equal in every bit) by
// vectors of V, a lane for each column. V is the level's vector unit (avx2.h, avx512.h): a struct
// of types and functions for its vectors. Sums of binary32 and binary64 are the machine's own. A
// sum of binary16 is a sum in binary32, of a product that is exact there, rounded to odd where
// needed (vector_exact.h) and then to nearest (vector_rounding.h).
//
//     rows     a[k][row]        ── the same in every lane ─┐
//     columns  b[k][32 columns] ── a lane each ────────────┴─ s = a·b + s, row by row, k ascending
//
// A step of quads has four products.
//
//     (1 + 2^-10)·(1 - 2^-10) + 2050 to binary16: exactly 2051 - 2^-20, between 2050 and 2052, so 2050
//     rounded to binary32 first      2051             a tie, which goes to 2052: wrong
//     to odd in binary32 first       2051 - 2^-12     below the tie, which goes to 2050
#pragma once

#include <array>
#include <bit>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>

#include "emulate/fast/chains.h"
#include "emulate/fast/kernels.h"
#include "emulate/fast/products.h"
#include "emulate/fast/rounding.h"
#include "emulate/fast/tile_values.h"
#include "emulate/fast/vector_exact.h"
#include "emulate/fast/vector_packing.h"
#include "emulate/fast/vector_rounding.h"

namespace binade::fast {

/// Continues the chains of a tile's elements by n products, from x.first on. step(a[product],
/// b[product][vector], s[vector]) does Step::products of them at a time, in one row and
/// Step::vectors vectors of columns.
template <class V, std::floating_point T, class Step>
void add_chain(const ProductTile& x, std::size_t n, std::array<T, tile_columns>* s,
               const Step& step) {
  using F = typename V::F;
  constexpr std::size_t height = tile_rows, products = Step::products;
  constexpr std::size_t at_once = Step::vectors, width = at_once * V::lanes;
  const T* const b = reinterpret_cast<const T*>(x.columns) + x.first * tile_columns;
  for (std::size_t column = 0; column < tile_columns; column += width) {
    F sum[height][at_once];
    for (std::size_t i = 0; i < height; ++i) {
      for (std::size_t j = 0; j < at_once; ++j) {
        sum[i][j] = V::number(V::load(s[i].data() + column + j * V::lanes));
      }
    }
    const T* of_a = reinterpret_cast<const T*>(x.rows) + x.first * tile_rows;
    const T* of_b = b + column;
    for (std::size_t k = 0; k < n; k += products) {
      F y[products][at_once];
      for (std::size_t p = 0; p < products; ++p, of_b += tile_columns) {
        for (std::size_t j = 0; j < at_once; ++j) y[p][j] = V::number(V::load(of_b + j * V::lanes));
      }
      for (std::size_t i = 0; i < height; ++i) {
        F factors[products];
        for (std::size_t p = 0; p < products; ++p) {
          factors[p] = V::set_number(of_a[p * height + i]);
        }
        step(factors, y, sum[i]);
      }
      of_a += products * height;
    }
    for (std::size_t i = 0; i < height; ++i) {
      for (std::size_t j = 0; j < at_once; ++j) {
        V::store(s[i].data() + column + j * V::lanes, V::bits(sum[i][j]));
      }
    }
  }
}

/// A step s = s + a·b in the lanes' own numbers: fused, or a product and a sum, each rounded.
template <class V, bool fused>
struct OwnStep {
  using F = typename V::F;
  static constexpr std::size_t products = 1;
  static constexpr std::size_t vectors = 2;  ///< at once: the rows' sums hide an addition's latency

  template <std::size_t n>
  void operator()(const F (&a)[1], const F (&b)[1][n], F (&s)[n]) const {
    for (std::size_t j = 0; j < n; ++j) {
      s[j] = fused ? V::mul_add(a[0], b[0][j], s[j]) : V::add(s[j], V::mul(a[0], b[0][j]));
    }
  }
};

/// A step of four products and s: added in two pairs, or else s after a chain of the products.
template <class V, bool pairs>
struct QuadStep {
  using F = typename V::F;
  static constexpr std::size_t products = 4, vectors = 1;

  void operator()(const F (&a)[4], const F (&b)[4][1], F (&s)[1]) const {
    if constexpr (pairs) {
      const F first = V::mul_add(a[1], b[1][0], V::mul(a[0], b[0][0]));
      s[0] = V::add(V::add(s[0], first), V::mul_add(a[3], b[3][0], V::mul(a[2], b[2][0])));
    } else {
      F sum = V::number(V::zero());
      for (std::size_t i = 0; i < products; ++i) sum = V::mul_add(a[i], b[i][0], sum);
      s[0] = V::add(sum, s[0]);
    }
  }
};

/// Rounds floats to binary16, to nearest; a number beyond its range becomes an infinity.
template <class V>
struct ToHalf {
  using I = typename V::I;
  using F = typename V::F;
  using M = typename V::M;

  CarrierLanes<V, float> lanes;
  I magnitude, max, infinity;

  ToHalf()
      : lanes(rounding_plan<float>(binary16, Attributes{})),
        magnitude(V::set(RoundingPlan<float>::magnitude_bits)),
        max(V::set(rounding_plan<float>(binary16, Attributes{}).max)),
        infinity(V::set(RoundingPlan<float>::infinity)) {}

  struct Rounded {
    F number;
    M from_tie;
  };
  /// Rounds any float, NaNs included; without keeps_nan, magnitudes below 2^100. `from_tie` marks
  /// the lanes that lay in the middle between two numbers.
  template <bool keeps_nan>
  Rounded rounded(F x) const {
    const I operand = V::bit_and(V::bits(x), magnitude);
    const I a = keeps_nan ? V::min(operand, lanes.last) : operand;
    // M's ulp is binary16's ulp at a; half of it is M / 2^24.
    const I binades = V::sub_to_zero(V::bit_and(a, lanes.exponent), lanes.min_normal);
    const I m = V::add(binades, lanes.lowest_m);
    I r = V::bits(V::sub(V::add(V::number(a), V::number(m)), V::number(m)));
    const I rest = V::bit_and(V::bits(V::sub(V::number(a), V::number(r))), magnitude);
    const I half = V::sub(m, V::set(std::uint32_t{24} << 23));
    r = V::select(V::greater(r, max), keeps_nan ? V::max(infinity, operand) : infinity, r);
    return {V::number(V::bit_or(r, V::and_not(V::bits(x), magnitude))), V::equal(rest, half)};
  }
  template <bool keeps_nan = true>
  F operator()(F x) const {
    return rounded<keeps_nan>(x).number;
  }
};

/// A step in binary16, of finite operands. Products are exact in binary32; a sum of two numbers of
/// binary16 is exact there or rounds to the same number of binary16. A sum of a product is rounded
/// twice: the first time to odd, or, where that is cheaper, to nearest if the result is no tie.
template <class V, bool fused>
struct HalfStep {
  using F = typename V::F;
  static constexpr std::size_t products = 1, vectors = tile_columns / V::lanes;

  ToHalf<V> to_half;

  template <std::size_t n>
  void operator()(const F (&a)[1], const F (&b)[1][n], F (&s)[n]) const {
    if constexpr (!fused) {
      // Rounded products may be infinities of both signs, whose sum is a NaN.
      for (std::size_t j = 0; j < n; ++j) {
        s[j] = to_half(V::add(to_half(V::mul(a[0], b[0][j])), s[j]));
      }
    } else if constexpr (NamesRounding<V>) {
      for (std::size_t j = 0; j < n; ++j) s[j] = by_odd(a[0], b[0][j], s[j]);
    } else {
      F sum[n];
      typename V::M any_tie = V::equal(V::zero(), V::set(1));
      for (std::size_t j = 0; j < n; ++j) {
        const auto out = to_half.template rounded<false>(V::mul_add(a[0], b[0][j], s[j]));
        sum[j] = out.number;
        any_tie = V::either(any_tie, out.from_tie);
      }
      if (V::any(any_tie)) [[unlikely]] {
        for (std::size_t j = 0; j < n; ++j) sum[j] = by_odd(a[0], b[0][j], s[j]);
      }
      for (std::size_t j = 0; j < n; ++j) s[j] = sum[j];
    }
  }
  F by_odd(F a, F b, F s) const {
    typename V::I lost = V::zero();
    const F odd = V::number(ExactLanes<V, float>::sum(V::mul(a, b), s, lost));
    return to_half.template operator()<false>(odd);
  }
};
template <class V, bool pairs>
struct HalfQuadStep : QuadStep<V, pairs> {
  using F = typename V::F;

  ToHalf<V> to_half;

  void operator()(const F (&a)[4], const F (&b)[4][1], F (&s)[1]) const {
    QuadStep<V, pairs>::operator()(a, b, s);
    s[0] = to_half(s[0]);
  }
};

/// The level's kernel. It calls the portable one for chains that it does not know.
template <class V>
struct VectorChainsKernel {
  static const ProductKernel& below() { return *own_kernels(Level::portable).chains; }
  static bool is_own(const Packing& p) { return p.column_step == tile_columns; }

  static Packing packing(const GemmModel& g) {
    const ChainIn in = chain_in(g.model, g.types, g.k);
    const bool in_values = in != ChainIn::none && in != ChainIn::binary64;
    if (in == ChainIn::none || (in_values && !keeps_values(g))) return below().packing(g);
    const Format& f = in_values ? binary32 : binary64;
    const std::size_t bytes = in_values ? sizeof(float) : sizeof(double);
    Packing out{true, f, f, bytes, bytes, bytes, tile_rows, tile_columns};
    out.in_values = in_values;
    out.specials = in == ChainIn::half ? SpecialOperands::dropped : SpecialOperands::kept;
    return out;
  }
  static int place(const GemmModel&, int i) { return i; }
  static bool decode(const Packing& p, const Format& f, const Format& as,
                     const std::uint64_t* codes, std::size_t n, std::byte* out) {
    if (p.in_values && f.storage_bits() <= 32) {
      return decode_to_floats<V>(f, codes, n, reinterpret_cast<float*>(out));
    }
    return below().decode(p, f, as, codes, n, out);
  }
  static void pack(const PackedLines& lines, std::byte* group) {
    if (!is_own(*lines.packing)) return below().pack(lines, group);
    if (!lines.packing->in_values) {
      return pack_side_by_side<V>(lines, reinterpret_cast<double*>(group));
    }
    auto* const values = reinterpret_cast<float*>(group);
    pack_side_by_side<V>(lines, values);
    if (lines.packing->specials == SpecialOperands::dropped) {
      drop_specials<V>(values, lines.length * lines.lines);
    }
  }

  static std::size_t product_count(const GemmModel& g, int instructions) {
    return static_cast<std::size_t>(instructions) * static_cast<std::size_t>(g.k);
  }
  /// Adds n products in steps of Step<V, rule>: `fused` of OwnStep and HalfStep, `pairs` of quads.
  template <template <class, bool> class Step>
  static void add_values(bool rule, std::size_t n, const ProductTile& x, TileValues& sums) {
    if (rule) return add_chain<V>(x, n, sums.rows.data(), Step<V, true>());
    add_chain<V>(x, n, sums.rows.data(), Step<V, false>());
  }
  static void sum(const GemmModel& g, std::span<const SumStep> steps, const ProductTile& x,
                  const TileValues& c, TileValues* stack) {
    const ChainIn in = chain_in(g.model, g.types, g.k);
    const bool fused = g.model.recipe == Recipe::fma_chain;
    const bool pairs = g.model.recipe == Recipe::pairwise;
    ProductTile some = x;
    sum_steps(g, steps, x, c, stack, [&](const SumStep& step, TileValues& sums, bool) {
      some.first = x.first + step.first;
      const std::size_t n = product_count(g, step.instructions);
      if (in == ChainIn::binary32) return add_values<OwnStep>(fused, n, some, sums);
      if (in == ChainIn::quads && g.types.d == binary32) {
        return add_values<QuadStep>(pairs, n, some, sums);
      }
      if (in == ChainIn::quads) return add_values<HalfQuadStep>(pairs, n, some, sums);
      const TileValues before = sums;
      add_values<HalfStep>(fused, n, some, sums);
      nans_stay(before, sums);
    });
  }

  /// Runs chains of doubles, whose encodings are their bits. The definition, which knows the
  /// payload, computes elements that become NaNs.
  static void run(const GemmModel& g, const ProductTile& x, TileSums& sums, TileMask& left) {
    if (chain_in(g.model, g.types, g.k) != ChainIn::binary64) return below().run(g, x, sums, left);
    using U = typename V::Words;
    alignas(V::bytes) std::array<std::array<double, tile_columns>, tile_rows> s{};
    const auto rows = static_cast<std::size_t>(x.row_count);
    const auto columns = static_cast<std::size_t>(x.column_count);
    for (std::size_t i = 0; i < rows; ++i) {
      for (std::size_t j = 0; j < columns; ++j) s[i][j] = std::bit_cast<double>(sums[i][j]);
    }
    const std::size_t n = product_count(g, x.instructions);
    if (g.model.recipe == Recipe::fma_chain) {
      add_chain<U>(x, n, s.data(), OwnStep<U, true>());
    } else {
      add_chain<U>(x, n, s.data(), OwnStep<U, false>());
    }
    for (std::size_t i = 0; i < rows; ++i) {
      for (std::size_t j = 0; j < columns; ++j) {
        const std::uint32_t bit = std::uint32_t{1} << j;
        if (std::isnan(s[i][j])) left[i] |= bit;
        if ((left[i] & bit) == 0) sums[i][j] = bits_of(s[i][j]);
      }
    }
  }

  static constexpr ProductKernel kernel{&packing, &place, &decode, &pack, &run, &sum};
};

}  // namespace binade::fast
