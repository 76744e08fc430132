// SPDX-License-Identifier: Apache-2.0
//
// The portable kernels for scaled models: of fused blocks whose products all have the same scales
// (dot_blocks.h), and of scaled groups (dot_groups.h), whose operands are packed doubled. They are
// a unit of their own, so that the compiler inlines as much elsewhere as it does without them.
#include <array>

#include "emulate/fast/dot_blocks.h"
#include "emulate/fast/dot_groups.h"
#include "emulate/fast/product_lines.h"
#include "emulate/fast/products.h"

namespace binade::fast {
namespace {

int group_place(const GemmModel&, int i) { return i; }

Packing groups_packing(const GemmModel& g) {
  if (!is_group_sum(g)) return {};
  return binade::detail::packed_lines<std::int16_t>(g.types.a, g.types.b);
}
bool decode_doubled(const Packing&, const Format& f, const Format&, const std::uint64_t* codes,
                    std::size_t n, std::byte* out) {
  auto* to = reinterpret_cast<std::int16_t*>(out);
  for (std::size_t i = 0; i < n; ++i) to[i] = doubled(codes[i], f);
  return true;
}
void pack_doubled(const PackedLines& lines, std::byte* group) {
  binade::detail::pack_lines(lines, group, std::int16_t{0});
}
void run_groups(const GemmModel& g, const ProductTile& x, TileSums& sums, TileMask& left) {
  const int block = g.model.block, groups = block / group_size;
  const auto share = static_cast<std::size_t>(g.model.scaling.share);
  const Format& of_scales = g.model.scaling.format;
  const std::uint32_t one = code_of_one(of_scales);
  using Numbers = const std::int16_t*;
  for_places<std::int16_t>(
      x, sums, left, [&](std::size_t i, std::size_t j, Numbers a, Numbers b, std::uint64_t& sum) {
        std::uint64_t out = sum;
        std::array<GroupTerm, most_groups> terms;
        const int n = x.instructions * g.k;
        for (int at = 0; at < n; at += block) {
          for (int k = 0; k < groups; ++k) {
            const int from = at + k * group_size;
            const std::size_t run = (x.first + static_cast<std::size_t>(from)) / share;
            const GroupScale of_a{scale_at(x.scales.rows, tile_rows, run, i, one), of_scales};
            const GroupScale of_b{scale_at(x.scales.columns, tile_columns, run, j, one), of_scales};
            if (of_a.is_nan || of_b.is_nan) return false;
            terms[static_cast<std::size_t>(k)] = group_term(a + from, b + from, of_a, of_b);
          }
          if (detail::is_special(out, g.types.d)) return false;
          out = sum_of_groups(g, terms.data(), groups, out);
        }
        sum = out;
        return true;
      });
}

}  // namespace

void run_scaled_blocks(const GemmModel& g, const ProductTile& x, TileSums& sums, TileMask& left) {
  const int block = g.model.block, bits = g.types.a.fraction_bits() + g.types.b.fraction_bits();
  const Format& d = g.types.d;
  const std::size_t first = x.first / static_cast<std::size_t>(block);
  const int blocks = x.instructions * g.k / block;
  using Factors = const Factor*;
  for_places<Factor>(
      x, sums, left, [&](std::size_t i, std::size_t j, Factors a, Factors b, std::uint64_t& sum) {
        std::uint64_t out = sum;
        for (int n = 0; n < blocks; ++n, a += block, b += block) {
          const std::size_t run = first + static_cast<std::size_t>(n);
          const std::uint32_t of_a = scale_at(x.scales.rows, tile_rows, run, i, e8m0_one);
          const std::uint32_t of_b = scale_at(x.scales.columns, tile_columns, run, j, e8m0_one);
          const bool is_nan = of_a == e8m0_nan || of_b == e8m0_nan;
          if (is_nan || detail::is_special(out, d)) return false;
          out = detail::predecoded_block(g.model, bits, a, b, block, out, d, d,
                                         static_cast<int>(of_a + of_b - 2 * e8m0_one));
        }
        sum = out;
        return true;
      });
}

const ProductKernel dot_groups{groups_packing, group_place, decode_doubled,
                               pack_doubled,   run_groups,  nullptr};

}  // namespace binade::fast
