// SPDX-License-Identifier: Apache-2.0
//
// A kernel that computes its last rows in another order: no model explains it, two models together
// do, and a match by chance is never taken for that.
#include "lib/identify/together.h"
#include "lib/identify/rare_orders.h"
#include "lib/identify/streams.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <span>

#include "lib/identify/hypotheses.h"
#include "lib/identify/text.h"
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
  return identify(types, {run}, {}, {.rare = false});
}

TEST_CASE("rows of another order are told, and where they lie") {
  const Identification found = edges(f32_all, 16, false);
  CHECK(found.result.explaining.empty());
  const std::vector<TogetherPart> parts = together(found).parts;
  REQUIRE(parts.size() == 2);
  CHECK(parts[0].equal >= 12 * 16);
  CHECK(parts[0].first_row == 0);
  CHECK(parts[0].last_row == 11);
  CHECK(parts[1].first_row == 12);
  CHECK(parts[1].last_row == 15);
  CHECK(parts[0].alone.size() + parts[1].alone.size() <= found.result.elements);
  CHECK(parts[1].candidate.model.sum.splits[0].parts == 2);
  CHECK(parts[1].whole_rows == std::vector<std::size_t>{12, 13, 14, 15});
  CHECK(parts[1].whole_columns.empty());
  const std::string text = identification_text(found, 1);
  CHECK(text.find("by this alone, among them whole rows 12..15\n") != std::string::npos);
  CHECK(text.ends_with("explains every bit alone; 2 explain every bit between them\n"));
}

TEST_CASE("an edge of one column is told, though few of its elements differ") {
  constexpr std::size_t size = 16;
  Random random(7);
  KernelRun run = test::draw_run(random, f32_all, {size, size, 64}, false, false);
  const auto all = candidates_for(cores_for(f32_all), {f32_all, 64, false, false, {}});
  GemmModel other = all[0].model;
  other.sum.splits[0] = {16, 1, Reduction::pairs, false};
  test::compute(all[0].model, run);
  for (std::size_t at = size - 1; at < run.size(); at += size) {
    run.d[at] = gemm_element(other, run.element(at));
  }
  const Identification found =
      identify(f32_all, {run}, {}, {.rare = false}, {}, {.instructions = false, .tf32 = false});
  CHECK(found.result.explaining.empty());
  const std::vector<TogetherPart> parts = together(found).parts;
  REQUIRE(parts.size() == 2);
  CHECK(parts[1].whole_columns == std::vector<std::size_t>{size - 1});
}

TEST_CASE("one element that is added in a third way is left open, and what few others are, too") {
  constexpr std::size_t size = 24;
  Random random(7);
  KernelRun run = test::draw_run(random, f32_all, {size, size, 64}, false, false);
  const auto all = candidates_for(cores_for(f32_all), {f32_all, 64, false, false, {}});
  GemmModel other = all[0].model, third = other;
  other.sum.splits[0] = {16, 1, Reduction::pairs, false};
  third.sum.splits[0] = {16, 1, Reduction::halves, false};
  test::compute(all[0].model, run);
  const std::uint64_t corner = run.d.back();
  for (std::size_t at = size - 1; at < run.size(); at += size) {
    run.d[at] = gemm_element(other, run.element(at));
  }
  run.d.back() = gemm_element(third, run.element(run.size() - 1));
  REQUIRE(run.d.back() != corner);
  const auto identified = [](const KernelRun& x) {
    return identify(f32_all, {x}, {}, {.rare = false}, {}, {.instructions = false, .tf32 = false});
  };
  Identification found = identified(run);
  Together x = together(found);
  CHECK(x.parts.size() == 2);
  CHECK(x.undecided == std::vector<std::size_t>{size * size - 1});
  const std::string text = identification_text(found, 1);
  CAPTURE(text);
  CHECK(text.ends_with("2 explain all but 1 of 576 elements between them\n"));
  // Of one column only the corner and two more differ from the chain.
  for (std::size_t at = size - 1; at + 3 * size < run.size(); at += size) {
    run.d[at] = gemm_element(all[0].model, run.element(at));
  }
  found = identified(run);
  x = together(found);
  REQUIRE(x.parts.size() == 1);
  CHECK(x.parts[0].candidate.model == all[0].model);
  CHECK(x.undecided.size() + x.parts[0].equal == size * size);
}

TEST_CASE("all orders of six parts are rare ones, also where the last is shorter") {
  const Candidate plain = candidates_for(cores_for(f32_all), {f32_all, 176, false, false, {}})[0];
  const std::vector<Order> orders = rare_orders(plain.model, 176, binary32);
  CHECK(std::ranges::any_of(orders, [](const Order& x) {
    const Split& split = x.sum.splits[0];
    return split.parts == 6 && split.tile == 32 && split.reduction == Reduction::listed &&
           std::ranges::equal(std::span(split.order).first(6), std::array{3, 5, 0, 2, 4, 1});
  }));
}

TEST_CASE("a ring's chunks of rows are told with the part that each begins with") {
  Random random(2);
  const std::size_t rows = 8, columns = 64, k = 8;
  KernelRun run = test::draw_run(random, f32_all, {rows, columns, k}, false, false);
  const auto f32 = [](std::uint64_t code) {
    return std::bit_cast<float>(static_cast<std::uint32_t>(code));
  };
  for (std::size_t at = 0; at < run.size(); ++at) {
    const GemmElement<std::uint64_t> x = run.element(at);
    // Each of 4 devices has two products, each product and sum is rounded.
    const auto part = [&](std::size_t i) {
      const volatile float first = f32(x.a[2 * i]) * f32(x.b[2 * i]);
      const volatile float second = f32(x.a[2 * i + 1]) * f32(x.b[2 * i + 1]);
      return first + second;
    };
    const std::size_t begin = 1 + run.row(at) / 2;  // each device finishes two rows
    volatile float sum = part(begin % 4);
    for (std::size_t i = begin + 1; i < begin + 4; ++i) sum = sum + part(i % 4);
    run.d[at] = std::bit_cast<std::uint32_t>(float{sum});
  }
  const Identification found = identify(f32_all, {run}, {}, {});
  CHECK(found.result.explaining.empty());
  const std::vector<TogetherPart> parts = together(found).parts;
  REQUIRE(parts.size() == 4);
  for (std::size_t i = 0; i < 4; ++i) {
    CHECK(parts[i].first_row == 2 * i);
    CHECK(parts[i].last_row == 2 * i + 1);
    const Split& split = parts[i].candidate.model.sum.splits[0];
    CHECK(split.parts == 4);
    CHECK(split.first == static_cast<int>(i + 1) % 4);
  }
  // That some order gives each element is no news then.
  for (const KernelHypothesis& one : hypotheses_of(found).told) {
    CHECK(one.words.find("atomics") == std::string::npos);
  }
  CHECK(identification_text(found, 1).find("Every bit between them, as in a ring of 4 parts") !=
        std::string::npos);
}

/// A D of tiles of 64 columns whose K is cut at `cuts`, as stream-K cuts it, or not at all where
/// that is 0: the instruction sums each part from +0, and the parts are added as floats.
Identification streams(const std::vector<std::size_t>& cuts) {
  Random random(3);
  const KernelTypes types{binary16, binary16, binary32, binary32, binary32};
  KernelRun run = test::draw_run(random, types, {8, 64 * cuts.size(), 128}, false, false);
  for (std::vector<std::uint64_t>* codes : {&run.a, &run.b}) {  // between 1 and 2, of any sign
    for (std::uint64_t& code : *codes) code = 0x3C00 | (random() & 0x83FF);
  }
  const Searched hopper{.architectures = {90}};
  const GemmModel plain = parse_gemm("mma.m16n8k16.f32.f16.f16.f32", 90).model;
  const auto sum = [&](const GemmElement<std::uint64_t>& x, std::size_t first, std::size_t end) {
    const std::uint64_t code = gemm_element(
        plain, GemmElement<std::uint64_t>{x.a + first, x.b + first, static_cast<int>(end - first)});
    return std::bit_cast<float>(static_cast<std::uint32_t>(code));
  };
  for (std::size_t at = 0; at < run.size(); ++at) {
    const GemmElement<std::uint64_t> x = run.element(at);
    const std::size_t cut = cuts[run.column(at) / 64];
    const volatile float d = cut == 0 ? sum(x, 0, 128) : sum(x, 0, cut) + sum(x, cut, 128);
    run.d[at] = std::bit_cast<std::uint32_t>(float{d});
  }
  return identify(types, {run}, {}, {.nearest = 5, .rare = false}, {}, hopper);
}

TEST_CASE("tiles of stream-K are told with where K is cut in each") {
  Identification found = streams({32, 96});
  CHECK_FALSE(search_streams(found));  // no equal shares of workers end there
  CHECK(found.result.explaining.empty());
  const std::vector<TogetherPart> parts = together(found).parts;
  REQUIRE(parts.size() == 2);
  for (std::size_t i = 0; i < 2; ++i) {
    CHECK(options_of(parts[i].candidate.model) ==
          (i == 0 ? "--split 2:tile32:at1" : "--split 2:tile32:at3"));
    CHECK(parts[i].first_column / 64 == i);
    CHECK(parts[i].last_column / 64 == i);
  }
}

TEST_CASE("stream-K that cuts every tile as it was found to be cut is told as one model") {
  // Five tiles of four iterations on three workers, 7 7 6: cuts after 3 in tile 1, after 2 in
  // tile 3.
  Identification found = streams({0, 96, 0, 64, 0});
  CHECK(found.result.explaining.empty());
  Identification noisy = found;
  noisy.runs[0].d.back() ^= 1;
  CHECK_FALSE(search_streams(noisy));
  CHECK(together(noisy).parts.empty());
  REQUIRE(search_streams(found));
  REQUIRE(conclusion_of(found.result) == Conclusion::unique);
  const Candidate& model = found.candidate(found.result.explaining[0]);
  CHECK(options_of(model.model) == "--split 3:tile32:stream32x64");
  CHECK(together(found).parts.empty());
  CHECK(test::gives_all(model.model, found.runs[0]));
}

TEST_CASE("workers that share tiles of 32 rows in steps of 16 are told, of chains too") {
  // Six tiles, six steps each, seven workers: one does six, the others five.
  constexpr std::size_t m = 40, n = 192, k = 96, step = 16, rows = 32, columns = 64, workers = 7;
  Random random(5);
  KernelRun run = test::draw_run(random, f32_all, {m, n, k}, false, false);
  for (std::vector<std::uint64_t>* codes : {&run.a, &run.b}) {  // between 1 and 2, of any sign
    for (std::uint64_t& code : *codes) code = 0x3F800000 | (random() & 0x807FFFFF);
  }
  const auto number = [](std::uint64_t code) {
    return std::bit_cast<float>(static_cast<std::uint32_t>(code));
  };
  std::vector<float> d(m * n);
  std::size_t begin = 0;
  for (std::size_t worker = 0; worker < workers; ++worker) {
    const std::size_t end = begin + 36 / workers + (worker < 36 % workers ? 1 : 0);
    while (begin < end) {  // the worker's run of one tile
      const std::size_t tile = begin / 6, last = std::min(end, (tile + 1) * 6);
      const std::size_t row = tile / 3 * rows, column = tile % 3 * columns;
      for (std::size_t i = row; i < std::min(m, row + rows); ++i) {
        for (std::size_t j = column; j < column + columns; ++j) {
          float sum = 0;
          for (std::size_t at = begin % 6 * step; at < (last - tile * 6) * step; ++at) {
            sum = std::fma(number(run.a[i * k + at]), number(run.b[j * k + at]), sum);
          }
          d[i * n + j] = begin % 6 == 0 ? sum : d[i * n + j] + sum;
        }
      }
      begin = last;
    }
  }
  for (std::size_t at = 0; at < d.size(); ++at) run.d[at] = std::bit_cast<std::uint32_t>(d[at]);
  Identification found =
      identify(f32_all, {run}, {}, {.rare = false}, {}, {.instructions = false, .tf32 = false});
  REQUIRE(search_streams(found));
  REQUIRE(conclusion_of(found.result) == Conclusion::unique);
  CHECK(options_of(found.candidate(found.result.explaining[0]).model) ==
        "--split 7:tile16:stream32x64");
}

TEST_CASE("what only chance could cover is not told") {
  CHECK(together(edges(f32_all, 16, true)).parts.empty());
  CHECK(together(edges(f32_all, 5, false)).parts.empty());
  const KernelTypes narrow{binary16, binary16, binary16, binary16, binary16};
  const Identification found = edges(narrow, 8, true);
  CHECK(found.result.explaining.empty());
  CHECK(together(found).parts.empty());
}

}  // namespace
}  // namespace binade::together_test
