// SPDX-License-Identifier: Apache-2.0
//
// Proposed inputs distinguish the models that they are said to, by the definition; the next
// identification with them keeps the true model and drops every other model that was said to be
// distinguished.
#include "lib/identify/propose.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>

#include "lib/device/recording_file.h"
#include "lib/io/npy_writer.h"
#include "lib/text/error.h"
#include "tests/lib/identify/kernel_draw.h"
#include "tests/lib/io/files.h"

namespace binade::propose_test {
namespace {

using test::Random;

struct Setup {
  const char* name;
  KernelTypes types;
  test::Shape shape;
  bool dots, with_c;
};

/// Few and short dot products with narrow results, which many models explain.
const Setup setups[]{
    {"f16", {binary16, binary16, binary16, binary16, binary16}, {12, 2, 32}, false, false},
    {"bf16 + C", {bfloat16, bfloat16, bfloat16, bfloat16, bfloat16}, {10, 2, 32}, false, true},
    {"f32", {binary32, binary32, binary32, binary32, binary32}, {8, 1, 24}, false, false},
    {"e4m3 dots", {e4m3, e4m3, binary16, binary16, binary16}, {12, 0, 64}, true, true},
};

struct Found {
  KernelRun run;
  Identification identification;
};

Found poorly_identified(const Setup& setup, std::size_t truth) {
  Random random(1);
  KernelRun run = test::draw_run(random, setup.types, setup.shape, setup.dots, setup.with_c);
  const auto all =
      candidates_for(cores_for(setup.types), {setup.types, run.k, setup.with_c, false, {}});
  // One dot of few products that are not zero: everything but rounding fits.
  for (std::size_t i = 0; i < run.a.size(); ++i) {
    if (i % run.k > 3) run.a[i] = 0;
  }
  test::compute(all[truth].model, run);
  return {run, identify(setup.types, {run}, {}, {.nearest = 0})};
}

bool differ(const GemmModel& x, const GemmModel& y, const KernelRun& run) {
  KernelRun by_x = run;
  test::compute(x, by_x);
  return !test::gives_all(y, by_x);
}

TEST_CASE("pairs are told apart as they are said to be") {
  for (const Setup& setup : setups) {
    CAPTURE(std::string(setup.name));
    const Identification found = poorly_identified(setup, 0).identification;
    REQUIRE(found.result.explaining.size() > 20);
    const Proposal proposal = propose(found, 1);
    CHECK(proposal.run.m == setup.shape.m);
    CHECK(proposal.run.k == setup.shape.k);
    CHECK(proposal.run.c.empty() == !setup.with_c);
    CHECK(proposal.models == std::min<std::size_t>(64, found.result.explaining.size()));
    CHECK(proposal.pairs == proposal.models * (proposal.models - 1) / 2);
    CHECK(proposal.inseparable.size() * 4 < proposal.pairs);
    const std::set<std::pair<std::size_t, std::size_t>> not_told(proposal.inseparable.begin(),
                                                                 proposal.inseparable.end());
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < proposal.models; i += 3) {
      for (std::size_t j = i + 1; j < proposal.models; j += 2) {
        const bool told = not_told.count({i, j}) == 0;
        const GemmModel& x = found.candidate(found.result.explaining[i]).model;
        const GemmModel& y = found.candidate(found.result.explaining[j]).model;
        wrong += differ(x, y, proposal.run) == told ? 0 : 1;
      }
    }
    CHECK(wrong == 0);
  }
}

TEST_CASE("the next run decides") {
  for (const Setup& setup : setups) {
    CAPTURE(std::string(setup.name));
    const std::size_t truth = 1;
    const Found first = poorly_identified(setup, truth);
    const SearchResult& result = first.identification.result;
    const auto is_truth = [&](const Verdict& x) {
      return x.candidate == truth || std::ranges::find(x.same, truth) != x.same.end();
    };
    const auto place = static_cast<std::size_t>(std::ranges::find_if(result.explaining, is_truth) -
                                                result.explaining.begin());
    REQUIRE(place < most_proposed_for);
    Proposal proposal = propose(first.identification, 7);
    test::compute(first.identification.candidates[truth].model, proposal.run);
    const Identification both =
        identify(setup.types, {first.run, proposal.run}, {}, {.nearest = 0});
    CHECK(test::claims(both.result, truth));
    CHECK(both.result.explaining.size() < result.explaining.size());
    for (std::size_t i = 0; i < proposal.models; ++i) {
      const std::pair<std::size_t, std::size_t> pair{std::min(i, place), std::max(i, place)};
      const bool told =
          i != place && std::ranges::find(proposal.inseparable, pair) == proposal.inseparable.end();
      if (told) CHECK(!test::claims(both.result, result.explaining[i].candidate));
    }
  }
}

TEST_CASE("a seed gives the same inputs, another gives others") {
  const Identification found = poorly_identified(setups[0], 0).identification;
  CHECK(propose(found, 5).run.a == propose(found, 5).run.a);
  CHECK(propose(found, 5).run.a != propose(found, 6).run.a);
}

TEST_CASE("the archive reads back as the run it was, however matrices lie") {
  const test::Folder folder;
  for (const Setup& setup : setups) {
    CAPTURE(std::string(setup.name));
    const Found found = poorly_identified(setup, 0);
    const Proposal proposal = propose(found.identification, 1);
    for (const bool transposed : {false, true}) {
      RunFiles files;
      files.shared.transposed_a = files.shared.transposed_b = transposed;
      const std::string path = folder / "p.npz";
      write_proposal(path, proposal, setup.types, files);
      const KernelRun& run = proposal.run;
      using Shape = std::vector<std::uint64_t>;
      const Shape shape = run.dots ? Shape{run.m} : Shape{run.m, run.n};
      const Dtype bits = unsigned_dtype(setup.types.d.storage_bits());
      NpyWriter writer(folder / "d.npy", bits, shape);
      writer.write(bytes_of(run.d, static_cast<int>(bits.bits)));
      writer.finish();
      files.a = {path + ":a"};
      files.b = {path + ":b"};
      files.d = {folder / "d.npy"};
      if (setup.with_c) files.c = {path + ":c"};
      files.types =
          std::string(type_name(setup.types.d)) + "." + std::string(type_name(setup.types.a)) +
          "." + std::string(type_name(setup.types.b)) + "." + std::string(type_name(setup.types.c));
      const ReadRuns back = read_runs(files);
      CHECK(back.types == setup.types);
      CHECK(back.runs[0].dots == run.dots);
      CHECK(back.runs[0].a == run.a);
      CHECK(back.runs[0].b == run.b);
      CHECK(back.runs[0].c == run.c);
    }
  }
}

TEST_CASE("one model alone needs no proposal") {
  const Setup setup{"s8", {s8, s8, s32, s32, s32}, {4, 4, 32}, false, false};
  Identification found = poorly_identified(setup, 0).identification;
  found.result.explaining.resize(1);
  CHECK_THROWS_AS(propose(found, 1), Error);
}

}  // namespace
}  // namespace binade::propose_test
