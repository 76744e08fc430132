// SPDX-License-Identifier: Apache-2.0
//
// Kernels of a known model whose name is hidden: the search finds the model, claims nothing that is
// not true by the definition, and drops the model if one bit of D is changed.
#include "lib/identify/search.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <set>
#include <string>

#include "lib/identify/text.h"
#include "lib/text/error.h"
#include "tests/lib/identify/find_models.h"

namespace binade::search_test {
namespace {

using test::all_of;
using test::find_all;
using test::Found;
using test::identified;
using test::Random;
using test::Setup;
using test::setups;

TEST_CASE("the true model is found, claims are true, and a flipped bit drops it") {
  const Found found = find_all(false, 1);
  CHECK(found.recipes.size() == 6);
}

TEST_CASE("the rejected tell their first contradiction in the order of D") {
  Random random(2);
  const Setup& setup = setups[0];
  const std::vector<Candidate> all = all_of(setup, setup.shape.k);
  KernelRun run = test::draw_run(random, setup.types, setup.shape, false, false);
  test::compute(all[0].model, run);
  run.d[17] ^= 4;
  const Identification found = identified(setup, run);
  CHECK(found.result.explaining.empty());
  const Verdict& nearest = found.result.rejected[0];
  CHECK(nearest.candidate == 0);
  CHECK(nearest.compared == run.size());
  CHECK(nearest.equal == run.size() - 1);
  REQUIRE(nearest.first);
  CHECK(nearest.first->element == 17);
  CHECK((nearest.first->expected ^ nearest.first->found) == 4);
  for (std::size_t i = 0; i < 3; ++i) {
    const Verdict& x = found.result.rejected[i];
    REQUIRE(x.first);
    const GemmModel& g = found.candidate(x).model;
    CHECK(gemm_element(g, run.element(x.first->element)) == x.first->expected);
    for (std::size_t at = 0; at < x.first->element; ++at) {
      CHECK(gemm_element(g, run.element(at)) == run.d[at]);
    }
  }
}

TEST_CASE("where many models agree, the simplest are compared with every element first") {
  Random random(9);
  const Setup& setup = setups[7];  // to e4m3, of which most orders give the same
  KernelRun run = test::draw_run(random, setup.types, setup.shape, false, false);
  const std::vector<Core> cores = cores_for(setup.types, {.gpu = true});
  const std::vector<Candidate> all = all_of(setup, setup.shape.k);
  test::compute(all[0].model, run);
  const SearchResult whole = search(cores, all, std::vector<KernelRun>{run}, {});
  const SearchResult some = search(cores, all, std::vector<KernelRun>{run}, {.round_products = 1});
  CHECK(whole.open.empty());
  REQUIRE(!some.open.empty());
  REQUIRE(some.explaining.size() >= 8);
  CHECK(some.explaining.size() < whole.explaining.size());
  for (std::size_t i = 0; i < some.explaining.size(); ++i) {
    CHECK(some.explaining[i].candidate == whole.explaining[i].candidate);
    CHECK(some.explaining[i].compared == run.size());
  }
  CHECK(conclusion_of(some) == Conclusion::several);
}

TEST_CASE("several runs of different K are one body of evidence") {
  Random random(3);
  const Setup& setup = setups[0];
  const std::vector<Candidate> all = all_of(setup, 128);
  const auto split = std::ranges::find_if(all, [](const Candidate& x) {
    return x.model.sum.splits[0].parts == 4 && x.model.sum.splits[0].interleave == 0;
  });
  REQUIRE(split != all.end());
  std::vector<KernelRun> runs;
  for (const std::size_t k : {std::size_t{128}, std::size_t{64}}) {
    runs.push_back(test::draw_run(random, setup.types, {5, 5, k}, false, false));
    test::compute(split->model, runs.back());
  }
  const Identification both = identify(setup.types, runs, {}, {});
  CHECK(test::claims(both.result, static_cast<std::size_t>(split - all.begin())));
  CHECK(both.result.elements == 50);
  // Only the second run is wrong, so the model does not explain both.
  test::compute(all[0].model, runs[1]);
  const Identification mixed = identify(setup.types, runs, {}, {.nearest = 1, .rare = false});
  CHECK(!test::claims(mixed.result, static_cast<std::size_t>(split - all.begin())));
  REQUIRE(!mixed.result.rejected.empty());
  CHECK(mixed.result.rejected[0].first.has_value());
}

TEST_CASE("the scalars of the epilogue are told and its forms are found") {
  Random random(4);
  const Setup& setup = setups[2];
  const std::vector<Core> cores = cores_for(setup.types);
  const KnownEpilogue scalars{1.375, -0.625};
  const auto all = candidates_for(cores, {setup.types, 80, true, false, scalars});
  const auto fused =
      std::ranges::find_if(all, [](const Candidate& x) { return !x.model.epilogue.sum_last; });
  REQUIRE(fused != all.end());
  KernelRun run = test::draw_run(random, setup.types, {9, 9, 80}, false, true);
  test::compute(fused->model, run);
  const Identification found = identify(setup.types, {run}, scalars, {});
  CHECK(test::claims(found.result, static_cast<std::size_t>(fused - all.begin())));
  CHECK(identify(setup.types, {run}, {}, {.rare = false}).result.explaining.empty());
}

TEST_CASE("any NaN is any other in chains of rounded operations only") {
  Random random(5);
  for (const bool chain : {false, true}) {
    const Setup& setup = setups[0];
    const std::vector<Candidate> all = all_of(setup, 32);
    const auto truth = std::ranges::find_if(
        all, [&](const Candidate& x) { return any_nan_fits(x.model) == chain; });
    KernelRun run = test::draw_run(random, setup.types, {6, 6, 32}, false, false);
    run.a[3] = 0x7E01;
    test::compute(truth->model, run);
    CHECK(identified(setup, run).result.explaining.size() >= 1);
    run.d[0] = 0x7FC12345;
    const auto place = static_cast<std::size_t>(truth - all.begin());
    CHECK(test::claims(identified(setup, run).result, place) == chain);
  }
}

/// A kernel of floats as it is written by hand: a chain of fma, and roundings by masks on the bits.
struct HandMade {
  KernelTypes types{binary32, binary32, binary32, bfloat16, binary32};
  KernelRun run;

  explicit HandMade(unsigned seed, bool with_bias) {
    Random random(seed);
    run = test::draw_run(random, types, {12, 12, 24}, false, false, with_bias);
  }
  static float number(std::uint64_t bits) {
    return std::bit_cast<float>(static_cast<std::uint32_t>(bits));
  }
  static std::uint64_t bits(float x) { return std::bit_cast<std::uint32_t>(x); }
  static std::uint64_t to_bf16(float x) { return (bits(x) + 0x7FFF + (bits(x) >> 16 & 1)) >> 16; }
  static float of_bf16(std::uint64_t x) { return number(x << 16); }
  float bias(std::size_t at) const { return number(run.bias[run.column(at)]); }

  /// Sets D to ending(sum, at).
  template <class Ending>
  void fill(const Ending& ending) {
    for (std::size_t at = 0; at < run.size(); ++at) {
      const GemmElement<std::uint64_t> x = run.element(at);
      float sum = 0;
      for (int k = 0; k < x.k; ++k) sum = std::fma(number(x.a[k]), number(x.b[k]), sum);
      run.d[at] = ending(sum, at);
    }
  }
  Identification searched(bool rare = true) const {
    return identify(types, {run}, {}, {.nearest = 2, .rare = rare}, {},
                    {.instructions = false, .tf32 = false});
  }
  /// Checks that a chain of fma in plain order with this ending is found, and only with it.
  void check(const std::string& ending) const {
    const Identification found = searched();
    REQUIRE(!found.result.explaining.empty());
    CHECK(options_of(found.candidate(found.result.explaining[0]).model) == ending);
    for (const Verdict& x : found.result.explaining) {
      const std::string options = options_of(found.candidate(x).model);
      CHECK_MESSAGE(options.ends_with(ending), options);
    }
    for (const Verdict& x : found.result.rejected) CHECK(x.equal < x.compared);
  }
};

TEST_CASE("outputs that are cut off, rounded on the way or after relu are found") {
  const auto quiet = [](float x) { return x > 0 ? x : 0.0F; };
  HandMade x(8, false);
  x.fill([](float sum, std::size_t) { return HandMade::bits(sum) >> 16; });
  x.check("--out-format bf16 --out-rounding toward_zero");
  x.fill([&](float sum, std::size_t) { return HandMade::bits(quiet(sum)) >> 16; });
  x.check("--out-format bf16 --relu --out-rounding toward_zero");
  x.types.d = binary32;
  x.fill([](float sum, std::size_t) { return HandMade::to_bf16(sum) << 16; });
  x.check("--out-through bf16");
}

/// The kernels are PyTorch's formulas in float, each operation rounded.
TEST_CASE("gelu, its formula by tanh and silu are found behind bf16, and told apart") {
  constexpr auto gelu = [](float v) { return v * 0.5F * (1 + std::erf(v * 0.70710678F)); };
  constexpr auto by_tanh = [](float v) {
    return 0.5F * v * (1 + std::tanh(0.79788456F * (v + 0.044715F * v * v * v)));
  };
  constexpr auto silu = [](float v) { return v / (1 + std::exp(-v)); };
  HandMade x(11, false);
  Random random(12);
  for (auto* const codes : {&x.run.a, &x.run.b}) {
    for (std::uint64_t& code : *codes) {
      code = HandMade::bits(std::ldexp(static_cast<float>(random() >> 40), -23) - 1);
    }
  }
  x.fill([&](float sum, std::size_t) { return HandMade::to_bf16(gelu(sum)); });
  x.check("--out-format bf16 --activation gelu");
  const Identification found = x.searched(false);
  CHECK(found.result.explaining[0].undecided < x.run.size() / 10);
  x.run.d[7] ^= 2;
  CHECK(x.searched(false).result.explaining.empty());
  x.fill([&](float sum, std::size_t) { return HandMade::to_bf16(by_tanh(sum)); });
  x.check("--out-format bf16 --activation gelu_tanh");
  x.fill([&](float sum, std::size_t) {
    return HandMade::to_bf16(silu(HandMade::of_bf16(HandMade::to_bf16(sum))));
  });
  x.check("--out-format bf16 --sum-format bf16 --activation silu");
  // Far below 0, 1 + erf loses all bits: too few elements are decided.
  for (std::uint64_t& code : x.run.a) code = HandMade::bits(8 * HandMade::number(code));
  x.fill([&](float sum, std::size_t) { return HandMade::to_bf16(gelu(sum)); });
  CHECK(x.searched(false).result.explaining.empty());
}

TEST_CASE("a sum that is rounded before the bias is found, and relu after it") {
  HandMade x(9, true);
  x.types.d = binary32;
  x.fill([&](float sum, std::size_t at) {
    return HandMade::bits(HandMade::of_bf16(HandMade::to_bf16(sum)) + x.bias(at));
  });
  x.check("--sum-format bf16");
  x.fill(
      [&](float sum, std::size_t at) { return HandMade::bits(std::max(sum + x.bias(at), 0.0F)); });
  x.check("--relu");
}

TEST_CASE("where no ending comes nearer, none is searched for") {
  HandMade x(10, false);
  x.types.d = binary32;
  x.fill([](float sum, std::size_t) { return HandMade::bits(sum); });
  x.run.d[7] ^= 1;
  const Identification found = x.searched();
  CHECK(found.result.explaining.empty());
  CHECK(found.result.rejected[0].equal == x.run.size() - 1);
  for (const Candidate& one : found.candidates) CHECK(one.model.epilogue.is_direct());
}

TEST_CASE("nothing is claimed of nothing") {
  Random random(6);
  const Setup& setup = setups[0];
  KernelRun run = test::draw_run(random, setup.types, {0, 4, 16}, false, false);
  CHECK_THROWS_AS(identified(setup, run), Error);
  CHECK_THROWS_AS(identify(setup.types, {}, {}, {}), Error);
}

TEST_CASE("the number of threads changes nothing") {
  Random random(7);
  const Setup& setup = setups[1];
  KernelRun run = test::draw_run(random, setup.types, setup.shape, false, false);
  test::compute(all_of(setup, setup.shape.k)[11].model, run);
  const auto told = [&](const char* threads) {
    setenv("BINADE_THREADS", threads, 1);
    const SearchResult r = identified(setup, run).result;
    unsetenv("BINADE_THREADS");
    std::vector<std::size_t> out{r.tried, r.explaining.size(), r.rejected.size()};
    for (const auto* list : {&r.explaining, &r.rejected}) {
      for (const Verdict& x : *list) {
        out.insert(out.end(), {x.candidate, x.same.size(), x.compared, x.equal});
      }
    }
    return out;
  };
  CHECK(told("1") == told("3"));
}

}  // namespace
}  // namespace binade::search_test
