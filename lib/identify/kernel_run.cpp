// SPDX-License-Identifier: Apache-2.0
//
// Checks that the arrays of a run go together.
#include "lib/identify/kernel_run.h"

#include <string>

#include "lib/text/error.h"

namespace binade {

void check(const KernelRun& x, std::size_t number, const KernelTypes& types) {
  const std::string where = "run " + std::to_string(number) + ": ";
  try {
    if (x.k == 0) throw Error("k: a size from 1 to 2^30 is wanted");
    if (x.dots && x.m != x.n) {
      throw Error("m, n: of dot products both are their number, not " + std::to_string(x.m) +
                  " and " + std::to_string(x.n));
    }
    const std::size_t elements = x.dots ? x.m : x.m * x.n;
    OperandSizes sizes = sizes_of(x);
    if (x.dots) sizes.c = 0;
    check(sizes);
    require_elements("c", x.c.size(), x.c.empty() ? 0 : elements);
    require_elements("d", x.d.size(), elements);
    if (!x.bias.empty() && !is_valid(types.bias) && !is_integer(types.bias)) {
      throw Error("bias: the types say no format of it; set KernelTypes::bias");
    }
  } catch (const Error& e) {
    throw Error(where + e.what());
  }
}

KernelRun dots_of(const KernelRun& run, std::span<const std::size_t> elements) {
  KernelRun out;
  out.m = out.n = elements.size();
  out.k = run.k;
  out.dots = true;
  out.c_words = run.c_words;
  out.runs.length = run.runs.length;
  const auto add = [&run](std::vector<std::uint32_t>& to, const std::uint32_t* scales) {
    if (scales != nullptr) to.insert(to.end(), scales, scales + run.runs.count(run.k));
  };
  for (const std::size_t at : elements) {
    const GemmElement<std::uint64_t> x = run.element(at);
    out.a.insert(out.a.end(), x.a, x.a + run.k);
    out.b.insert(out.b.end(), x.b, x.b + run.k);
    if (x.has_c) out.c.push_back(x.c);
    if (x.has_bias) out.bias.push_back(x.bias);
    if (x.has_a_scale) out.a_scale.push_back(x.a_scale);
    if (x.has_b_scale) out.b_scale.push_back(x.b_scale);
    add(out.runs.a, x.a_runs);
    add(out.runs.b, x.b_runs);
    out.d.push_back(run.d[at]);
  }
  return out;
}

}  // namespace binade
