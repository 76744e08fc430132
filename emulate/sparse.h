// SPDX-License-Identifier: Apache-2.0
//
// Structured sparsity of mma.sp and wgmma.sp: of each group of 4 consecutive a (2 for tf32), metadata
// name 2 (1) that take part; the others and their b do not exist for the instruction. A row here has
// all k elements of a, and the metadata follow from it: the first codes that are not all zeros are
// kept, then the lowest of the others.
#pragma once

#include <cstdint>

namespace binade {

/// Where in a group of `size` codes the kept one number `which` stands, lowest first: size / 2 of them.
template <class Code>
constexpr int kept_position(const Code* group, int size, int which) {
  const int keep = size / 2;
  int nonzero = 0;
  for (int i = 0; i < size; ++i) nonzero += group[i] != 0 ? 1 : 0;
  int fill = nonzero < keep ? keep - nonzero : 0;  // zeros that are kept, the lowest
  int seen = 0;
  for (int i = 0; i < size; ++i) {
    const bool zero = group[i] == 0;
    if (zero && fill == 0) continue;
    fill -= zero ? 1 : 0;
    if (seen++ == which) return i;
  }
  return 0;
}

/// The kept elements of a row of k and their b, k / 2 of each.
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
