// SPDX-License-Identifier: Apache-2.0
//
// Kernels for tests: operands of usual size, and D by the definition, element after element.
#pragma once

#include <vector>

#include "lib/identify/identification.h"
#include "tests/emulate/dot_draw.h"

namespace binade::test {

/// Returns a number of either sign between 2^-3 and 2^3. The 13 bits below tf32's own are random
/// too.
inline std::uint64_t draw_usual(Random& random, const Format& f) {
  if (is_integer(f)) return random() & ((std::uint64_t{1} << f.bits()) - 1);
  const auto field = static_cast<std::uint64_t>(between(random, -3, 2) + f.bias);
  const std::uint64_t fraction = random() & f.fraction_mask();
  return bits_of({random() % 2 == 0, field, fraction}, f);
}

struct Shape {
  std::size_t m, n, k;
};

inline KernelRun draw_run(Random& random, const KernelTypes& types, const Shape& shape, bool dots,
                          bool with_c, bool with_bias = false) {
  KernelRun out{shape.m, dots ? shape.m : shape.n, shape.k, dots, {}, {}, {}, {}, {}};
  const std::size_t size = dots ? out.m : out.m * out.n;
  const auto fill = [&](std::vector<std::uint64_t>& to, std::size_t n, const Format& f) {
    for (std::size_t i = 0; i < n; ++i) to.push_back(draw_usual(random, f));
  };
  fill(out.a, out.m * out.k, types.a);
  fill(out.b, out.n * out.k, types.b);
  if (with_c) fill(out.c, size, types.c);
  if (with_bias) fill(out.bias, out.n, types.bias);
  out.d.resize(size);
  return out;
}

inline void compute(const GemmModel& g, KernelRun& run) {
  for (std::size_t at = 0; at < run.size(); ++at) run.d[at] = gemm_element(g, run.element(at));
}

/// Returns whether the definition gives all of D.
inline bool gives_all(const GemmModel& g, const KernelRun& run) {
  const Format& f = g.epilogue.out;
  for (std::size_t at = 0; at < run.size(); ++at) {
    const std::uint64_t d = gemm_element(g, run.element(at));
    const bool nans = any_nan_fits(g) && kind_of(fields_of(d, f), f) == Kind::nan &&
                      kind_of(fields_of(run.d[at], f), f) == Kind::nan;
    if (d != run.d[at] && !nans) return false;
  }
  return true;
}

/// Returns whether a candidate is among those that explain every bit, itself or as one that is
/// known to compute the same.
inline bool claims(const SearchResult& result, std::size_t candidate) {
  for (const Verdict& x : result.explaining) {
    if (x.candidate == candidate) return true;
    if (std::ranges::find(x.same, candidate) != x.same.end()) return true;
  }
  return false;
}

}  // namespace binade::test
