// SPDX-License-Identifier: Apache-2.0
//
// Computes the sizes of a layer's products, and rounds them up to what an instruction needs.
#include "lib/train/shapes.h"

namespace binade {
namespace {

std::uint64_t rounded_up(std::uint64_t size, int multiple) {
  const auto unit = static_cast<std::uint64_t>(multiple);
  return (size + unit - 1) / unit * unit;
}

SizeAdvice advice_of(std::uint64_t size, int alignment, int extent) {
  return {size, rounded_up(size, alignment), rounded_up(size, extent)};
}

/// Families of instructions, the newest first. wmma is left out because it is another interface to
/// mma, the sparse families because they need pruned weights.
constexpr std::array<Family, 3> by_age{Family::tcgen05, Family::wgmma, Family::mma};

}  // namespace

std::array<Extents, 3> products_of(const LinearSizes& x) {
  return {{{x.tokens, x.out, x.in}, {x.tokens, x.in, x.out}, {x.in, x.out, x.tokens}}};
}

std::array<Extents, 3> products_of(const ConvSizes& x) {
  const std::uint64_t kernel = x.rows * x.columns;
  const std::uint64_t places = x.batch * x.out_height() * x.out_width();
  return {{{places, x.filters, x.channels * kernel},
           {x.batch * x.height * x.width, x.channels, x.filters * kernel},
           {x.channels * kernel, x.filters, places}}};
}

std::optional<InstructionShape> instruction_for(int sm, const Format& format) {
  const Architecture* on = find_architecture(sm);
  if (on == nullptr) return std::nullopt;
  for (const Family family : by_age) {
    std::optional<InstructionShape> widest;
    for (const ShapeRow& row : shape_rows) {
      if (row.family != family || !has(*on, row) || !contains(row.operands, format)) continue;
      if (row.kind != ScaledKind::none) continue;  // operands have no scales of blocks
      if (widest && widest->k >= row.k) continue;
      constexpr int smallest_tcgen05_m = 64;  // 0 in the table means that m may be 64, 128 or 256
      widest = {family, row.m == 0 ? smallest_tcgen05_m : row.m, row.n_first, row.k};
    }
    if (widest) return widest;
  }
  return std::nullopt;
}

ShapeAdvice advise(const Extents& product, const Format& format,
                   const InstructionShape& instruction) {
  const int alignment = aligned_elements(format);
  ShapeAdvice out{advice_of(product.m, alignment, instruction.m),
                  advice_of(product.n, alignment, instruction.n),
                  advice_of(product.k, alignment, instruction.k), 0};
  double used = 1;
  for (const SizeAdvice* size : {&out.m, &out.n, &out.k}) {
    used *= static_cast<double>(size->size) / static_cast<double>(size->padded);
  }
  out.waste = 1 - used;
  return out;
}

}  // namespace binade
