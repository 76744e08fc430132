// SPDX-License-Identifier: Apache-2.0
//
// Sparse models by the kernels of dense ones: what the metadata leave out of a is +0 in its packed rows, since a product
// that is zero changes no sum of integers, and no fused block but by edge rules that these kernels do not know.
//
//     a, 2 of each 4    x y . z   . . w .     kept: x y, w and the first zero
//     packed            x y 0 0   0 0 w 0     a block of L products is one of 2·L
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "emulate/fast/products.h"
#include "emulate/sparse.h"

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

/// Packs a line, part by part where it is a row of a sparse model. Operand{} is +0, and no other code's.
template <class Operand, class Pack>
void pack_kept(const PackedLine& line, std::byte* group, const Pack& pack) {
  const int size = line.packing->sparse_group;
  if (line.is_column || size == 0) return pack(line, group);
  const auto* const from = reinterpret_cast<const Operand*>(line.operands);
  constexpr Operand zero{};
  std::array<std::int32_t, 256> places;
  PackedLine part = line;
  part.places = places.data();
  for (part.first = 0; part.first < line.length; part.first += part.count) {
    part.count = std::min(places.size(), line.length - part.first);
    places.fill(-1);
    for (std::size_t at = 0; at < part.count; at += static_cast<std::size_t>(size)) {
      const std::int32_t* all = line.places + part.first + at;
      std::array<bool, 4> is_nonzero{};
      for (int i = 0; i < size; ++i) {
        is_nonzero[static_cast<std::size_t>(i)] =
            all[i] >= 0 && std::memcmp(from + all[i], &zero, sizeof zero) != 0;
      }
      for (int which = 0; which < size / 2; ++which) {
        const int kept = kept_position(is_nonzero.data(), size, which);
        places[at + static_cast<std::size_t>(kept)] = all[kept];
      }
    }
    pack(part, group);
  }
}

}  // namespace binade::fast
