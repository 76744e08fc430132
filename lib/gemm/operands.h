// SPDX-License-Identifier: Apache-2.0
//
// The matrices of a product: as encodings of the model's formats, or as numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "emulate/gemm.h"

namespace binade {

/// a is m × k, row after row; b is k × n, column after column (so that a dot runs along both); c is
/// m × n, row after row, or empty; bias has n elements, one a column, or is empty.
struct GemmOperands {
  std::size_t m = 0, n = 0, k = 0;
  std::vector<std::uint64_t> a, b, c, bias;

  /// What makes element (i, j) of D.
  GemmElement<std::uint64_t> element(std::size_t i, std::size_t j) const {
    return {a.data() + i * k,
            b.data() + j * k,
            static_cast<int>(k),
            c.empty() ? 0 : c[i * n + j],
            bias.empty() ? 0 : bias[j],
            !c.empty(),
            !bias.empty()};
  }
};

/// The same as numbers on the grids of the model's formats, without C; the bias is a vector of binary32.
struct GemmValues {
  std::size_t m = 0, n = 0, k = 0;
  std::span<const float> a, b, bias;
};

}  // namespace binade
