// SPDX-License-Identifier: Apache-2.0
//
// Sparse models by the kernels of dense ones: what the metadata leave out of a is +0 in its packed rows, since a product
// that is zero changes no sum of integers, and no fused block but by edge rules that these kernels do not know.
//
//     a, 2 of each 4    x y . z   . . w .     kept: x y, w and the first zero
//     packed            x y 0 0   0 0 w 0     a block of L products is one of 2·L
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "emulate/fast/products.h"

namespace binade::fast {

/// Groups of the hardware.
constexpr bool is_known_group(int size) { return size == 2 || size == 4; }

/// The model of the packed products. Blocks that do not begin where groups do have none: what was sparse stays so.
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

/// Of the placed operands at(i), which stand as the metadata count them: those that are left out become zeros. Operand{}
/// is +0, and no other code's.
template <class At>
void keep_half(int size, std::size_t length, const At& at) {
  const auto group = static_cast<std::size_t>(size);
  for (std::size_t first = 0; first < length; first += group) {
    int nonzero = 0;
    for (std::size_t i = first; i < first + group; ++i) {
      auto& x = at(i);
      std::remove_cvref_t<decltype(x)> zero{};
      // Of zeros the lowest are kept, and change nothing.
      if (std::memcmp(&x, &zero, sizeof zero) != 0 && ++nonzero > size / 2) x = zero;
    }
  }
}
/// Of the rows of a sparse model, all lines of a group: at(line, i).
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
