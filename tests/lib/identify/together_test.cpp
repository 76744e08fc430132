// SPDX-License-Identifier: Apache-2.0
//
// A kernel that computes its last rows in another order: no model explains it, two models together
// do, and a match by chance is never taken for that.
#include "lib/identify/together.h"

#include <doctest/doctest.h>

#include "tests/lib/identify/kernel_draw.h"

namespace binade::together_test {
namespace {

using test::Random;

const KernelTypes f32_all{binary32, binary32, binary32, binary32, binary32};

Identification edges(const KernelTypes& types, std::size_t size, bool noise) {
  Random random(1);
  KernelRun run = test::draw_run(random, types, {size, size, 48}, false, false);
  const auto all = candidates_for(cores_for(types), {types, 48, false, false, {}});
  GemmModel other = all[0].model;
  other.sum.splits[0] = {2, other.k, Reduction::ascending, false};
  test::compute(all[0].model, run);
  for (std::size_t at = (size - 4) * size; at < run.size(); ++at) {
    run.d[at] = gemm_element(other, run.element(at)) ^ (noise && at % 2 == 0 ? 1 : 0);
  }
  return identify(types, {run}, {}, {});
}

TEST_CASE("rows of another order are told, and where they lie") {
  const Identification found = edges(f32_all, 16, false);
  CHECK(found.result.explaining.empty());
  const std::vector<TogetherPart> parts = together(found);
  REQUIRE(parts.size() == 2);
  CHECK(parts[0].equal >= 12 * 16);
  CHECK(parts[0].first_row == 0);
  CHECK(parts[0].last_row == 11);
  CHECK(parts[1].first_row == 12);
  CHECK(parts[1].last_row == 15);
  CHECK(parts[0].alone + parts[1].alone <= found.result.elements);
  CHECK(found.candidates[parts[1].candidate].model.sum.splits[0].parts == 2);
}

TEST_CASE("what only chance could cover is not told") {
  CHECK(together(edges(f32_all, 16, true)).empty());
  CHECK(together(edges(f32_all, 5, false)).empty());
  const KernelTypes narrow{binary16, binary16, binary16, binary16, binary16};
  const Identification found = edges(narrow, 8, true);
  CHECK(found.result.explaining.empty());
  CHECK(together(found).empty());
}

}  // namespace
}  // namespace binade::together_test
