// SPDX-License-Identifier: Apache-2.0
//
// Structured sparsity of mma.sp, wgmma.sp and tcgen05.mma.sp: in each group of 4 consecutive
// elements of a (2 for tf32), metadata name 2 (1) that take part; the instruction reads neither the
// other ones nor the elements of b beside them. Here a has all its k elements, and the metadata
// follow from it: the first elements whose encodings are not all zeros are kept, and if they are
// too few, the first of the zeros too.
//
//     position     0 1 2 3     kept     metadata, 2 bits for each kept position, lowest first
//     a            0 5 0 7     5, 7     1, 3
//     a            0 0 0 7     0, 7     0, 3
//     a            5 6 7 0     5, 6     0, 1     (7 is lost)
//     b            b0 … b3              the elements of b at the kept positions
//
// Those of kind::mxf4 and mxf4nvf4 keep two of the four pairs of each 8 elements; a pair is kept if
// either of its elements is not zero.
#pragma once

#include <cstdint>

namespace binade {

/// The size of the groups in which pairs of elements are kept.
inline constexpr int sparse_group_of_pairs = 8;

/// Returns the position in a group of `size` encodings of kept element number `which`. size / 2
/// elements are kept and numbered by position.
template <class Code>
constexpr int kept_position(const Code* group, int size, int which) {
  const int width = size == sparse_group_of_pairs ? 2 : 1;
  const int units = size / width, keep = units / 2;
  const auto is_zero = [&](int unit) {
    return group[unit * width] == 0 && group[unit * width + width - 1] == 0;
  };
  int nonzero = 0;
  for (int i = 0; i < units; ++i) nonzero += is_zero(i) ? 0 : 1;
  int fill = nonzero < keep ? keep - nonzero : 0;  // zeros that are kept: the first ones
  int seen = 0;
  for (int i = 0; i < units; ++i) {
    const bool zero = is_zero(i);
    if (zero && fill == 0) continue;
    fill -= zero ? 1 : 0;
    if (seen++ == which / width) return i * width + which % width;
  }
  return which % width;
}

/// Copies the kept elements of a row of k elements, and the elements of b beside them: k / 2 of
/// each.
template <class Code, class Out>
constexpr void keep_half(const Code* a, const Code* b, int k, int group, Out* kept_a, Out* kept_b) {
  int n = 0;
  for (int first = 0; first < k; first += group) {
    for (int which = 0; which < group / 2; ++which) {
      const int at = first + kept_position(a + first, group, which);
      kept_a[n] = static_cast<Out>(a[at]);
      kept_b[n] = static_cast<Out>(b[at]);
      ++n;
    }
  }
}

}  // namespace binade
