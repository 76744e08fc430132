// SPDX-License-Identifier: Apache-2.0
//
// The kernels for sums of products that run on every machine: the definition, and the portable ones
// for fused blocks, chains and integers. Packed lines of operands lie one after the
// other, and elements are computed one at a time.
#include "emulate/fast/products.h"

#include <algorithm>

#include "emulate/carrier.h"
#include "emulate/fast/chains.h"
#include "emulate/fast/dot_blocks.h"
#include "emulate/fast/integers.h"
#include "emulate/fast/product_lines.h"
#include "emulate/fast/sparse_lines.h"

namespace binade {
namespace {

using fast::for_elements;
using fast::ProductLines;

int own_place(const GemmModel&, int i) { return i; }

// The definition: `dot` of emulate/dot.h on codes.

Packing dots_packing(const GemmModel& g) {
  return detail::packed_lines<std::uint64_t>(g.types.a, g.types.b);
}
bool copy_codes(const Packing&, const Format&, const Format&, const std::uint64_t* codes,
                std::size_t n, std::byte* out) {
  std::copy_n(codes, n, reinterpret_cast<std::uint64_t*>(out));
  return true;
}
void pack_codes(const PackedLines& lines, std::byte* group) {
  detail::pack_lines(lines, group, zero_bits(lines.format(), false));
}
void run_scaled_dots(const GemmModel& g, const ProductTile& x, TileSums& sums, TileMask& left) {
  const ProductLines<std::uint64_t> lines{x};
  const int run = scale_run(g), in_instruction = g.k / run;
  const std::size_t first = x.first / static_cast<std::size_t>(run);
  const auto scales_of = [&](const std::uint32_t* scales, std::size_t width, int line, int number,
                             std::uint8_t* out) {
    for (int i = 0; i < in_instruction; ++i) {
      const std::size_t at = first + static_cast<std::size_t>(number * in_instruction + i);
      out[i] = static_cast<std::uint8_t>(scales[at * width + static_cast<std::size_t>(line)]);
    }
    return out;
  };
  std::array<std::uint8_t, 16> of_a, of_b;
  for (int row = 0; row < x.row_count; ++row) {
    for (int j = 0; j < x.column_count; ++j) {
      const auto at = static_cast<std::size_t>(row);
      if ((left[at] >> j & 1) != 0) continue;
      std::uint64_t& sum = sums[at][static_cast<std::size_t>(j)];
      for (int i = 0; i < x.instructions; ++i) {
        DotScales scales;
        if (x.scales.rows != nullptr) {
          scales.a = scales_of(x.scales.rows, tile_rows, row, i, of_a.data());
        }
        if (x.scales.columns != nullptr) {
          scales.b = scales_of(x.scales.columns, tile_columns, j, i, of_b.data());
        }
        sum = dot(g.model, g.types, lines.row(row) + i * g.k, lines.column(j) + i * g.k, g.k, sum,
                  NoTrace{}, scales);
      }
    }
  }
}
void run_dots(const GemmModel& g, const ProductTile& x, TileSums& sums, TileMask& left) {
  if (is_scaled(g.model)) return run_scaled_dots(g, x, sums, left);
  using Codes = const std::uint64_t*;
  for_elements<std::uint64_t>(x, sums, left, [&](Codes a, Codes b, std::uint64_t& sum) {
    for (int i = 0; i < x.instructions; ++i) {
      sum = dot(g.model, g.types, a + i * g.k, b + i * g.k, g.k, sum);
    }
    return true;
  });
}

// Fused blocks (dot_blocks.h), of operands decoded into Factors.

Packing blocks_packing(const GemmModel& g) {
  const DotModel unscaled = fast::has_block_scales(g.model, g.types, g.k)
                                ? fast::without_scales(g.model)
                                : fast::dense_twin(g.model);
  if (!fast::is_predecodable(unscaled, g.types)) return {};
  // The metadata depend on which codes are zero, so a conversion must not make zeros.
  const bool converts = !fits_in(g.types.a, fast::block_operand(g.model, g.types.a));
  if (g.model.sparse_group != 0 && converts) return {};
  Packing out = detail::packed_lines<fast::Factor>(fast::block_operand(g.model, g.types.a),
                                                   fast::block_operand(g.model, g.types.b));
  out.sparse_group = g.model.sparse_group;
  return out;
}
int block_place(const GemmModel& g, int i) {
  const bool is_sparse = g.model.sparse_group != 0;
  return g.model.recipe == Recipe::expanded ? expanded_index(i, g.k, is_sparse) : i;
}
bool decode_factors(const Packing&, const Format& f, const Format& as, const std::uint64_t* codes,
                    std::size_t n, std::byte* out) {
  auto* to = reinterpret_cast<fast::Factor*>(out);
  bool finite = true;
  for (std::size_t i = 0; i < n; ++i) {
    finite = fast::predecode_one(f, as, codes[i], to[i]) && finite;
  }
  return finite;
}
void pack_factors(const PackedLines& lines, std::byte* group) {
  detail::pack_lines(lines, group, fast::Factor{});
  auto* const factors = reinterpret_cast<fast::Factor*>(group);
  fast::keep_half(lines, [&](std::size_t line, std::size_t i) -> fast::Factor& {
    return factors[line * lines.length + i];
  });
}
void run_blocks(const GemmModel& g, const ProductTile& x, TileSums& sums, TileMask& left) {
  const DotModel model = fast::dense_twin(g.model);
  const bool is_one = is_one_dot(model, g.types, g.k);
  const int runs = is_one ? 1 : x.instructions;
  const int k = is_one ? x.instructions * g.k : g.k;
  using Factors = const fast::Factor*;
  if (is_scaled(model)) return fast::run_scaled_blocks(g, x, sums, left);
  for_elements<fast::Factor>(x, sums, left, [&](Factors a, Factors b, std::uint64_t& sum) {
    for (int i = 0; i < runs; ++i) {
      if (!fast::dot_predecoded(model, g.types, a + i * k, b + i * k, k, sum, sum)) return false;
    }
    return true;
  });
}

// Chains and quads (chains.h), of floats and doubles.

Packing chains_packing(const GemmModel& g) {
  if (fast::is_chain_in(g.model, g.types, binary32) || fast::is_quads(g.model, g.types, g.k)) {
    return detail::packed_lines<float>(binary32, binary32);
  }
  if (fast::is_chain_in(g.model, g.types, binary64)) {
    return detail::packed_lines<double>(binary64, binary64);
  }
  return {};
}
template <class Real>
bool decode_reals(const Format& f, const std::uint64_t* codes, std::size_t n, Real* out) {
  const bool same = f == Carrier<Real>::format;
  bool finite = true;
  for (std::size_t i = 0; i < n; ++i) {
    out[i] = same ? std::bit_cast<Real>(static_cast<typename Carrier<Real>::Bits>(codes[i]))
                  : value_of<Real>(codes[i], f);
    finite = std::isfinite(out[i]) && finite;
  }
  return finite;
}
bool decode_chain(const Packing&, const Format& f, const Format& as, const std::uint64_t* codes,
                  std::size_t n, std::byte* out) {
  if (as == binary32) return decode_reals(f, codes, n, reinterpret_cast<float*>(out));
  return decode_reals(f, codes, n, reinterpret_cast<double*>(out));
}
void pack_chain(const PackedLines& lines, std::byte* group) {
  if (lines.format() == binary32) return detail::pack_lines(lines, group, 0.0F);
  detail::pack_lines(lines, group, 0.0);
}

/// The number of chains that run side by side.
constexpr int chains_at_once = 4;

template <class Real>
void run_host_chains(const GemmModel& g, const ProductTile& x, TileSums& sums, TileMask& left) {
  const ProductLines<Real> lines{x};
  const int n = x.instructions * g.k;
  const bool fused = g.model.recipe == Recipe::fma_chain;
  const auto some = [&]<int width>(std::size_t row, int first) {
    std::array<const Real*, width> b{};
    std::array<Real, width> s{};
    for (int at = 0; at < width; ++at) {
      const auto i = static_cast<std::size_t>(at);
      b[i] = lines.column(first + at);
      s[i] = std::bit_cast<Real>(static_cast<typename Carrier<Real>::Bits>(
          sums[row][static_cast<std::size_t>(first) + i]));
    }
    fast::chain_sums<width>(fused, lines.row(static_cast<int>(row)), b, n, s);
    for (int at = 0; at < width; ++at) {
      const auto i = static_cast<std::size_t>(at);
      const std::uint32_t bit = std::uint32_t{1} << (first + at);
      if ((left[row] & bit) != 0) continue;
      sums[row][static_cast<std::size_t>(first) + i] = bits_of(s[i]);
      if (!std::isfinite(s[i])) left[row] |= bit;
    }
  };
  for (std::size_t row = 0; row < static_cast<std::size_t>(x.row_count); ++row) {
    int j = 0;
    for (; j + chains_at_once <= x.column_count; j += chains_at_once) {
      some.template operator()<chains_at_once>(row, j);
    }
    for (; j < x.column_count; ++j) some.template operator()<1>(row, j);
  }
}
void run_narrow_chains(const GemmModel& g, const ProductTile& x, TileSums& sums, TileMask& left) {
  const Format& d = g.types.d;
  const int n = x.instructions * g.k;
  const bool fused = g.model.recipe == Recipe::fma_chain;
  using Reals = const double*;
  for_elements<double>(x, sums, left, [&](Reals a, Reals b, std::uint64_t& sum) {
    auto out = value_of<double>(sum, d);
    if (!std::isfinite(out) || !fast::narrow_chain(fused, d, a, b, n, out)) return false;
    sum = convert(bits_of(out), binary64, d).bits;
    return true;
  });
}
void run_quads(const GemmModel& g, const ProductTile& x, TileSums& sums, TileMask& left) {
  const Format &c = g.types.c, &d = g.types.d;
  const int n = x.instructions * g.k;
  const bool pairs = g.model.recipe == Recipe::pairwise;
  const double largest = fast::largest_of(d);
  using Reals = const float*;
  for_elements<float>(x, sums, left, [&](Reals a, Reals b, std::uint64_t& sum) {
    auto s = value_of<float>(sum, c);
    for (int i = 0; i < n; i += 4) {
      s = fast::quad_sum(pairs, a + i, b + i, s);
      if (d != binary32) s = static_cast<float>(fast::on_grid(s, d));
      if (!(std::fabs(s) <= largest)) return false;
    }
    sum = convert(bits_of(s), binary32, d).bits;
    return true;
  });
}
void run_chains(const GemmModel& g, const ProductTile& x, TileSums& sums, TileMask& left) {
  if (fast::is_quads(g.model, g.types, g.k)) return run_quads(g, x, sums, left);
  if (g.types.d == binary32) return run_host_chains<float>(g, x, sums, left);
  if (g.types.d == binary64) return run_host_chains<double>(g, x, sums, left);
  run_narrow_chains(g, x, sums, left);
}

// Integers (integers.h), of words.

Packing integers_packing(const GemmModel& g) { return fast::integer_packing(g, 1); }
bool decode_integers(const Packing&, const Format& f, const Format&, const std::uint64_t* codes,
                     std::size_t n, std::byte* out) {
  auto* to = reinterpret_cast<std::int16_t*>(out);
  for (std::size_t i = 0; i < n; ++i) to[i] = static_cast<std::int16_t>(integer_of(codes[i], f));
  return true;
}
void pack_integer_lines(const PackedLines& lines, std::byte* group) {
  fast::pack_integers(lines, group, false);
}
std::int32_t sum_of_products(const std::int16_t* a, const std::int16_t* b, std::size_t n) {
  std::int32_t sum = 0;
  for (std::size_t i = 0; i < n; ++i) sum += a[i] * b[i];
  return sum;
}
/// Returns the number of ones in x: counted in pairs of bits, in fours, in bytes, and in all.
std::uint32_t count_ones(std::uint32_t x) {
  x -= x >> 1 & 0x55555555;
  x = (x & 0x33333333) + (x >> 2 & 0x33333333);
  x = (x + (x >> 4)) & 0x0F0F0F0F;
  return x * 0x01010101 >> 24;
}
std::int32_t sum_of_bits(bool exclusive_or, const std::uint32_t* a, const std::uint32_t* b,
                         std::size_t n) {
  std::uint32_t sum = 0;
  for (std::size_t i = 0; i < n; ++i) sum += count_ones(exclusive_or ? a[i] ^ b[i] : a[i] & b[i]);
  return static_cast<std::int32_t>(sum);
}
/// Adds products(a, b, n) to the sum of each element, instruction by instruction; n is in Operands,
/// each of which holds `in_operand` operands of the model.
template <class Operand, class Products>
void run_integer_lines(const GemmModel& g, ProductTile x, std::size_t in_operand, TileSums& sums,
                       TileMask& left, const Products& products) {
  const std::size_t n = static_cast<std::size_t>(g.k) / in_operand;
  x.length /= in_operand;
  x.first /= in_operand;
  for_elements<Operand>(x, sums, left, [&](const Operand* a, const Operand* b, std::uint64_t& sum) {
    for (int i = 0; i < x.instructions; ++i, a += n, b += n) {
      const auto c = static_cast<std::uint32_t>(sum);
      sum = fast::integer_sum(g.model.integer, c, products(a, b, n));
    }
    return true;
  });
}
void run_integers(const GemmModel& g, const ProductTile& x, TileSums& sums, TileMask& left) {
  if (fast::bits_in_word(g.types.a) != 1) {
    return run_integer_lines<std::int16_t>(g, x, 1, sums, left, sum_of_products);
  }
  using Words = const std::uint32_t*;
  run_integer_lines<std::uint32_t>(g, x, 32, sums, left, [&](Words a, Words b, std::size_t n) {
    return sum_of_bits(g.model.integer.exclusive_or, a, b, n);
  });
}

}  // namespace

const ProductKernel defined_dots{dots_packing, own_place, copy_codes,
                                 pack_codes,   run_dots,  nullptr};

namespace fast {

const ProductKernel dot_blocks{blocks_packing, block_place, decode_factors,
                               pack_factors,   run_blocks,  nullptr};
const ProductKernel chains{chains_packing, own_place,  decode_chain,
                           pack_chain,     run_chains, nullptr};
const ProductKernel integers{integers_packing,   own_place,    decode_integers,
                             pack_integer_lines, run_integers, nullptr};

}  // namespace fast
}  // namespace binade
