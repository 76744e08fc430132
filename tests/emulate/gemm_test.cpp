// SPDX-License-Identifier: Apache-2.0
//
// The order of whole products, without the arithmetic of instructions: sums written down by hand as
// expressions of dots and additions, padding that changes no bit and the cases where it does, the
// epilogue.
#include "emulate/gemm.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <span>
#include <string>
#include <vector>

#include "emulate/tensor_core.h"
#include "tests/emulate/dot_draw.h"
#include "tests/emulate/oracle_bridge.h"
#include "tests/oracle/operations.h"

namespace binade::gemm_test {
namespace {

using test::Random;

/// A walk as text: 0 and c are pushed, [...] are products, + and a role add.
struct Written {
  std::string text;

  void word(const std::string& x) { text += (text.empty() ? "" : " ") + x; }
  void push_zero(const Format&) { word("0"); }
  void push_c(const Format&) { word("c"); }
  void products(const InstructionPlaces& place) {
    std::string all;
    for (int i = 0; i < place.k; ++i) all += (i > 0 ? "," : "") + std::to_string(place(i));
    word("[" + all + "]");
  }
  void add(const Format&, Role role) { word(role == Role::promote ? "promote" : "+"); }
  void add_scaled(const Format&, int run) { word("scaled" + std::to_string(run)); }
  void convert(const Format&, Role) {}
};

/// How many products each accumulator has, in the order in which they begin.
struct SumSizes {
  std::vector<int> sizes;
  int depth = 0;

  void push_zero(const Format&) {
    sizes.push_back(0);
    ++depth;
  }
  void push_c(const Format&) { ++depth; }
  void products(const InstructionPlaces& place) {
    for (int i = 0; i < place.k; ++i) sizes.back() += place(i) >= 0 ? 1 : 0;
  }
  void add(const Format&, Role) { --depth; }
  void add_scaled(const Format&, int) { --depth; }
  void convert(const Format&, Role) {}
};

/// The formats of a walk: of what is pushed, of conversions, and, behind +, of sums.
struct WrittenFormats {
  std::string text;

  void word(const std::string& before, const Format& f) {
    text += (text.empty() ? "" : " ") + before + (f == binary32 ? "f32" : "bf16");
  }
  void push_zero(const Format& f) { word("", f); }
  void push_c(const Format& f) { word("c:", f); }
  void products(const InstructionPlaces&) {}
  void add(const Format& f, Role) { word("+", f); }
  void add_scaled(const Format& f, int) { word("+", f); }
  void convert(const Format& f, Role) { word("", f); }
};

GemmModel chain(int k_of_instruction) {
  GemmModel out;
  out.types = {binary16, binary16, binary32, binary32};
  out.k = k_of_instruction;
  return out;
}

std::string written(const GemmModel& g, int k) {
  Written out;
  walk_sum(g, k, {}, out);
  return out.text;
}

std::string formats(const GemmModel& g, int k) {
  WrittenFormats out;
  walk_sum(g, k, {}, out);
  return out.text;
}

TEST_CASE("the plain order is one instruction after the other, the last one padded") {
  CHECK(written(chain(4), 8) == "0 [0,1,2,3] [4,5,6,7]");
  CHECK(written(chain(4), 6) == "0 [0,1,2,3] [4,5,-1,-1]");
  CHECK(written(chain(4), 3) == "0 [0,1,2,-1]");
}

TEST_CASE("C can be what a sum begins with") {
  GemmModel g = chain(2);
  g.sum.c_first = true;
  CHECK(written(g, 4) == "c [0,1] [2,3]");
  g.sum.promote_every = 1;
  CHECK(written(g, 4) == "c 0 [0,1] promote 0 [2,3] promote");
  g.sum.promote_every = 0;
  g.sum.splits[0] = {.parts = 2};
  CHECK(written(g, 4) == "c 0 [0,1] + 0 [2,3] +");
  g.sum.splits[0].reduction = Reduction::pairs;
  CHECK(written(g, 4) == "0 [0,1] 0 [2,3] + c +");
}

TEST_CASE("the accumulator is promoted every n instructions, what is left over too") {
  GemmModel g = chain(2);
  g.sum.promote_every = 2;
  CHECK(written(g, 10) == "0 0 [0,1] [2,3] promote 0 [4,5] [6,7] promote 0 [8,9] promote");
}

TEST_CASE("instructions go through k downwards, or share groups of it") {
  GemmModel g = chain(4);
  g.sum.order.descending = true;
  CHECK(written(g, 10) == "0 [8,9,-1,-1] [4,5,6,7] [0,1,2,3]");
  g.sum.order = {.descending = false, .group = 2, .width = 2};
  CHECK(written(g, 8) == "0 [0,1,4,5] [2,3,6,7]");
  CHECK(written(g, 10) == "0 [0,1,4,5] [2,3,6,7] [8,9,-1,-1] [-1,-1,-1,-1]");
}

TEST_CASE("parts of K are runs of whole instructions, or take turns") {
  GemmModel g = chain(2);
  g.sum.splits[0] = {.parts = 3};
  CHECK(written(g, 10) == "0 [0,1] [2,3] 0 [4,5] [6,7] + 0 [8,9] +");
  g.sum.splits[0] = {.parts = 2, .tile = 4};  // 4, 4 and 2 products: two tiles and one
  CHECK(written(g, 10) == "0 [0,1] [2,3] [4,5] [6,7] 0 [8,9] +");
  g.sum.splits[0] = {.parts = 2, .interleave = 2};
  CHECK(written(g, 10) == "0 [0,1] [4,5] [8,9] 0 [2,3] [6,7] +");
  g.sum.splits[0].tail_after = true;
  CHECK(written(g, 10) == "0 [0,1] [4,5] 0 [2,3] [6,7] + [8,9]");
  g.sum.splits[0] = {.parts = 4};
  CHECK(written(g, 2) == "0 [0,1] 0 + 0 + 0 +");
}

TEST_CASE("parts are added in the order that the reduction says") {
  GemmModel g = chain(1);
  const auto with = [&g](int parts, Reduction reduction) {
    g.sum.splits[0] = {.parts = parts, .interleave = 1, .reduction = reduction};
    return written(g, parts);
  };
  CHECK(with(4, Reduction::ascending) == "0 [0] 0 [1] + 0 [2] + 0 [3] +");
  CHECK(with(4, Reduction::descending) == "0 [3] 0 [2] + 0 [1] + 0 [0] +");
  CHECK(with(4, Reduction::pairs) == "0 [0] 0 [1] + 0 [2] 0 [3] + +");
  CHECK(with(4, Reduction::halves) == "0 [0] 0 [2] + 0 [1] 0 [3] + +");
  CHECK(with(3, Reduction::pairs) == "0 [0] 0 [1] + 0 [2] +");
  CHECK(with(8, Reduction::halves) ==
        "0 [0] 0 [4] + 0 [2] 0 [6] + + 0 [1] 0 [5] + 0 [3] 0 [7] + + +");
}

TEST_CASE("trees over numbers of parts that are no powers of two differ") {
  GemmModel g = chain(1);
  const auto with = [&g](int parts, Reduction reduction) {
    g.sum.splits[0] = {.parts = parts, .interleave = 1, .reduction = reduction};
    return written(g, parts);
  };
  CHECK(with(6, Reduction::pairs) == "0 [0] 0 [1] + 0 [2] 0 [3] + + 0 [4] 0 [5] + +");
  CHECK(with(6, Reduction::bisect) == "0 [0] 0 [1] 0 [2] + + 0 [3] 0 [4] 0 [5] + + +");
  CHECK(with(6, Reduction::fold) == "0 [0] 0 [3] + 0 [2] 0 [5] + + 0 [1] 0 [4] + +");
  CHECK(with(6, Reduction::pairwise) == "0 [5] 0 [0] 0 [3] + + 0 [1] 0 [4] + + 0 [2] +");
  CHECK(with(5, Reduction::pairwise) == "0 [4] 0 [0] 0 [3] + + 0 [1] + 0 [2] +");
  CHECK(with(3, Reduction::pairwise) == "0 [2] 0 [0] + 0 [1] +");
  CHECK(with(2, Reduction::pairwise) == "0 [1] 0 [0] +");
}

TEST_CASE("a sum goes round from any part, or takes them as they are listed") {
  GemmModel g = chain(1);
  Split& split = g.sum.splits[0];
  split = {.parts = 4, .interleave = 1, .first = 3};
  CHECK(written(g, 4) == "0 [3] 0 [0] + 0 [1] + 0 [2] +");
  split.reduction = Reduction::descending;
  CHECK(written(g, 4) == "0 [2] 0 [1] + 0 [0] + 0 [3] +");
  split.reduction = Reduction::pairs;
  CHECK(written(g, 4) == "0 [3] 0 [0] + 0 [1] 0 [2] + +");
  split = {.parts = 4, .interleave = 1, .reduction = Reduction::listed, .order = {2, 0, 3, 1}};
  CHECK(written(g, 4) == "0 [2] 0 [0] + 0 [3] + 0 [1] +");
}

TEST_CASE("tiles are shared among runs in four ways") {
  const auto parts = [](TileShares shares, int k) {
    GemmModel g = chain(1);
    g.sum.splits[0] = {.parts = 6, .tile = 2, .shares = shares};
    SumSizes out;
    walk_sum(g, k, {}, out);
    return out.sizes;
  };
  using Sizes = std::vector<int>;
  CHECK(parts(TileShares::full, 28) == Sizes{6, 6, 6, 6, 4, 0});
  CHECK(parts(TileShares::balanced, 28) == Sizes{6, 6, 4, 4, 4, 4});
  CHECK(parts(TileShares::rest, 28) == Sizes{4, 4, 4, 4, 4, 8});
  CHECK(parts(TileShares::spread, 28) == Sizes{4, 4, 6, 4, 4, 6});
  CHECK(parts(TileShares::full, 27) == Sizes{6, 6, 6, 6, 3, 0});
  CHECK(parts(TileShares::balanced, 27) == Sizes{6, 6, 4, 4, 4, 3});
  CHECK(parts(TileShares::rest, 27) == Sizes{4, 4, 4, 4, 4, 7});
  CHECK(parts(TileShares::spread, 27) == Sizes{4, 4, 6, 4, 4, 5});
  CHECK(parts(TileShares::balanced, 5) == Sizes{2, 2, 1, 0, 0, 0});
  CHECK(parts(TileShares::rest, 5) == Sizes{0, 0, 0, 0, 0, 5});
}

TEST_CASE("parts end where a split lists it, as in a tile of stream-K") {
  GemmModel g = chain(1);
  g.sum.splits[0] = {.parts = 3, .tile = 2, .shares = TileShares::listed, .ends = {1, 4}};
  CHECK(written(g, 9) == "0 [0] [1] 0 [2] [3] [4] [5] [6] [7] + 0 [8] +");
  CHECK(written(g, 7) == "0 [0] [1] 0 [2] [3] [4] [5] [6] + 0 +");
}

TEST_CASE("the last two periods of a promotion can be halves, as OpenBLAS's blocks of K") {
  GemmModel g = chain(1);
  g.sum.promote_every = 320;
  g.sum.promote_halves = 16;
  for (int k = 1; k < 1400; k += 8) {
    // level3.c: 320 while 640 or more are left, then what is left halved, unless it is one block.
    std::vector<int> blocks{0};  // the register
    for (int left = k; left > 0; left -= blocks.back()) {
      blocks.push_back(left >= 640 ? 320 : left > 320 ? (left / 2 + 15) / 16 * 16 : left);
    }
    SumSizes out;
    walk_sum(g, k, {}, out);
    REQUIRE(out.sizes == blocks);
    if (k == 1025) CHECK(blocks == std::vector{0, 320, 320, 192, 193});
  }
}

TEST_CASE("rounds over the parts go backwards in whole runs of them, as NumPy's einsum goes") {
  GemmModel g = chain(1);
  g.sum.splits[0] = {.parts = 2, .interleave = 1, .backward = 2};
  CHECK(written(g, 11) == "0 [2] [0] [6] [4] [8] [10] 0 [3] [1] [7] [5] [9] +");
  g.sum.splits[0].interleave = 2;
  CHECK(written(g, 9) == "0 [4] [5] [0] [1] [8] 0 [6] [7] [2] [3] +");
}

TEST_CASE("products of a tail can be rounded and added one by one, as OpenBLAS's dot does") {
  GemmModel g = chain(1);
  g.sum.splits[0] = {.parts = 2, .interleave = 1, .tail_after = true, .tail_mul_add = bfloat16};
  g.sum.splits[1] = {.parts = 2, .interleave = 1};
  CHECK(written(g, 6) == "0 [0] 0 [2] + 0 [1] 0 [3] + + 0 [4] promote 0 [5] promote");
  CHECK(formats(g, 5).ends_with("+f32 f32 +bf16"));
  std::swap(g.sum.splits[0].tail_after, g.sum.splits[0].tail_first);
  CHECK(written(g, 6) == "0 [0] 0 [2] + 0 [1] 0 [3] + + 0 0 [4] promote 0 [5] promote +");
  CHECK(formats(g, 5).ends_with("+f32 bf16 f32 +bf16 +bf16"));
  CHECK(written(g, 4) == "0 [0] 0 [2] + 0 [1] 0 [3] + +");
}

TEST_CASE("two runs are divided again until they are short, as NumPy's sum is") {
  // NumPy cuts n > 128 at n / 2, less what that is above a multiple of 8.
  struct Numpy {
    std::vector<int> sizes;
    void sum(int n) {
      if (n <= 128) return sizes.push_back(n);
      const int half = n / 2 - n / 2 % 8;
      sum(half);
      sum(n - half);
    }
  };
  GemmModel g = chain(1);
  g.sum.splits[0] = {.parts = 2, .tile = 8, .shares = TileShares::rest, .until = 128};
  for (int k = 0; k < 3000; k += 7) {
    Numpy numpy;
    numpy.sum(k);
    SumSizes out;
    walk_sum(g, k, {}, out);
    REQUIRE(out.sizes == numpy.sizes);
    REQUIRE(out.depth == 1);
  }
  g.sum.splits[0] = {.parts = 2, .until = 2};
  CHECK(written(g, 5) == "0 [0] [1] 0 [2] + 0 [3] [4] +");
}

TEST_CASE("what remains of K can be what the sum of the parts begins with") {
  GemmModel g = chain(1);
  g.sum.splits[0] = {.parts = 2, .interleave = 1, .tail_first = true};
  CHECK(written(g, 5) == "0 [4] 0 [0] [2] + 0 [1] [3] +");
  CHECK(written(g, 4) == "0 [0] [2] 0 [1] [3] +");
  g.sum.splits[1] = {.parts = 2, .interleave = 1};
  CHECK(written(g, 6) == "0 [4] [5] 0 [0] 0 [2] + + 0 [1] 0 [3] + +");
  g.sum.splits[1] = {};
  g.sum.c_first = true;
  CHECK(written(g, 5) == "c 0 [4] + 0 [0] [2] + 0 [1] [3] +");
  g.sum.splits[0].reduction = Reduction::pairs;
  CHECK(written(g, 5) == "0 [0] [2] 0 [1] [3] + 0 [4] + c +");
}

TEST_CASE("parts are kept in one format and added in another") {
  GemmModel g = chain(1);
  g.sum.splits[0] = {.parts = 3};
  g.sum.partial = bfloat16;
  CHECK(formats(g, 3) == "f32 bf16 f32 bf16 +bf16 f32 bf16 +bf16");
  g.sum.reduced = binary32;
  CHECK(formats(g, 3) == "f32 bf16 f32 f32 bf16 +f32 f32 bf16 +f32");
  g.sum.partial = binary32;
  g.sum.reduced = bfloat16;
  CHECK(formats(g, 3) == "f32 f32 bf16 f32 f32 +bf16 f32 f32 +bf16");
  g.sum.splits[0].reduction = Reduction::pairs;
  CHECK(formats(g, 3) == "f32 f32 f32 f32 +bf16 f32 f32 +bf16");
  g.sum.splits[0].reduction = Reduction::ascending;
  g.sum.c_first = true;
  CHECK(formats(g, 2) == "c:bf16 f32 f32 +bf16 f32 f32 +bf16 f32 f32 +bf16");
}

TEST_CASE("splits lie in each other, the outermost first") {
  GemmModel g = chain(1);
  g.sum.splits[0] = {.parts = 2};
  g.sum.splits[1] = {.parts = 2, .interleave = 1};
  CHECK(written(g, 8) == "0 [0] [2] 0 [1] [3] + 0 [4] [6] 0 [5] [7] + +");
}

TEST_CASE("a short round comes first, and the second product of a chain before the first") {
  GemmModel g = chain(1);
  g.sum.splits[0] = {.parts = 2, .interleave = 1, .short_first = true};
  CHECK(written(g, 5) == "0 [0] [1] [3] 0 [2] [4] +");
  CHECK(written(g, 4) == "0 [0] [2] 0 [1] [3] +");
  g.sum.splits[0] = {.parts = 3, .interleave = 2, .short_first = true};
  CHECK(written(g, 9) == "0 [0] [1] [3] [4] 0 [2] [5] [6] + 0 [7] [8] +");
  g.sum.splits[0] = {};
  g.sum.order.second_first = true;
  CHECK(written(g, 3) == "0 [1] [0] [2]");
  CHECK(written(g, 1) == "0 [0]");
  g.sum.promote_every = 2;
  CHECK(written(g, 5) == "0 0 [1] [0] promote 0 [3] [2] promote 0 [4] promote");
}

TEST_CASE("every product takes part once, in any order") {
  Random random(3);
  for (int i = 0; i < 2000; ++i) {
    GemmModel g = chain(1 << test::between(random, 0, 4));
    g.sum.order.descending = random() % 2 == 0;
    g.sum.order.second_first = random() % 4 == 0;
    if (g.k > 1 && random() % 2 == 0) {
      g.sum.order.group = test::between(random, 2, 4);
      g.sum.order.width = g.k / 2;
    }
    g.sum.promote_every = test::between(random, 0, 3);
    g.sum.promote_halves = test::between(random, 0, 4);
    for (Split& split : g.sum.splits) {
      split.parts = test::between(random, 1, 5);
      split.interleave = test::between(random, 0, 3);
      split.reduction = static_cast<Reduction>(random() % 8);
      split.tail_after = random() % 2 == 0;
      split.tail_first = random() % 4 == 0;
      split.shares = static_cast<TileShares>(random() % 6);
      split.backward = test::between(random, 1, 4);
      split.short_first = split.backward == 1;
      if (random() % 4 == 0) split.tail_mul_add = binary64;
      for (std::size_t at = 0; at < split.ends.size(); ++at) {
        split.ends[at] =
            static_cast<std::uint32_t>(at == 0 ? 1 : split.ends[at - 1] + random() % 4);
      }
      if (random() % 4 == 0) split.tile = test::between(random, 1, 40);
      if (split.parts == 2 && random() % 2 == 0) split.until = test::between(random, 16, 40);
      for (std::size_t at = 0; at < split.order.size(); ++at) {
        split.order[at] = static_cast<std::uint8_t>(at);
      }
      std::ranges::shuffle(std::span(split.order).first(static_cast<std::size_t>(split.parts)),
                           random);
      split.first =
          split.reduction == Reduction::listed ? 0 : test::between(random, 0, split.parts - 1);
    }
    struct Counted {
      std::vector<int> seen;
      int depth = 0;
      void push_zero(const Format&) { ++depth; }
      void push_c(const Format&) { ++depth; }
      void products(const InstructionPlaces& place) {
        for (int at = 0; at < place.k; ++at) {
          if (place(at) >= 0) seen[static_cast<std::size_t>(place(at))] += 1;
        }
      }
      void add(const Format&, Role) { --depth; }
      void add_scaled(const Format&, int) { --depth; }
      void convert(const Format&, Role) {}
    };
    const int k = test::between(random, 1, 200);
    Counted counted{std::vector<int>(static_cast<std::size_t>(k))};
    walk_sum(g, k, {}, counted);
    CAPTURE(k);
    REQUIRE(counted.depth == 1);
    REQUIRE(std::ranges::all_of(counted.seen, [](int n) { return n == 1; }));
  }
}

std::uint64_t added(std::uint64_t x, std::uint64_t y, const Format& f) {
  const auto value = [&f](std::uint64_t bits) { return oracle::value_of(bits, test::spec_of(f)); };
  const oracle::Oracle judge(test::spec_of(f), oracle::Oracle::Method::division);
  const auto sum =
      oracle::compute(oracle::Operation::add, value(x), value(y), {}, oracle::Way::nearest_even);
  return judge.round(sum.value, test::rules_of({.nan = NanResult::nvidia})).bits;
}

TEST_CASE("a sum is its instructions', added to nearest where the order says so") {
  Random random(4);
  const Instruction x =
      *find_instruction(Family::mma, 90, 16, 8, 16, {binary16, binary16, binary32, binary32});
  for (int i = 0; i < 400; ++i) {
    const test::DrawnDot row = test::draw_dot(random, x.types, 64);
    const auto part = [&](int first, std::uint64_t c) {
      return dot(x.model, x.types, row.a.data() + first, row.b.data() + first, 16, c);
    };
    GemmModel g{.model = x.model, .types = x.types, .k = 16};
    const GemmElement<std::uint64_t> element{row.a.data(), row.b.data(), 64, row.c, 0, true, false};
    g.epilogue.beta = 0;
    CHECK(gemm_element(g, element) == part(48, part(32, part(16, part(0, 0)))));
    g.sum.c_first = true;
    CHECK(gemm_element(g, element) == part(48, part(32, part(16, part(0, row.c)))));
    g.sum.c_first = false;
    g.sum.promote_every = 2;
    CHECK(gemm_element(g, element) ==
          added(added(0, part(16, part(0, 0)), binary32), part(48, part(32, 0)), binary32));
    g.sum.promote_every = 0;
    g.sum.splits[0] = {.parts = 2};
    g.epilogue.beta = 1;
    const std::uint64_t halves = added(part(16, part(0, 0)), part(48, part(32, 0)), binary32);
    CHECK(gemm_element(g, element) == added(halves, row.c, binary32));
  }
}

/// Fused blocks, padded with as many zeros again, and without.
TEST_CASE("zeros after the last product change no bit of a fused sum") {
  Random random(5);
  std::uint64_t rows = 0;
  for (const int sm : {70, 75, 80, 89, 90, 100, 120}) {
    for (const ModelRow& row : model_rows) {
      const bool here = sm >= row.first_sm && sm <= row.last_sm;
      if (!here || row.model.recipe != Recipe::fused_block || is_integer(row.d)) continue;
      const Format in = contains(row.operands, binary16)   ? binary16
                        : contains(row.operands, bfloat16) ? bfloat16
                        : contains(row.operands, tf32)     ? tf32
                                                           : e4m3;
      const DotTypes types{in, in, row.d, row.d};
      for (int i = 0; i < 200; ++i) {
        const int k = test::between(random, 1, 40);
        test::DrawnDot x = test::draw_dot(random, types, k);
        const std::uint64_t alone = dot(row.model, types, x.a.data(), x.b.data(), k, x.c);
        x.a.resize(80);
        x.b.resize(80);
        REQUIRE(dot(row.model, types, x.a.data(), x.b.data(), 80, x.c) == alone);
        ++rows;
      }
    }
  }
  CHECK(rows > 5000);
}

TEST_CASE("zeros alone are not neutral: a sum of nothing is +0, and F = 13 cuts what it gets") {
  const DotTypes types{e4m3, e4m3, binary32, binary32};
  const Instruction wgmma = *find_instruction(Family::wgmma, 90, 64, 8, 32, types);
  const std::uint64_t zeros[32]{};
  CHECK(dot(wgmma.model, types, zeros, zeros, 32, 0x80000000) == 0);
  CHECK(dot(wgmma.model, types, zeros, zeros, 32, 0x3F800001) == 0x3F800000);
  const DotTypes f64{binary64, binary64, binary64, binary64};
  const Instruction dmma = *find_instruction(Family::mma, 80, 8, 8, 4, f64);
  const std::uint64_t minus_zero = std::uint64_t{1} << 63;
  CHECK(dot(dmma.model, f64, zeros, zeros, 4, minus_zero) == 0);
  GemmModel g{.model = dmma.model, .types = f64, .k = 4, .c = binary64};
  g.sum.c_first = true;
  g.epilogue.compute = g.epilogue.out = binary64;
  const std::uint64_t one = std::uint64_t{1023} << 52;
  const GemmElement<std::uint64_t> x{&minus_zero, &one, 1, minus_zero, 0, true, false};
  CHECK(gemm_element(g, x) == 0);
}

TEST_CASE("the epilogue: alpha, beta, bias, output, in both orders") {
  GemmModel g = chain(16);
  const std::uint64_t one[]{0x3C00};  // 1 · 3 = 3
  const std::uint64_t three[]{0x4200};
  GemmElement<std::uint64_t> x{one, three, 1, 0x40A00000, 0x3F000000, true, true};  // C 5, bias 1/2
  CHECK(gemm_element(g, x) == 0x41080000);                                          // 8.5
  g.epilogue.alpha = 2;
  g.epilogue.beta = -1;
  CHECK(gemm_element(g, x) == 0x3FC00000);  // 6 - 5 + 0.5
  g.epilogue.sum_last = false;
  CHECK(gemm_element(g, x) == 0x3FC00000);
  g.epilogue.out = binary16;
  CHECK(gemm_element(g, x) == 0x3E00);
  g.epilogue.beta = 0;
  CHECK(gemm_element(g, x) == 0x4680);  // 6.5, C not read
  x.c = 0x7FC00000;
  CHECK(gemm_element(g, x) == 0x4680);
  g.epilogue.alpha = 65536;
  CHECK(gemm_element(g, x) == 0x7C00);
  g.epilogue.saturate = true;
  CHECK(gemm_element(g, x) == 0x7BFF);
}

TEST_CASE("the last rounding has a direction, and D the format's largest number toward zero") {
  GemmModel g = chain(16);
  g.epilogue.out = bfloat16;
  const std::uint64_t one[]{0x3C00}, minus_one[]{0xBC00};
  const std::uint64_t tie[]{0x3C04}, above[]{0x3C06};  // 1 + 1/2 and 3/4 of bfloat16's 2^-7
  const auto d = [&](Rounding rounding, const std::uint64_t* a, const std::uint64_t* b) {
    g.epilogue.rounding = rounding;
    return gemm_element(g, GemmElement<std::uint64_t>{a, b, 1, 0, 0, false, false});
  };
  CHECK(d(Rounding::ties_to_even, one, tie) == 0x3F80);
  CHECK(d(Rounding::ties_to_away, one, tie) == 0x3F81);
  CHECK(d(Rounding::to_odd, one, tie) == 0x3F81);
  CHECK(d(Rounding::ties_to_even, one, above) == 0x3F81);
  CHECK(d(Rounding::toward_zero, one, above) == 0x3F80);
  CHECK(d(Rounding::toward_positive, one, tie) == 0x3F81);
  CHECK(d(Rounding::toward_positive, minus_one, above) == 0xBF80);
  CHECK(d(Rounding::toward_negative, minus_one, tie) == 0xBF81);
  g.epilogue.out = e4m3;
  const std::uint64_t large[]{0x6400};  // 1024; the largest number of e4m3 is 448
  CHECK(d(Rounding::ties_to_even, one, large) == 0x7F);
  CHECK(d(Rounding::toward_zero, one, large) == 0x7E);
}

TEST_CASE("a sum is rounded before the bias, a result on the way to D, and below zero to zero") {
  GemmModel g = chain(16);
  const std::uint64_t one[]{0x3C00}, above[]{0x3C06};                       // 1 + 3/4 · 2^-7
  GemmElement<std::uint64_t> x{one, above, 1, 0, 0x3B000000, false, true};  // bias 2^-9
  CHECK(gemm_element(g, x) == 0x3F810000);                                  // 1 + 2^-7
  g.epilogue.sum = bfloat16;
  CHECK(gemm_element(g, x) == 0x3F814000);  // 1 + 2^-7 + 2^-9
  CHECK(finished(g, x, element_sum(g, x)).bits == 0x3F814000);
  g.epilogue = {.out = e4m3};
  x.has_bias = false;
  const std::uint64_t near_tie[]{0x3C41};  // 1 + 2^-4 + 2^-10
  x.b = near_tie;
  CHECK(gemm_element(g, x) == 0x39);  // 1.125
  g.epilogue.through = bfloat16;
  CHECK(gemm_element(g, x) == 0x38);  // 1 + 2^-4 became a tie
  CHECK((finished(g, x, element_sum(g, x)).format == bfloat16));
  g.epilogue = {.activation = Activation::relu};
  CHECK(gemm_element(g, x) == 0x3F882000);
  const std::uint64_t minus_one[]{0xBC00}, minus_zero[]{0x8000}, nan[]{0x7E00};
  for (const std::uint64_t* b : {minus_one, minus_zero}) {
    x.b = b;
    CHECK(gemm_element(g, x) == 0);
  }
  x.b = nan;
  CHECK(gemm_element(g, x) == 0x7FFFFFFF);
}

/// The machine's float and double are the oracle.
TEST_CASE("an integer is converted, and multiplied by scales in the order of the model") {
  Random random(12);
  const auto bits = [](float x) { return std::uint64_t{std::bit_cast<std::uint32_t>(x)}; };
  const auto draw = [&random] { return std::ldexp(static_cast<float>(random() >> 40), -24); };
  int orders_differ = 0;
  for (int round = 0; round < 100; ++round) {
    const auto sum = static_cast<std::int32_t>(random());
    const float s = static_cast<float>(sum), a = draw(), b = draw(), bias = draw();
    const double exact = sum;
    GemmElement<std::uint64_t> x{.bias = bits(bias), .a_scale = bits(a), .b_scale = bits(b)};
    GemmModel g;
    Epilogue& e = g.epilogue;
    const auto d = [&] { return epilogue(g, x, {static_cast<std::uint32_t>(sum), s32}); };
    REQUIRE(d() == bits(s));
    x.has_b_scale = true;
    REQUIRE(d() == bits(s * b));
    x.has_bias = true;
    REQUIRE(d() == bits(s * b + bias));
    x.has_a_scale = true;
    REQUIRE(d() == bits(s * a * b + bias));
    e.sum_last = false;
    REQUIRE(d() == bits(std::fma(s * a, b, bias)));
    e.scales = ScaleOrder::b_first;
    REQUIRE(d() == bits(std::fma(s * b, a, bias)));
    e.scales = ScaleOrder::together;
    REQUIRE(d() == bits(std::fma(s, a * b, bias)));
    e.bias_first = true;
    REQUIRE(d() == bits((s + bias) * (a * b)));
    e.scales = ScaleOrder::a_first;
    REQUIRE(d() == bits((s + bias) * a * b));
    e.bias_first = x.has_bias = false;
    e.compute = binary64;
    REQUIRE(d() == bits(static_cast<float>(exact * a * b)));
    e.sum = binary32;
    REQUIRE(d() == bits(static_cast<float>(double{s} * a * b)));
    orders_differ += s * a * b != s * b * a ? 1 : 0;
  }
  CHECK(orders_differ > 10);
}

TEST_CASE("which product of the epilogue is fused shows in the last bit") {
  GemmModel g = chain(1);
  g.model = {Recipe::fma_chain, 1, 0, 0, binary32, Rounding::ties_to_even};
  g.types = {binary32, binary32, binary32, binary32};
  const std::uint64_t one[]{0x3F800000};
  const std::uint64_t sum[]{0x3F800001};  // 1 + 2^-23
  const GemmElement<std::uint64_t> x{one, sum, 1, 0x3F800001, 0, true, false};
  g.epilogue.alpha = 1 + 0x1p-23;  // alpha·sum = 1 + 2^-22 + 2^-46
  g.epilogue.beta = -1 - 0x1p-23;
  CHECK(gemm_element(g, x) == 0x28800000);  // fma(alpha, sum, rounded): + 2^-46
  g.epilogue.sum_last = false;
  CHECK(gemm_element(g, x) == 0xA8800000);  // fma(beta, C, rounded): - 2^-46
}

}  // namespace
}  // namespace binade::gemm_test
