// SPDX-License-Identifier: Apache-2.0
//
// Runs whose arrays do not go together are refused before they are searched.
#include "lib/identify/kernel_run.h"

#include <doctest/doctest.h>

#include "lib/gemm/named_gemm.h"
#include "lib/identify/identification.h"
#include "lib/text/error.h"
#include "tests/lib/identify/kernel_draw.h"

namespace binade::kernel_run_test {
namespace {

const KernelTypes types{binary16, binary16, binary32, binary32, {}};

/// The search looks at `sound`, which is the first run, as far as the second one is refused.
void refused(const KernelRun& sound, const KernelRun& other, const char* message) {
  CHECK_THROWS_WITH_AS(identify(types, {sound, other}, {}, {}), message, Error);
}

TEST_CASE("runs whose arrays have other sizes than m, n and k say are refused") {
  test::Random random(1);
  const KernelRun product = test::draw_run(random, types, {2, 3, 4}, false, true);
  const KernelRun dots = test::draw_run(random, types, {3, 3, 4}, true, true);
  CHECK_NOTHROW(check(product, 1, types));
  CHECK_NOTHROW(check(dots, 1, types));
  const auto without_last = [](KernelRun x, std::vector<std::uint64_t> KernelRun::*array) {
    (x.*array).pop_back();
    return x;
  };
  refused(product, without_last(product, &KernelRun::a),
          "run 2: a: 7 elements; by m, n and k there are 8");
  refused(product, without_last(product, &KernelRun::b),
          "run 2: b: 11 elements; by m, n and k there are 12");
  refused(product, without_last(product, &KernelRun::c),
          "run 2: c: 5 elements; by m, n and k there are 6");
  refused(product, without_last(product, &KernelRun::d),
          "run 2: d: 5 elements; by m, n and k there are 6");
  refused(dots, without_last(dots, &KernelRun::c),
          "run 2: c: 2 elements; by m, n and k there are 3");
  KernelRun longer = dots;
  longer.d.push_back(0);
  refused(dots, longer, "run 2: d: 4 elements; by m, n and k there are 3");
  longer = dots;
  longer.n = 2;
  refused(dots, longer, "run 2: m, n: of dot products both are their number, not 3 and 2");
}

TEST_CASE("a run without a bias needs no format of it") {
  test::Random random(3);
  KernelRun run = test::draw_run(random, types, {2, 3, 4}, false, false);
  const GemmModel fma = parse_gemm("fma.rn.f32.f16.f16.f32", 0).model;
  test::compute(fma, run);
  CHECK_FALSE(identify(types, {run}, {}, {}).result.explaining.empty());
  for (std::uint64_t& d : run.d) d ^= 0x1000;
  CHECK(identify(types, {run}, {}, {}).result.explaining.empty());
}

TEST_CASE("runs of nothing, and a bias without a format, are refused") {
  test::Random random(2);
  const KernelRun product = test::draw_run(random, types, {2, 3, 4}, false, false);
  KernelRun other = product;
  other.m = 0;
  refused(product, other,
          "run 2: m, n and k: sizes from 1 on are wanted, k up to 2^30, m and n up to 2^31");
  other = product;
  other.k = 0;
  refused(product, other, "run 2: k: a size from 1 to 2^30 is wanted");
  other = product;
  other.bias.resize(3);
  refused(product, other, "run 2: bias: the types say no format of it; set KernelTypes::bias");
  CHECK_THROWS_WITH_AS(read_runs({}), "no run: d names no file; give a, b and d of every run",
                       Error);
}

}  // namespace
}  // namespace binade::kernel_run_test
