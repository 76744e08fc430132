// SPDX-License-Identifier: Apache-2.0
//
// The quick evaluation against the definition, and what is said to compute the same against it too: on
// operands that hurt, NaNs and infinities among them.
#include "lib/identify/evaluator.h"

#include <doctest/doctest.h>

#include <map>

#include "lib/identify/meaning.h"
#include "tests/lib/identify/kernel_draw.h"

namespace binade::evaluator_test {
namespace {

using test::Random;

/// Rows of draw_dot: any bits, cancellation, the ends of the range.
KernelRun draw_hard(Random& random, const GemmModel& g, std::size_t k) {
  KernelRun out{6, 6, k, true, {}, {}, {}, {}, std::vector<std::uint64_t>(6)};
  for (int i = 0; i < 6; ++i) {
    const test::DrawnDot dot = test::draw_dot(random, g.types, static_cast<int>(k));
    out.a.insert(out.a.end(), dot.a.begin(), dot.a.end());
    out.b.insert(out.b.end(), dot.b.begin(), dot.b.end());
    out.c.push_back(test::draw_dot(random, {g.types.a, g.types.b, g.c, g.types.d}, 1).c);
  }
  return out;
}

const KernelTypes kinds[]{{binary16, binary16, binary32, binary32, binary32},
                          {binary16, binary16, binary16, binary16, binary16},
                          {binary32, binary32, binary32, binary32, binary32},
                          {binary64, binary64, binary64, binary64, binary64},
                          {e4m3, e5m2, binary32, binary32, binary32},
                          {s8, s8, s32, s32, s32}};

TEST_CASE("every candidate is evaluated as it is defined") {
  Random random(1);
  std::size_t numbers = 0, compared = 0;
  for (const KernelTypes& types : kinds) {
    const std::vector<Core> cores = cores_for(types);
    const std::vector<Candidate> all = candidates_for(cores, {types, 70, true, false, {}});
    for (int i = 0; i < 150; ++i) {
      const Candidate& x = all[random() % all.size()];
      const std::vector<KernelRun> runs{draw_hard(random, x.model, 70)};
      const Evaluator evaluator(cores, runs);
      Prepared prepared = evaluator.prepare(x.model, x.core, 0);
      for (std::size_t at = 0; at < runs[0].size(); ++at) {
        const std::uint64_t expected = gemm_element(x.model, runs[0].element(at));
        CAPTURE(options_of(x.model));
        REQUIRE(is_same_result(prepared.element(at), expected, x.model.epilogue.out,
                               any_nan_fits(x.model)));
        const bool floats = !is_integer(types.d);
        numbers += floats && decode(expected, types.d).kind == Kind::finite ? 1 : 0;
        ++compared;
      }
    }
  }
  CHECK(compared == 6 * 150 * 6);
  CHECK(numbers > compared / 4);
}

TEST_CASE("what is said to mean the same gives the same bits") {
  Random random(2);
  std::size_t compared = 0;
  for (const KernelTypes& types : kinds) {
    const std::vector<Core> cores = cores_for(types);
    const std::vector<Candidate> all = candidates_for(cores, {types, 48, true, false, {}});
    std::map<std::uint64_t, std::vector<std::size_t>> classes;
    for (std::size_t i = 0; i < all.size(); ++i) {
      SumProgram program;
      walk_sum(all[i].model, 48, program);
      classes[meaning_of(all[i].model, program, true, false)].push_back(i);
    }
    if (!is_integer(types.d)) CHECK(classes.size() < all.size());
    for (const auto& [meaning, members] : classes) {
      if (members.size() < 2) continue;
      const GemmModel& first = all[members[0]].model;
      const GemmModel& other = all[members[1 + random() % (members.size() - 1)]].model;
      const KernelRun run = draw_hard(random, first, 48);
      for (std::size_t at = 0; at < run.size(); ++at) {
        CAPTURE(options_of(first));
        CAPTURE(options_of(other));
        REQUIRE(is_same_result(gemm_element(first, run.element(at)),
                               gemm_element(other, run.element(at)), first.epilogue.out,
                               any_nan_fits(first) || any_nan_fits(other)));
        ++compared;
      }
    }
  }
  CHECK(compared > 1000);
}

}  // namespace
}  // namespace binade::evaluator_test
