// SPDX-License-Identifier: Apache-2.0
//
// The fast evaluation of candidates against the definition, and candidates that are said to compute
// the same against it, too, on hard operands with NaNs and infinities among them.
#include "lib/identify/evaluator.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "lib/identify/meaning.h"
#include "tests/lib/gemm/exact_product.h"
#include "tests/lib/identify/kernel_draw.h"

namespace binade::evaluator_test {
namespace {

using test::Random;

/// Returns the results of evaluate, or of evaluate_rows.
std::vector<std::uint64_t> elements_of(const Evaluator& evaluator, const Candidate& x) {
  const KernelRun& run = evaluator.runs()[0];
  const Candidate* const candidates[]{&x};
  std::vector<std::uint64_t> out(run.size());
  const ElementSink sink = [&](std::size_t, std::size_t first, std::span<const std::uint64_t> d) {
    std::ranges::copy(d, out.begin() + static_cast<std::ptrdiff_t>(first));
  };
  if (evaluator.has_tiles(0)) {
    for (std::size_t i = 0; i < run.m; i += tile_rows) {
      evaluator.evaluate_rows(candidates, 0, i, sink);
    }
    return out;
  }
  std::vector<std::size_t> all(run.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  evaluator.evaluate(candidates, 0, all, sink);
  return out;
}

/// Returns the same operands as a product, in which each row meets each row.
KernelRun crossed(const KernelRun& dots) {
  KernelRun out = dots;
  out.dots = false;
  out.d.resize(out.m * out.n);
  out.c.clear();
  for (std::size_t at = 0; at < out.size(); ++at) out.c.push_back(dots.c[at % dots.c.size()]);
  return out;
}

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
                          {e4m3, e5m2, binary32, e4m3, binary32},
                          {s8, s8, s32, s32, s32}};

/// The candidates with C, first those without the detours of epilogues.
struct AllCandidates {
  std::vector<Candidate> all;
  std::size_t direct = 0;

  AllCandidates(const std::vector<Core>& cores, const KernelTypes& types, std::size_t k) {
    const KernelFacts facts{types, k, true, false, {}, false};
    all = candidates_for(cores, facts);
    direct = all.size();
    if (is_integer(types.d)) return;
    for (const Epilogue& detour : detours_for(facts)) {
      const auto more = candidates_for(cores, facts, detour, Orders::plain);
      all.insert(all.end(), more.begin(), more.end());
    }
  }
  /// Returns one of those with or without a detour, each half of the time.
  const Candidate& draw(Random& random) const {
    const std::size_t others = all.size() - direct;
    const bool other = others > 0 && random() % 2 == 0;
    return all[other ? direct + random() % others : random() % direct];
  }
};

TEST_CASE("every candidate is evaluated as it is defined") {
  Random random(1);
  std::size_t numbers = 0, compared = 0;
  for (const KernelTypes& types : kinds) {
    const std::vector<Core> cores = cores_for(types);
    const AllCandidates candidates(cores, types, 70);
    for (int i = 0; i < 150; ++i) {
      const Candidate& x = candidates.draw(random);
      const KernelRun dots = draw_hard(random, x.model, 70);
      for (const KernelRun& run : {dots, crossed(dots)}) {
        const std::vector<KernelRun> runs{run};
        const std::vector<std::uint64_t> found = elements_of(Evaluator(cores, runs), x);
        for (std::size_t at = 0; at < run.size(); ++at) {
          const std::uint64_t expected = gemm_element(x.model, run.element(at));
          CAPTURE(options_of(x.model));
          REQUIRE(is_same_result(found[at], expected, x.model.epilogue.out, any_nan_fits(x.model)));
          const bool floats = !is_integer(types.d);
          numbers += floats && decode(expected, types.d).kind == Kind::finite ? 1 : 0;
          ++compared;
        }
      }
    }
  }
  CHECK(compared == 6 * 150 * (6 + 36));
  CHECK(numbers > compared / 6);
}

TEST_CASE("candidates that are evaluated together give what each gives") {
  Random random(3);
  for (const KernelTypes& types : kinds) {
    const std::vector<Core> cores = cores_for(types);
    const AllCandidates candidates(cores, types, 40);
    std::vector<const Candidate*> some;
    for (int i = 0; i < 200; ++i) some.push_back(&candidates.draw(random));
    const std::vector<KernelRun> runs{draw_hard(random, some[0]->model, 40)};
    const std::size_t elements[]{5, 0, 3};
    std::size_t told = 0;
    Evaluator(cores, runs)
        .evaluate(
            some, 0, elements,
            [&](std::size_t i, std::size_t first, std::span<const std::uint64_t> d) {
              for (std::size_t n = 0; n < d.size(); ++n, ++told) {
                const GemmModel& g = some[i]->model;
                CAPTURE(options_of(g));
                REQUIRE(is_same_result(d[n], gemm_element(g, runs[0].element(elements[first + n])),
                                       g.epilogue.out, any_nan_fits(g)));
              }
            });
    CHECK(told == some.size() * std::size(elements));
  }
}

TEST_CASE(
    "candidates with scales of blocks are evaluated as they are defined, alone and by tiles") {
  Random random(4);
  constexpr std::size_t m = tile_rows + 1, n = tile_columns + 1, k = 128;
  struct Scaled {
    Format element;
    int run;
    Format scale;
  };
  std::size_t by_instructions = 0, by_tiles = 0, numbers = 0;
  for (const Scaled& x :
       {Scaled{e4m3, 32, e8m0}, Scaled{e2m1, 16, ue4m3}, Scaled{e2m1, 32, e8m0}}) {
    const KernelTypes types{x.element, x.element, binary32, binary32, binary32};
    KernelFacts facts{.types = types, .k = k, .run = x.run, .has_a_runs = true, .has_b_runs = true};
    (x.scale == e8m0 ? facts.are_e8m0 : facts.are_ue4m3) = true;
    const std::vector<Core> cores = cores_for(types);
    const std::vector<Candidate> all = candidates_for(cores, facts);
    std::vector<const Candidate*> instructions;
    for (const Candidate& one : all) {
      if (is_scaled(one.model.model)) instructions.push_back(&one);
    }
    REQUIRE(!instructions.empty());
    for (int i = 0; i < 24; ++i) {
      const Candidate& candidate =
          i % 2 == 0 ? *instructions[random() % instructions.size()] : all[random() % all.size()];
      GemmModel draws = candidate.model;
      draws.model.scaling.format = x.scale;
      GemmOperands product{m, n, k, {}, {}, {}, {}};
      for (std::size_t at = 0; at < m * k; ++at)
        product.a.push_back(draw_hard(random, draws, 1).a[0]);
      for (std::size_t at = 0; at < n * k; ++at)
        product.b.push_back(draw_hard(random, draws, 1).b[0]);
      test::draw_runs(random, candidate.model, product);
      if (i % 4 == 0 && !product.runs.a.empty()) product.runs.a[3] = 0x7FC00000;
      KernelRun run{.m = m, .n = n, .k = k};
      run.a = product.a;
      run.b = product.b;
      run.runs = product.runs;
      run.d.resize(m * n);
      KernelRun few = run;  // too few rows for a tile
      few.m = 2;
      few.a.resize(few.m * k);
      if (!few.runs.a.empty()) few.runs.a.resize(few.m * few.runs.count(k));
      few.d.resize(few.m * n);
      for (const KernelRun& one : {run, few}) {
        const std::vector<KernelRun> runs{one};
        const Evaluator evaluator(cores, runs);
        by_tiles += evaluator.has_tiles(0) ? 1 : 0;
        const std::vector<std::uint64_t> found = elements_of(evaluator, candidate);
        for (std::size_t at = 0; at < one.size(); at += 1 + random() % 3) {
          const std::uint64_t expected = gemm_element(candidate.model, one.element(at));
          CAPTURE(options_of(candidate.model));
          REQUIRE(is_same_result(found[at], expected, candidate.model.epilogue.out,
                                 any_nan_fits(candidate.model)));
          numbers += decode(expected, binary32).kind == Kind::finite ? 1 : 0;
        }
      }
      by_instructions += is_scaled(candidate.model.model) ? 1 : 0;
    }
  }
  CHECK(by_instructions >= 3 * 12);
  CHECK(numbers > 1000);
  if (&fastest_kernels() != &kernels_for_elements()) CHECK(by_tiles == 3 * 24);
}

TEST_CASE("what is said to mean the same gives the same bits") {
  Random random(2);
  std::size_t compared = 0;
  for (const KernelTypes& types : kinds) {
    const std::vector<Core> cores = cores_for(types);
    const std::vector<Candidate> all = AllCandidates(cores, types, 48).all;
    std::map<std::uint64_t, std::vector<std::size_t>> classes;
    for (std::size_t i = 0; i < all.size(); ++i) {
      SumProgram program;
      walk_sum(all[i].model, 48, {}, program);
      classes[meaning_of(all[i].model, program, {true, false})].push_back(i);
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
