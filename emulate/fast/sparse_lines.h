// SPDX-License-Identifier: Apache-2.0
//
// Sparse models (mma.sp and others; emulate/sparse.h) by the kernels of dense ones, equal in every
// bit: the operands of a that the metadata leave out are packed as +0. A product that is zero
// changes no sum of integers, and no fused block, except by edge rules that these kernels do not
// know.
//
//     a, 2 of each 4    x y . z   . . w .     . is zero; kept: x and y, w and the first zero
//     packed            x y 0 0   0 0 w 0     z is left out; a block of L kept products is one of 2·L
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "emulate/fast/products.h"

namespace binade::fast {

/// Returns whether the hardware has groups of this size (2 for tf32, 4 for other types).
constexpr bool is_known_group(int size) { return size == 2 || size == 4; }

/// Returns the dense model whose products are the packed ones. A model whose blocks do not begin
/// where groups do has none and comes back as it is.
constexpr DotModel dense_twin(DotModel model) {
  const int size = model.sparse_group;
  if (!is_known_group(size) || 2 * model.block % size != 0) return model;
  model.block *= 2;
  model.sparse_group = 0;
  return model;
}
constexpr GemmModel dense_twin(GemmModel g) {
  g.model = dense_twin(g.model);
  return g;
}

/// Sets the operands that the metadata leave out to zero, group by group. at(i) is a reference to
/// the i-th operand, in the order of the metadata. A value-initialized operand, all bytes 0, is +0,
/// and nothing else decodes to it.
template <class At>
void keep_half(int size, std::size_t length, const At& at) {
  const auto group = static_cast<std::size_t>(size);
  for (std::size_t first = 0; first < length; first += group) {
    int nonzero = 0;
    for (std::size_t i = first; i < first + group; ++i) {
      auto& x = at(i);
      std::remove_cvref_t<decltype(x)> zero{};
      // Zeros that are kept beside fewer nonzero operands need nothing: they are zeros already.
      if (std::memcmp(&x, &zero, sizeof zero) != 0 && ++nonzero > size / 2) x = zero;
    }
  }
}
/// Does so in all lines of a group of a sparse model's rows; at(line, i) is a reference to an
/// operand. Columns and dense models are left as they are.
template <class At>
void keep_half(const PackedLines& x, const At& at) {
  const int size = x.packing->sparse_group;
  if (x.are_columns || size == 0) return;
  for (std::size_t line = 0; line < x.count; ++line) {
    keep_half(
        size, x.length, [&](std::size_t i) -> auto& { return at(line, i); });
  }
}

}  // namespace binade::fast
