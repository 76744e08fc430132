// SPDX-License-Identifier: Apache-2.0
//
// Checks that the matrices of a product are as large as m, n and k say.
#include "lib/gemm/operands.h"

#include <string>

#include "lib/text/error.h"

namespace binade {

void require_elements(std::string_view what, std::size_t size, std::size_t wanted) {
  if (size == wanted) return;
  throw Error(std::string(what) + ": " + std::to_string(size) +
              " elements; by m, n and k there are " + std::to_string(wanted));
}

void check(const OperandSizes& x) {
  constexpr std::size_t most_k = std::size_t{1} << 30, most_rows = std::size_t{1} << 31;
  if (x.m == 0 || x.n == 0 || x.m > most_rows || x.n > most_rows || x.k > most_k) {
    throw Error("m, n and k: sizes from 1 on are wanted, k up to 2^30, m and n up to 2^31");
  }
  require_elements("a", x.a, x.m * x.k);
  require_elements("b", x.b, x.k * x.n);
  require_elements("c", x.c, x.c == 0 ? 0 : x.m * x.n);
  require_elements("bias", x.bias, x.bias == 0 ? 0 : x.n);
  require_elements("a_scale", x.a_scale, x.a_scale == 0 ? 0 : x.m);
  require_elements("b_scale", x.b_scale, x.b_scale == 0 ? 0 : x.n);
  require_elements("runs.a", x.a_runs, x.a_runs == 0 ? 0 : x.m * x.runs);
  require_elements("runs.b", x.b_runs, x.b_runs == 0 ? 0 : x.n * x.runs);
}

}  // namespace binade
