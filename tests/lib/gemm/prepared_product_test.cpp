// SPDX-License-Identifier: Apache-2.0
//
// The engine of products at every level of the kernels' table against the definition: every recipe
// and order, sizes that are no multiples of a tile's, rows and columns with NaN and infinities,
// sums that overflow midway, C first and last, bias, scales; whole products and single elements.
#include "lib/gemm/prepared_product.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>

#include "tests/lib/gemm/check_product.h"
#include "tests/lib/gemm/exact_product.h"

namespace binade::prepared_product_test {
namespace {

using test::check_product;
using test::Random;
using test::Size;
using test::Tally;

TEST_CASE("every recipe and order at every level") {
  Random random(1);
  Tally tally;
  constexpr std::array sizes{Size{1, 1, 70}, Size{5, 3, 16}, Size{3, 33, 35}, Size{9, 2, 1}};
  for (const test::NamedCase& row : test::product_cases) {
    CAPTURE(std::string(row.name));
    for (int order = 0; order < test::orders; ++order) {
      CAPTURE(order);
      const GemmModel g = test::model_of(row, order);
      if (!test::can_have(g, order)) continue;
      for (const Size& size : sizes) {
        CAPTURE(size.k);
        const bool with_c = random() % 4 != 0;
        const GemmOperands x = test::draw_product(random, g, size.m, size.n, size.k, with_c);
        check_product(g, x, 0, tally);
      }
    }
  }
  CHECK(tally.numbers > tally.elements / 3);
  CHECK(tally.numbers < tally.elements);
  CHECK(tally.values > tally.elements / 10);
}

TEST_CASE("scales of runs of K, in the promotion and in the instruction") {
  Random random(9);
  for (const test::ScaledCase& row : test::scaled_cases()) {
    CAPTURE(row.name);
    Tally tally;
    for (const Size& size : {Size{1, 1, 70}, Size{5, 33, 96}, Size{9, 35, 33}, Size{4, 32, 128}}) {
      CAPTURE(size.k);
      GemmOperands x = test::draw_product(random, row.g, size.m, size.n, size.k, random() % 2 == 0);
      test::draw_runs(random, row.g, x);
      if (random() % 2 == 0 && !x.runs.b.empty()) x.runs.b.back() = 0x7FC00000;
      check_product(row.g, x, 0, tally);
    }
    CHECK(tally.numbers > tally.elements / 4);
  }
}

constexpr std::array some_cases{
    test::NamedCase{"mma.m16n8k16.f32.f16.f16.f32", 90},
    test::NamedCase{"mma.m16n8k32.f32.e5m2.e4m3.f32", 90},
    test::NamedCase{"mma.m16n8k16.f16.f16.f16.f16", 90},
    test::NamedCase{"wmma.m16n16k16.f16.f16.f16.f32", 80},
    test::NamedCase{"mma.m8n8k4.f16.f16.f16.f16", 90},
    test::NamedCase{"fma.rn.f32.f32.f32.f32", 0},
    test::NamedCase{"mul_add.rn.f16.f16.f16.f16", 0},
};

/// Returns a number of usual size.
std::uint64_t usual(Random& random, const Format& f) {
  return test::draw_at(random, f, test::between(random, -2, 2));
}
GemmOperands usual_operands(Random& random, const GemmModel& g, const Size& size) {
  GemmOperands x{size.m, size.n, size.k, {}, {}, {}, {}};
  for (std::size_t i = 0; i < x.m * x.k; ++i) x.a.push_back(usual(random, g.types.a));
  for (std::size_t i = 0; i < x.n * x.k; ++i) x.b.push_back(usual(random, g.types.b));
  for (std::size_t i = 0; i < x.m * x.n; ++i) x.c.push_back(usual(random, g.c));
  for (std::size_t j = 0; j < x.n; ++j) x.bias.push_back(usual(random, g.bias));
  return x;
}

TEST_CASE("tiles at the edges, more than one panel, and nothing at all") {
  Random random(2);
  Tally tally;
  for (const test::NamedCase& row : some_cases) {
    CAPTURE(std::string(row.name));
    for (const Size& size : {Size{4, 32, 20}, Size{7, 65, 9}, Size{8, 31, 33}, Size{0, 5, 16},
                             Size{5, 0, 16}, Size{2, 3, 0}}) {
      CAPTURE(size.n);
      for (const int order : {0, 2, 5, 7}) {
        const GemmModel g = test::model_of(row, order);
        check_product(g, usual_operands(random, g, size), 0, tally);
      }
    }
  }
  CHECK(tally.numbers > tally.elements * 9 / 10);
}

TEST_CASE(
    "a NaN or an infinity in a row or a column is the definition's, and spoils no neighbour") {
  Random random(3);
  for (const test::NamedCase& row : some_cases) {
    CAPTURE(std::string(row.name));
    for (const int order : {0, 1, 4, 6}) {
      Tally tally;
      const GemmModel g = test::model_of(row, order);
      GemmOperands x = usual_operands(random, g, {7, 37, 33});
      const auto nan = nan_bits(g.types.a, NanResult::quiet);
      const auto big = g.types.b.has_infinity() ? infinity_bits(g.types.b, true)
                                                : nan_bits(g.types.b, NanResult::quiet);
      x.a[2 * x.k + 17] = nan;
      x.b[33 * x.k] = big;
      x.c[5 * x.n + 3] = infinity_bits(g.c, false);
      check_product(g, x, 0, tally);
      const std::uint64_t spoilt = 37 + 7 - 1 + 1;
      if (!g.epilogue.saturate) CHECK(tally.numbers == tally.elements - spoilt);
    }
  }
}

TEST_CASE("what becomes infinite midway stays so, in that element alone") {
  Random random(4);
  for (const char* name :
       {"mma.m16n8k16.f16.f16.f16.f16", "fma.rn.f16.f16.f16.f16", "mul_add.rn.f16.f16.f16.f16"}) {
    CAPTURE(name);
    Tally tally;
    const GemmModel g = parse_gemm(name, 90).model;
    GemmOperands x = usual_operands(random, g, {5, 34, 64});
    for (std::size_t i = 0; i < 64; ++i) {  // far beyond 65504, and back
      x.a[3 * x.k + i] = i < 32 ? 0x7800 : 0xF800;
      x.b[33 * x.k + i] = 0x5000;
    }
    check_product(g, x, 0, tally);
    CHECK(tally.numbers < tally.elements);
    CHECK(tally.numbers > tally.elements / 2);
  }
}

TEST_CASE("multiply-adds of vectors that leave the straight way are counted, each by its way") {
  constexpr std::size_t m = 37, n = 45, k = 64;
  const GemmModel halves = parse_gemm("mma.m16n8k16.f32.f16.f16.f32", 90).model;
  const GemmModel brains = parse_gemm("mma.m16n8k16.f32.bf16.bf16.f32", 90).model;
  const auto operands = [](const GemmModel& g, double a, double b) {
    GemmOperands x{m, n, k, {}, {}, {}, {}};
    x.a.assign(m * k, project(exact_of(a), g.types.a).bits);
    x.b.assign(n * k, project(exact_of(b), g.types.b).bits);
    return x;
  };
  const auto detours = [](const GemmModel& g, const GemmOperands& x, const Kernels& table) {
    ProductDetours out;
    static_cast<void>(PreparedProduct(g, {.k = k}, table).all(x, {}, &out));
    return std::array{out.vectors.wide, out.vectors.alone, out.settled, out.defined};
  };
  using Counts = std::array<std::uint64_t, 4>;
  int with_vectors = 0;
  for (const auto& [name, level] : levels) {
    if (level <= Level::portable || !machine_has(level)) continue;
    const Kernels& table = kernels(level);
    if (!PreparedProduct(halves, {.k = k}, table).reading().packing.in_values) continue;
    CAPTURE(name);
    with_vectors += 1;
    CHECK(detours(halves, operands(halves, 1, 0.5), table) == Counts{});
    CHECK(detours(brains, operands(brains, 0x1p-70, 0x1p-70), table) == Counts{m * n * k});
    // 16 products of almost 4 by 25 bits, in the first block only, make c too large for the other
    // blocks to carry.
    const double most = 2 - 0x1p-10;
    CHECK(detours(halves, operands(halves, most, most), table) == Counts{0, m * n * 16});
    GemmOperands x = operands(brains, -0x1p63, 0x1p63);
    x.a[3 * k + 60] = infinity_bits(bfloat16, false);  // a sum of the other sign before it
    CHECK(detours(brains, x, table) == Counts{m * n * k, 0, 0, n * k});
    x.a[3 * k + 60] = infinity_bits(bfloat16, true);
    CHECK(detours(brains, x, table) == Counts{m * n * k, 0, n * k, 0});
  }
  if (with_vectors == 0) MESSAGE("no level with vectors on this machine: nothing counted");
}

TEST_CASE(
    "scaled operands: the sum is rescaled before the bias, also by powers that binary32 lacks") {
  Random random(5);
  Tally tally;
  for (const test::NamedCase& row : some_cases) {
    CAPTURE(std::string(row.name));
    GemmModel g = test::model_of(row, 0);
    g.epilogue = {.out = binary32};
    for (const int scale : {-3, 17, -140, -252, 130, 252}) {
      CAPTURE(scale);
      GemmOperands x = usual_operands(random, g, {5, 33, 24});
      x.c.clear();
      check_product(g, x, scale, tally);
      x.bias.clear();
      check_product(g, x, scale, tally);
    }
  }
  CHECK(tally.numbers > tally.elements / 2);
}

TEST_CASE("integers of any bits, and K that is no multiple of an instruction's") {
  Random random(6);
  Tally tally;
  for (const char* name :
       {"mma.m16n8k16.s32.s8.u8.s32", "mma.m16n8k64.satfinite.s32.u4.s4.s32",
        "mma.m16n8k256.s32.b1.b1.s32.xor.popc", "mma.m16n8k256.s32.b1.b1.s32.and.popc"}) {
    CAPTURE(name);
    const GemmModel g = parse_gemm(name, 80).model;
    for (const Size& size : {Size{1, 1, 1}, Size{5, 33, 70}, Size{9, 40, 600}}) {
      GemmOperands x{size.m, size.n, size.k, {}, {}, {}, {}};
      const auto drawn = [&](const Format& f) { return random() >> (64 - f.bits()); };
      for (std::size_t i = 0; i < x.m * x.k; ++i) x.a.push_back(drawn(g.types.a));
      for (std::size_t i = 0; i < x.n * x.k; ++i) x.b.push_back(drawn(g.types.b));
      check_product(g, x, 0, tally);
    }
  }
}

TEST_CASE("models that take operands alike share them, others do not") {
  const auto reading = [](const char* name, int sm) {
    return reading_of(parse_gemm(name, sm).model, kernels(Level::portable));
  };
  const OperandReading hopper = reading("mma.m16n8k16.f32.f16.f16.f32", 90);
  CHECK(hopper == reading("mma.m16n8k16.f16.f16.f16.f16", 80));
  CHECK(hopper != reading("fma.rn.f32.f16.f16.f32", 0));
  CHECK(hopper != reading("mma.m16n8k16.f32.bf16.bf16.f32", 90));
  // The same types, once as they are and once as binary16.
  CHECK(reading("mma.m16n8k32.f32.e4m3.e4m3.f32", 89) !=
        reading("mma.m16n8k32.f32.e4m3.e4m3.f32", 90));
  CHECK(reading("fma.rn.f32.f16.f16.f32", 0) != reading("fma.rn.f16.f16.f16.f16", 0));
  CHECK(reading("mma.m16n8k16.s32.s8.s8.s32", 80).kernel == kernels(Level::portable).integers);
  const Kernels& reference = kernels(Level::reference);
  const GemmModel chain = parse_gemm("fma.rn.f32.f32.f32.f32", 0).model;
  CHECK(reading_of(chain, reference).kernel == reference.dot_blocks);
}

}  // namespace
}  // namespace binade::prepared_product_test
