// SPDX-License-Identifier: Apache-2.0
//
// A matrix of elements: d = c + a·b for each row of a and each column of b, every element as `dot`
// computes it, by predecoded operands where they can be: for tests and benchmarks of predecoded.h.
#pragma once

#include <cstddef>
#include <cstdint>

#include "emulate/predecoded.h"

namespace binade {

/// All as encodings: a is m × k, row after row; b is k × n, column after column (as mma's .col); c and
/// d are m × n, row after row.
struct Matmul {
  DotModel model{};
  DotTypes types{};
  int m = 0, n = 0, k = 0;
};

/// Work space of a matmul, the caller's: (m + n) · k factors, m + n flags.
struct MatmulSpace {
  Factor* factors = nullptr;
  bool* finite = nullptr;
};

template <class Code, class Wide>
constexpr void matmul(const Matmul& x, const Code* a, const Code* b, const Wide* c, Wide* d,
                      const MatmulSpace& space) {
  const auto k = static_cast<std::size_t>(x.k);
  const auto m = static_cast<std::size_t>(x.m);
  const auto n = static_cast<std::size_t>(x.n);
  Factor* rows = space.factors;
  Factor* columns = space.factors + m * k;
  const bool known = is_predecodable(x.model, x.types);
  for (std::size_t i = 0; known && i < m; ++i) {
    space.finite[i] = predecode(x.model, x.types.a, a + i * k, x.k, rows + i * k);
  }
  for (std::size_t j = 0; known && j < n; ++j) {
    space.finite[m + j] = predecode(x.model, x.types.b, b + j * k, x.k, columns + j * k);
  }
  for (std::size_t i = 0; i < m; ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      const std::size_t at = i * n + j;
      std::uint64_t out = 0;
      const bool done =
          known && space.finite[i] && space.finite[m + j] &&
          dot_predecoded(x.model, x.types, rows + i * k, columns + j * k, x.k, c[at], out);
      if (!done) out = dot(x.model, x.types, a + i * k, b + j * k, x.k, c[at]);
      d[at] = static_cast<Wide>(out);
    }
  }
}

}  // namespace binade
