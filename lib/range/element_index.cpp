// SPDX-License-Identifier: Apache-2.0
//
// Takes a place in storage apart into the indices of the sides, the first of which runs fastest,
// and joins them again.
#include "lib/range/element_index.h"

#include <algorithm>
#include <vector>

namespace binade {

ElementIndex fortran_index(std::span<const std::uint64_t> shape) {
  if (std::ranges::count_if(shape, [](std::uint64_t side) { return side > 1; }) < 2) return {};
  struct Side {
    std::uint64_t length, stride;  ///< the stride is that of C order, in elements
  };
  std::vector<Side> sides(shape.size());
  std::uint64_t stride = 1;
  for (std::size_t i = shape.size(); i-- > 0; stride *= shape[i]) sides[i] = {shape[i], stride};
  return [sides](std::uint64_t place) {
    std::uint64_t index = 0;
    for (const Side& side : sides) {
      index += place % side.length * side.stride;
      place /= side.length;
    }
    return index;
  };
}

}  // namespace binade
