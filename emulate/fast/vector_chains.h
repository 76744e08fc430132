// SPDX-License-Identifier: Apache-2.0
//
// Chains of rounded operations (chains.h) by vectors of a level's unit V (avx2.h, avx512.h), lanes being columns. Sums of
// binary32 and binary64 are the machine's own; binary16's are sums to odd in binary32 (vector_exact.h), of products
// that are exact there, rounded to nearest as `quantize` does (vector_rounding.h).
//
//     rows     a[k][row]        ── the same in every lane ─┐
//     columns  b[k][32 columns] ── a lane each ────────────┴─ s = a·b + s, row by row, k ascending
//
// Of quads a step has four products.
#pragma once

#include <array>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>

#include "emulate/fast/chains.h"
#include "emulate/fast/kernels.h"
#include "emulate/fast/products.h"
#include "emulate/fast/rounding.h"
#include "emulate/fast/tile_values.h"
#include "emulate/fast/vector_exact.h"
#include "emulate/fast/vector_rounding.h"

namespace binade::fast {

template <class V, std::floating_point T>
struct VectorChains {
  using I = typename V::I;
  using F = typename V::F;
  using Plan = RoundingPlan<T>;
  using Bits = typename Plan::Bits;

  const ProductTile& x;
  std::size_t n;
  const T *a, *b;

  VectorChains(const GemmModel& g, const ProductTile& tile)
      : x(tile),
        n(static_cast<std::size_t>(tile.instructions) * static_cast<std::size_t>(g.k)),
        a(reinterpret_cast<const T*>(tile.rows) +
          tile.first * static_cast<std::size_t>(tile.row_count)),
        b(reinterpret_cast<const T*>(tile.columns) + tile.first * tile_columns) {}

  template <int height, class Step>
  void run(const DotTypes& types, TileSums& sums, TileMask& left, const Step& step) const {
    constexpr std::size_t products = Step::products, at_once = Step::at_once;
    constexpr std::size_t width = at_once * V::lanes;
    alignas(V::bytes) std::array<std::array<T, tile_columns>, height> s;
    const auto columns = static_cast<std::size_t>(x.column_count);
    for (std::size_t i = 0; i < height; ++i) {
      s[i].fill(0);
      values_of_sums(sums[i].data(), columns, types.c, s[i].data());
    }
    for (std::size_t column = 0; column < columns; column += width) {
      F sum[height][at_once];
      for (std::size_t i = 0; i < height; ++i) {
        for (std::size_t j = 0; j < at_once; ++j) {
          sum[i][j] = V::number(V::load(s[i].data() + column + j * V::lanes));
        }
      }
      const T *of_a = a, *of_b = b + column;
      for (std::size_t k = 0; k < n; k += products) {
        F y[at_once][products];
        for (std::size_t p = 0; p < products; ++p, of_b += tile_columns) {
          for (std::size_t j = 0; j < at_once; ++j) {
            y[j][p] = V::number(V::load(of_b + j * V::lanes));
          }
        }
        for (std::size_t i = 0; i < height; ++i) {
          F factors[products];
          for (std::size_t p = 0; p < products; ++p) {
            factors[p] = V::set_number(of_a[p * height + i]);
          }
          for (std::size_t j = 0; j < at_once; ++j) sum[i][j] = step(factors, y[j], sum[i][j]);
        }
        of_a += products * height;
      }
      for (std::size_t i = 0; i < height; ++i) {
        for (std::size_t j = 0; j < at_once; ++j) {
          V::store(s[i].data() + column + j * V::lanes, V::bits(sum[i][j]));
        }
      }
    }
    for (std::size_t i = 0; i < height; ++i) {
      std::array<std::uint64_t, tile_columns> results;
      sums_of_values(s[i].data(), columns, types.d, results.data());
      for (std::size_t j = 0; j < columns; ++j) {
        const std::uint32_t bit = std::uint32_t{1} << j;
        if ((bits_of(s[i][j]) & Plan::magnitude_bits) >= Plan::infinity) left[i] |= bit;
        if ((left[i] & bit) == 0) sums[i][j] = results[j];
      }
    }
  }

  /// `step` on a tile of any height.
  template <class Step>
  void run(const DotTypes& types, TileSums& sums, TileMask& left, const Step& step) const {
    switch (x.row_count) {
      case 1: return run<1>(types, sums, left, step);
      case 2: return run<2>(types, sums, left, step);
      case 3: return run<3>(types, sums, left, step);
      default: return run<4>(types, sums, left, step);
    }
  }
};

/// A step of one product; as many vectors are on their way as the sums of a whole tile's rows hide an addition's time.
struct OneProduct {
  static constexpr std::size_t products = 1, at_once = 2;
};

/// s + a·b in the lanes' own numbers.
template <class V, bool fused>
struct OwnStep : OneProduct {
  using F = typename V::F;

  F operator()(const F* a, const F* b, F s) const {
    if constexpr (fused) return V::mul_add(*a, *b, s);
    return V::add(s, V::mul(*a, *b));
  }
};

/// To binary16, to nearest; what leaves its range is an infinity.
template <class V>
struct ToHalf {
  using I = typename V::I;
  using F = typename V::F;

  CarrierLanes<V, float> lanes;
  I magnitude, max, infinity;

  ToHalf()
      : lanes(rounding_plan<float>(binary16, Attributes{})),
        magnitude(V::set(RoundingPlan<float>::magnitude_bits)),
        max(V::set(rounding_plan<float>(binary16, Attributes{}).max)),
        infinity(V::set(RoundingPlan<float>::infinity)) {}

  F operator()(F number) const {
    const I x = V::bits(number), a = V::bit_and(x, magnitude);
    I field;
    I r = lanes.template round<Rounding::ties_to_even>(a, a, a, field);
    r = V::select(V::greater(r, max), infinity, r);
    return V::number(V::bit_or(r, V::and_not(x, magnitude)));
  }
};

/// In binary16.
template <class V, bool fused>
struct HalfStep : OneProduct {
  using F = typename V::F;

  ToHalf<V> rounded;

  F operator()(const F* a, const F* b, F s) const {
    F product = V::mul(*a, *b);
    if constexpr (!fused) product = rounded(product);
    typename V::I lost = V::zero();
    return rounded(V::number(ExactLanes<V, float>::sum(product, s, lost)));
  }
};

/// Four products and s; not in pairs: s after a chain of them.
template <class V, bool pairs>
struct QuadStep {
  using F = typename V::F;

  static constexpr std::size_t products = 4, at_once = 1;

  F operator()(const F* a, const F* b, F s) const {
    if constexpr (pairs) {
      const F first = V::mul_add(a[1], b[1], V::mul(a[0], b[0]));
      return V::add(V::add(s, first), V::mul_add(a[3], b[3], V::mul(a[2], b[2])));
    } else {
      F sum = V::number(V::zero());
      for (std::size_t i = 0; i < products; ++i) sum = V::mul_add(a[i], b[i], sum);
      return V::add(sum, s);
    }
  }
};
template <class V, bool pairs>
struct HalfQuadStep : QuadStep<V, pairs> {
  using F = typename V::F;

  ToHalf<V> rounded;

  F operator()(const F* a, const F* b, F s) const {
    return rounded(QuadStep<V, pairs>::operator()(a, b, s));
  }
};

/// The level's kernel: chains that it does not know are the portable one's.
template <class V>
struct VectorChainsKernel {
  static const ProductKernel& below() { return *own_kernels(Level::portable).chains; }
  static bool is_own(const Packing& p) { return p.column_step == tile_columns; }

  static Packing packing(const GemmModel& g) {
    const auto packed = [](const Format& f, std::size_t bytes) {
      return Packing{true, f, f, bytes, bytes, bytes, 1, tile_columns};
    };
    switch (chain_in(g.model, g.types, g.k)) {
      case ChainIn::none: return below().packing(g);
      case ChainIn::binary64: return packed(binary64, sizeof(double));
      case ChainIn::binary32:
      case ChainIn::half:
      case ChainIn::quads: return packed(binary32, sizeof(float));
    }
    return {};
  }
  static int place(const GemmModel&, int i) { return i; }
  static bool decode(const Packing& p, const Format& f, const Format& as,
                     const std::uint64_t* codes, std::size_t n, std::byte* out) {
    return below().decode(p, f, as, codes, n, out);
  }
  template <class T>
  static void pack_line(const PackedLine& line, std::byte* group) {
    const auto* const from = reinterpret_cast<const T*>(line.operands);
    auto* const to = reinterpret_cast<T*>(group) + line.number;
    for (std::size_t i = 0; i < line.length; ++i) {
      to[i * line.lines] = line.places[i] < 0 ? T{0} : from[line.places[i]];
    }
  }
  static void pack(const PackedLine& line, std::byte* group) {
    if (!is_own(*line.packing)) return below().pack(line, group);
    if (line.format() == binary32) return pack_line<float>(line, group);
    pack_line<double>(line, group);
  }

  /// Steps whose rule is `fused`, or `pairs`, or is not.
  template <template <class, bool> class Step, class U, class T>
  static void run_steps(bool rule, const GemmModel& g, const ProductTile& x, TileSums& sums,
                        TileMask& left) {
    const VectorChains<U, T> lines(g, x);
    if (rule) {
      lines.run(g.types, sums, left, Step<U, true>());
    } else {
      lines.run(g.types, sums, left, Step<U, false>());
    }
  }
  static void run(const GemmModel& g, const ProductTile& x, TileSums& sums, TileMask& left) {
    const bool fused = g.model.recipe == Recipe::fma_chain;
    const bool pairs = g.model.recipe == Recipe::pairwise;
    switch (chain_in(g.model, g.types, g.k)) {
      case ChainIn::none: return below().run(g, x, sums, left);
      case ChainIn::half: return run_steps<HalfStep, V, float>(fused, g, x, sums, left);
      case ChainIn::binary32: return run_steps<OwnStep, V, float>(fused, g, x, sums, left);
      case ChainIn::binary64:
        return run_steps<OwnStep, typename V::Words, double>(fused, g, x, sums, left);
      case ChainIn::quads:
        if (g.types.d == binary32) return run_steps<QuadStep, V, float>(pairs, g, x, sums, left);
        return run_steps<HalfQuadStep, V, float>(pairs, g, x, sums, left);
    }
  }

  static constexpr ProductKernel kernel{&packing, &place, &decode, &pack, &run};
};

}  // namespace binade::fast
