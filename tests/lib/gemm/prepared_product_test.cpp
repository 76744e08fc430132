// SPDX-License-Identifier: Apache-2.0
//
// The engine at every level of the table against the definition: every recipe and order, sizes that are no multiples of a
// tile's, rows and columns with NaN and infinities, sums that overflow midway, C first and last, bias, scales; whole
// products and single elements.
#include "lib/gemm/prepared_product.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#ifdef __x86_64__
#include <immintrin.h>
#endif

#include "tests/lib/gemm/exact_product.h"

namespace binade::prepared_product_test {
namespace {

using test::Random;

struct Size {
  std::size_t m, n, k;
};

struct Tally {
  std::uint64_t elements = 0, numbers = 0, values = 0;
};

std::uint64_t defined(const GemmModel& g, const GemmElement<std::uint64_t>& x, int scale_log2) {
  return epilogue(g, x, rescaled(element_sum(g, x), scale_log2, g.epilogue.compute));
}

bool is_number(std::uint64_t bits, const Format& f) {
  if (is_integer(f)) return true;
  const Kind kind = decode(bits, f).kind;
  return kind == Kind::finite || kind == Kind::zero;
}

/// Lines of numbers laid out another way: k by k, the last first, two apart, and between them NaNs where k is odd.
struct Laid {
  std::vector<float> values;
  LinePlaces places;

  Laid(const std::vector<float>& numbers, std::size_t count, std::size_t k)
      : values(2 * numbers.size(), k % 2 == 0 ? 0 : std::numeric_limits<float>::quiet_NaN()),
        places(LinePlaces::dense(count, k)) {
    for (std::size_t i = 0; i < count; ++i) places.starts[i] = static_cast<std::int64_t>(2 * i);
    for (std::size_t i = 0; i < k; ++i) {
      places.offsets[i] = static_cast<std::int32_t>(2 * (k - 1 - i) * count);
    }
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      values[static_cast<std::size_t>(places.starts[i / k] + places.offsets[i % k])] = numbers[i];
    }
  }
};

/// Operands as numbers give D as numbers, where the model has them so: of NaNs any.
void check_values(const PreparedProduct& product, const GemmModel& g, const GemmOperands& x,
                  const std::vector<std::uint64_t>& expected, Tally& tally) {
  const auto inside = [](const Format& f) { return !is_integer(f) && fits_in(f, binary32); };
  if (!x.c.empty() || g.epilogue.out != binary32 || !inside(g.types.a) || !inside(g.types.b) ||
      (!x.bias.empty() && g.bias != binary32)) {
    return;
  }
  const auto numbers = [](const std::vector<std::uint64_t>& codes, const Format& f) {
    std::vector<float> out;
    for (const std::uint64_t code : codes) out.push_back(value_of<float>(code, f));
    return out;
  };
  const auto a = numbers(x.a, g.types.a), b = numbers(x.b, g.types.b),
             bias = numbers(x.bias, g.bias);
  const Laid rows(a, x.m, x.k), columns(b, x.n, x.k);
  std::vector<float> d(x.m * x.n);
  product.all({rows.places.of(rows.values.data()), columns.places.of(columns.values.data()), bias},
              d.data());
  REQUIRE(d.size() == expected.size());
  for (std::size_t at = 0; at < d.size(); ++at) {
    CAPTURE(at);
    const bool is_nan = decode(expected[at], binary32).kind == Kind::nan;
    REQUIRE((is_nan ? std::isnan(d[at]) : bits_of(d[at]) == expected[at]));
  }
  tally.values += d.size();
}

/// All of D and each element by itself, at every level.
void check(const GemmModel& g, const GemmOperands& x, int scale_log2, Tally& tally) {
  const ProductShape shape{x.k, !x.c.empty(), !x.bias.empty(), scale_log2};
  std::vector<std::uint64_t> expected;
  for (std::size_t i = 0; i < x.m; ++i) {
    for (std::size_t j = 0; j < x.n; ++j) {
      expected.push_back(defined(g, x.element(i, j), scale_log2));
      tally.elements += 1;
      tally.numbers += is_number(expected.back(), g.epilogue.out) ? 1 : 0;
    }
  }
  for (std::size_t level = 0; level < level_names.size(); ++level) {
    CAPTURE(level_names[level]);
    const Kernels& table = kernels(static_cast<Level>(level));
    const PreparedProduct product(g, shape, table);
    const std::vector<std::uint64_t> all = product.all(x);
    REQUIRE(all.size() == expected.size());
    for (std::size_t at = 0; at < all.size(); ++at) {
      CAPTURE(at);
      REQUIRE(all[at] == expected[at]);
    }
    check_values(product, g, x, expected, tally);
    const DecodedOperands operands = decoded(product.reading(), x.a, x.b, x.k);
    PreparedProduct::Space space = product.space();
    for (std::size_t at = 0; at < expected.size(); at += 1 + at / 7) {
      const std::size_t i = at / x.n, j = at % x.n;
      REQUIRE(product.element(operands, i, j, x.element(i, j), space) == expected[at]);
    }
  }
}

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
        check(g, x, 0, tally);
      }
    }
  }
  CHECK(tally.numbers > tally.elements / 3);
  CHECK(tally.numbers < tally.elements);
  CHECK(tally.values > tally.elements / 10);
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

/// A number of usual size.
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

GemmModel fused(const DotTypes& types, int fraction_bits) {
  GemmModel g{.model = {.fraction_bits = fraction_bits, .grid = types.d}, .types = types};
  if (types.d == binary16) g.model.rounding = Rounding::ties_to_even;
  g.sum.c_first = true;
  g.c = types.c;
  g.epilogue = {.out = types.d};
  return g;
}
GemmOperands one_element(std::vector<std::uint64_t> a, std::vector<std::uint64_t> b,
                         std::vector<std::uint64_t> c) {
  const std::size_t k = a.size();
  return {1, 1, k, std::move(a), std::move(b), std::move(c), {}};
}

TEST_CASE("single sums that a faster way may get wrong") {
  Tally tally;
  const DotTypes half{binary16, binary16, binary32, binary32};
  // Nothing is done to a C of no products.
  check(fused(half, 25), one_element({}, {}, {0xFFF00001}), 0, tally);
  check(test::model_of({"fma.rn.f16.f16.f16.f16", 0}, 4), one_element({}, {}, {0xFE00}), 0, tally);
  // m8n8k4 adds C, and so its NaN is no chain's.
  check(test::model_of({"mma.m8n8k4.f32.f16.f16.f32", 80}, 0),
        one_element({0x7E00, 0, 0, 0}, {0x3C00, 0, 0, 0}, {}), 0, tally);
  // Only the first of the parts begins at zero.
  GemmModel parts = fused(half, 25);
  parts.sum.splits[0] = {
      .parts = 2, .interleave = 4, .reduction = Reduction::pairs, .tail_after = true};
  check(parts,
        one_element(std::vector<std::uint64_t>(12), std::vector<std::uint64_t>(12), {0x08FFFFFF}),
        0, tally);
  // Far beyond binary16, with signs.
  GemmModel quads{.model = {.recipe = Recipe::pairwise, .grid = binary16},
                  .types = {bfloat16, bfloat16, binary16, binary16},
                  .k = 4};
  quads.c = binary16;
  quads.epilogue = {.out = binary16};
  for (const std::uint64_t a : {0x7900, 0xF900, 0x7F00, 0x4780}) {
    check(quads, one_element({a, 0, 0, 0}, {0x3F80, 0, 0, 0}, {0x3C00}), 0, tally);
  }
  // A subnormal is no zero, by an infinity, whoever asks.
  const GemmModel brain = fused({bfloat16, bfloat16, binary32, binary32}, 25);
  check(brain, one_element({0x0001}, {0x7F80}, {0}), 0, tally);
  // 2^-120, with bits below 2^-126, where the largest operands are ordinary ones.
  const std::uint64_t before_values = tally.values;
  check(brain, one_element({0x2181, 0x3F80}, {0x2181, 0x0000}, {}), 0, tally);
  CHECK(tally.values > before_values);
#ifdef __x86_64__
  const unsigned before = _mm_getcsr();
  _mm_setcsr(before | 0x8040);  // flushes results, and takes subnormal operands as zeros
  check(brain, one_element({0x0001}, {0x7F80}, {0}), 0, tally);
  _mm_setcsr(before);
#endif
  // Whether an operand is kept is asked of its code, not of what it becomes in binary16.
  GemmModel kept = fused({bfloat16, bfloat16, binary32, binary32}, 25);
  kept.model.recipe = Recipe::expanded;
  kept.model.sparse_group = 4;
  kept.k = 8;
  check(kept,
        one_element({0x0D80, 0x3F80, 0x4000, 0, 0, 0, 0, 0},
                    {0x3F80, 0x3F80, 0x4100, 0, 0, 0, 0, 0}, {0}),
        0, tally);
  // A NaN that is no exponent of ones; and padding where there is no zero.
  const Format odd{5, 13, 16, Specials::fnuz};
  check(fused({binary16, binary16, odd, binary16}, 22), one_element({0x3C00}, {0x3C00}, {0x20000}),
        0, tally);
  const Format without{5, 3, 15, Specials::ieee, false, true};
  check(fused({without, without, binary32, binary32}, 25), one_element({1}, {1}, {0}), 0, tally);
}

TEST_CASE("sums without room beside a wide C, and products at the end of what bytes hold") {
  Random random(11);
  Tally tally;
  const Size size{4, 32, 32};
  const GemmModel wide = fused({binary16, binary16, binary32, binary16}, 25);
  GemmModel short_cut = fused({bfloat16, bfloat16, binary32, binary32}, 14);
  for (int round = 0; round < 120; ++round) {
    GemmOperands full{size.m, size.n, 16, {}, {}, {}, {}},
        small{size.m, size.n, size.k, {}, {}, {}, {}};
    for (std::size_t i = 0; i < size.m * 16; ++i) full.a.push_back(0x3FFF - random() % 4);
    for (std::size_t i = 0; i < size.n * 16; ++i) full.b.push_back(0x3FFF - random() % 4);
    for (std::size_t i = 0; i < size.m * size.n; ++i) {
      full.c.push_back(test::draw_at(random, binary32, test::between(random, -2, 0)));
      small.c.push_back(0);
    }
    for (std::size_t i = 0; i < size.m * size.k; ++i)
      small.a.push_back(test::draw_at(random, bfloat16, -51));
    for (std::size_t i = 0; i < size.n * size.k; ++i) {
      small.b.push_back(test::draw_at(random, bfloat16, test::between(random, -52, -51)));
    }
    check(wide, full, 0, tally);
    check(short_cut, small, 0, tally);
  }
  CHECK(tally.numbers > tally.elements / 2);
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
        check(g, usual_operands(random, g, size), 0, tally);
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
      check(g, x, 0, tally);
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
    check(g, x, 0, tally);
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
  int levels = 0;
  for (const Level level : {Level::avx2, Level::avx512}) {
    const Kernels& table = kernels(level);
    if (!PreparedProduct(halves, {.k = k}, table).reading().packing.in_values) continue;
    CAPTURE(level_names[static_cast<std::size_t>(level)]);
    levels += 1;
    CHECK(detours(halves, operands(halves, 1, 0.5), table) == Counts{});
    CHECK(detours(brains, operands(brains, 0x1p-70, 0x1p-70), table) == Counts{m * n * k});
    // 16 products of almost 4 by 25 bits: the first block alone, which makes c too large for the others to carry.
    const double most = 2 - 0x1p-10;
    CHECK(detours(halves, operands(halves, most, most), table) == Counts{0, m * n * 16});
    GemmOperands x = operands(brains, -0x1p63, 0x1p63);
    x.a[3 * k + 60] = infinity_bits(bfloat16, false);  // a sum of the other sign before it
    CHECK(detours(brains, x, table) == Counts{m * n * k, 0, 0, n * k});
    x.a[3 * k + 60] = infinity_bits(bfloat16, true);
    CHECK(detours(brains, x, table) == Counts{m * n * k, 0, n * k, 0});
  }
  if (levels == 0) MESSAGE("no level with vectors on this machine: nothing counted");
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
      check(g, x, scale, tally);
      x.bias.clear();
      check(g, x, scale, tally);
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
      check(g, x, 0, tally);
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
