// SPDX-License-Identifier: Apache-2.0
//
// Chains of rounded operations (chains.h) by vectors of a level's unit V (avx2.h, avx512.h), lanes being columns. Sums of
// binary32 and binary64 are the machine's own; binary16's are sums to odd in binary32 (vector_exact.h), of products
// that are exact there, rounded to nearest as `quantize` does (vector_rounding.h).
//
//     rows     a[k][row]        ── the same in every lane ─┐
//     columns  b[k][32 columns] ── a lane each ────────────┴─ s = a·b + s, row by row, k ascending
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

  /// As many vectors are on their way as the sums of a whole tile's rows hide an addition's time.
  static constexpr std::size_t at_once = 2;
  static constexpr std::size_t width = at_once * V::lanes;

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
  void run(const Format& d, TileSums& sums, TileMask& left, const Step& step) const {
    alignas(V::bytes) std::array<std::array<T, tile_columns>, height> s;
    const auto columns = static_cast<std::size_t>(x.column_count);
    for (std::size_t i = 0; i < height; ++i) {
      s[i].fill(0);
      values_of_sums(sums[i].data(), columns, d, s[i].data());
    }
    for (std::size_t column = 0; column < columns; column += width) {
      F sum[height][at_once];
      for (std::size_t i = 0; i < height; ++i) {
        for (std::size_t j = 0; j < at_once; ++j) {
          sum[i][j] = V::number(V::load(s[i].data() + column + j * V::lanes));
        }
      }
      const T *of_a = a, *of_b = b + column;
      for (std::size_t k = 0; k < n; ++k, of_a += height, of_b += tile_columns) {
        F y[at_once];
        for (std::size_t j = 0; j < at_once; ++j) y[j] = V::number(V::load(of_b + j * V::lanes));
        for (std::size_t i = 0; i < height; ++i) {
          const F factor = V::set_number(of_a[i]);
          for (std::size_t j = 0; j < at_once; ++j) sum[i][j] = step(factor, y[j], sum[i][j]);
        }
      }
      for (std::size_t i = 0; i < height; ++i) {
        for (std::size_t j = 0; j < at_once; ++j) {
          V::store(s[i].data() + column + j * V::lanes, V::bits(sum[i][j]));
        }
      }
    }
    for (std::size_t i = 0; i < height; ++i) {
      std::array<std::uint64_t, tile_columns> results;
      sums_of_values(s[i].data(), columns, d, results.data());
      for (std::size_t j = 0; j < columns; ++j) {
        const std::uint32_t bit = std::uint32_t{1} << j;
        if ((bits_of(s[i][j]) & Plan::magnitude_bits) >= Plan::infinity) left[i] |= bit;
        if ((left[i] & bit) == 0) sums[i][j] = results[j];
      }
    }
  }

  /// `step` on a tile of any height.
  template <class Step>
  void run(const Format& d, TileSums& sums, TileMask& left, const Step& step) const {
    switch (x.row_count) {
      case 1: return run<1>(d, sums, left, step);
      case 2: return run<2>(d, sums, left, step);
      case 3: return run<3>(d, sums, left, step);
      default: return run<4>(d, sums, left, step);
    }
  }
};

/// s + a·b in the lanes' own numbers.
template <class V, bool fused>
struct OwnStep {
  using F = typename V::F;

  F operator()(F a, F b, F s) const {
    if constexpr (fused) return V::mul_add(a, b, s);
    return V::add(s, V::mul(a, b));
  }
};

/// In binary16, to nearest; what leaves its range is an infinity.
template <class V, bool fused>
struct HalfStep {
  using I = typename V::I;
  using F = typename V::F;

  CarrierLanes<V, float> lanes;
  I magnitude, max, infinity;

  HalfStep()
      : lanes(rounding_plan<float>(binary16, Attributes{})),
        magnitude(V::set(RoundingPlan<float>::magnitude_bits)),
        max(V::set(rounding_plan<float>(binary16, Attributes{}).max)),
        infinity(V::set(RoundingPlan<float>::infinity)) {}

  F rounded(I x) const {
    const I a = V::bit_and(x, magnitude);
    I field;
    I r = lanes.template round<Rounding::ties_to_even>(a, a, a, field);
    r = V::select(V::greater(r, max), infinity, r);
    return V::number(V::bit_or(r, V::and_not(x, magnitude)));
  }
  F operator()(F a, F b, F s) const {
    F product = V::mul(a, b);
    if constexpr (!fused) product = rounded(V::bits(product));
    I lost = V::zero();
    return rounded(ExactLanes<V, float>::sum(product, s, lost));
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
    switch (chain_in(g.model, g.types)) {
      case ChainIn::none: return below().packing(g);
      case ChainIn::binary64: return packed(binary64, sizeof(double));
      case ChainIn::binary32:
      case ChainIn::half: return packed(binary32, sizeof(float));
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

  template <template <class, bool> class Step, class U, class T>
  static void run_steps(const GemmModel& g, const ProductTile& x, TileSums& sums, TileMask& left) {
    const VectorChains<U, T> lines(g, x);
    if (g.model.recipe == Recipe::fma_chain) {
      lines.run(g.types.d, sums, left, Step<U, true>());
    } else {
      lines.run(g.types.d, sums, left, Step<U, false>());
    }
  }
  static void run(const GemmModel& g, const ProductTile& x, TileSums& sums, TileMask& left) {
    switch (chain_in(g.model, g.types)) {
      case ChainIn::none: return below().run(g, x, sums, left);
      case ChainIn::half: return run_steps<HalfStep, V, float>(g, x, sums, left);
      case ChainIn::binary32: return run_steps<OwnStep, V, float>(g, x, sums, left);
      case ChainIn::binary64:
        return run_steps<OwnStep, typename V::Words, double>(g, x, sums, left);
    }
  }

  static constexpr ProductKernel kernel{&packing, &place, &decode, &pack, &run};
};

}  // namespace binade::fast
