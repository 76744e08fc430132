// SPDX-License-Identifier: Apache-2.0
//
// Kernels of a known model, in several setups of types and shapes, and the search for that model.
// The conclusions of each search are checked here; a test chooses how many kernels are drawn.
#pragma once

#include <doctest/doctest.h>

#include <set>
#include <string>
#include <vector>

#include "lib/identify/search.h"
#include "tests/lib/identify/kernel_draw.h"

namespace binade::test {

struct Setup {
  const char* name;
  KernelTypes types;
  Shape shape;
  bool dots, with_c, with_bias;
};

inline const Setup setups[]{
    {"f16 to f32",
     {binary16, binary16, binary32, binary32, binary32},
     {5, 6, 128},
     false,
     false,
     false},
    {"f16 to f16",
     {binary16, binary16, binary16, binary16, binary16},
     {6, 6, 96},
     false,
     false,
     false},
    {"f16 + C", {binary16, binary16, binary32, binary32, binary32}, {4, 7, 80}, false, true, false},
    {"bf16 to bf16",
     {bfloat16, bfloat16, bfloat16, bfloat16, bfloat16},
     {6, 5, 64},
     false,
     false,
     true},
    {"f32", {binary32, binary32, binary32, binary32, binary32}, {5, 5, 100}, false, false, false},
    {"f64", {binary64, binary64, binary64, binary64, binary64}, {4, 4, 72}, false, true, false},
    {"e4m3 dots", {e4m3, e4m3, binary32, binary32, binary32}, {40, 0, 128}, true, true, false},
    {"e5m2 to e4m3", {e5m2, e5m2, binary32, e4m3, e4m3}, {8, 8, 64}, false, false, false},
    {"s8", {s8, u8, s32, s32, s32}, {4, 4, 64}, false, true, false},
};

inline Identification identified(const Setup& setup, const KernelRun& run) {
  return identify(setup.types, {run}, {}, {.nearest = 3, .rare = false});
}

inline std::vector<Candidate> all_of(const Setup& setup, std::size_t k) {
  return candidates_for(cores_for(setup.types, {.gpu = looks_like_gpu(setup.types, {})}),
                        {setup.types, k, setup.with_c, setup.with_bias, {}});
}

/// Returns indices of candidates: the first, which is the simplest, of each recipe that is not in
/// `seen`, and `n` random ones if `too` is set or there is no such recipe.
inline std::set<std::size_t> draw_candidates(Random& random, const std::vector<Candidate>& all,
                                             std::set<Recipe> seen, int n, bool too) {
  std::set<std::size_t> out;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (seen.insert(all[i].model.model.recipe).second) out.insert(i);
  }
  if (too || out.empty()) {
    for (int i = 0; i < n; ++i) out.insert(random() % all.size());
  }
  return out;
}

struct Found {
  std::set<Recipe> recipes;
  std::size_t unique = 0, nested = 0, promoted = 0;
};

/// Draws candidates in each setup, makes a kernel of each and checks what identify concludes. With
/// `each` these are a candidate of each recipe and `n` random ones. Otherwise each recipe comes up
/// once over all setups, a setup without a new recipe has `n` random candidates, and K is half as
/// large.
inline Found find_all(bool each, int n) {
  Random random(1);
  Found out;
  for (const Setup& setup : setups) {
    CAPTURE(std::string(setup.name));
    Shape shape = setup.shape;
    if (!each) shape.k /= 2;
    const std::vector<Candidate> all = all_of(setup, shape.k);
    const std::set<Recipe> seen = each ? std::set<Recipe>{} : out.recipes;
    for (const std::size_t truth : draw_candidates(random, all, seen, n, each)) {
      const GemmModel& g = all[truth].model;
      CAPTURE(options_of(g));
      KernelRun run =
          draw_run(random, setup.types, shape, setup.dots, setup.with_c, setup.with_bias);
      compute(g, run);
      const Identification found = identified(setup, run);
      REQUIRE(found.candidates.size() == all.size());
      CHECK(claims(found.result, truth));
      const std::vector<Verdict>& claimed = found.result.explaining;
      const std::size_t step = claimed.size() / 8 + 1;
      for (std::size_t i = 0; i < claimed.size(); i += step) {
        CHECK(claimed[i].compared == run.size());
        CHECK(gives_all(found.candidate(claimed[i]).model, run));
      }
      out.recipes.insert(g.model.recipe);
      out.unique += found.result.explaining.size() == 1 ? 1 : 0;
      out.nested += g.sum.splits[1].parts > 1 ? 1 : 0;
      out.promoted += g.sum.promote_every > 0 ? 1 : 0;
      run.d[random() % run.size()] ^= 1;
      CHECK(!claims(identified(setup, run).result, truth));
    }
  }
  return out;
}

}  // namespace binade::test
