// SPDX-License-Identifier: Apache-2.0
//
// Sums that the engine's faster methods may get wrong, each at every level of the table against the
// definition.
#include <doctest/doctest.h>

#include <cstdint>
#include <utility>
#include <vector>
#ifdef __x86_64__
#include <immintrin.h>
#endif

#include "tests/lib/gemm/check_product.h"
#include "tests/lib/gemm/exact_product.h"

namespace binade::prepared_sums_test {
namespace {

using test::check_product;
using test::Random;
using test::Size;
using test::Tally;

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
  check_product(fused(half, 25), one_element({}, {}, {0xFFF00001}), 0, tally);
  check_product(test::model_of({"fma.rn.f16.f16.f16.f16", 0}, 4), one_element({}, {}, {0xFE00}), 0,
                tally);
  // m8n8k4 adds C, and so its NaN is no chain's.
  check_product(test::model_of({"mma.m8n8k4.f32.f16.f16.f32", 80}, 0),
                one_element({0x7E00, 0, 0, 0}, {0x3C00, 0, 0, 0}, {}), 0, tally);
  // Only the first of the parts begins at zero.
  GemmModel parts = fused(half, 25);
  parts.sum.splits[0] = {
      .parts = 2, .interleave = 4, .reduction = Reduction::pairs, .tail_after = true};
  check_product(
      parts,
      one_element(std::vector<std::uint64_t>(12), std::vector<std::uint64_t>(12), {0x08FFFFFF}), 0,
      tally);
  // 1 + 2^-30 - 1 after four zeros, as binary64 adds it, which floats do not.
  GemmModel tailed = test::model_of({"fma.rn.f32.f32.f32.f32", 0}, 0);
  tailed.sum.splits[0] = {
      .parts = 4, .interleave = 1, .tail_first = true, .tail_mul_add = binary64};
  const std::vector<std::uint64_t> ones(7, 0x3F800000);
  const GemmOperands after_four =
      one_element({0, 0, 0, 0, 0x3F800000, 0x30800000, 0xBF800000}, ones, {});
  CHECK(gemm_element(tailed, GemmElement<std::uint64_t>{after_four.a.data(), ones.data(), 7}) ==
        0x30800000);
  check_product(tailed, after_four, 0, tally);
  // Far beyond binary16, with signs.
  GemmModel quads{.model = {.recipe = Recipe::pairwise, .grid = binary16},
                  .types = {bfloat16, bfloat16, binary16, binary16},
                  .k = 4};
  quads.c = binary16;
  quads.epilogue = {.out = binary16};
  for (const std::uint64_t a : {0x7900, 0xF900, 0x7F00, 0x4780}) {
    check_product(quads, one_element({a, 0, 0, 0}, {0x3F80, 0, 0, 0}, {0x3C00}), 0, tally);
  }
  // A subnormal times an infinity is not a zero times an infinity, even if the caller flushes
  // subnormals.
  const GemmModel brain = fused({bfloat16, bfloat16, binary32, binary32}, 25);
  check_product(brain, one_element({0x0001}, {0x7F80}, {0}), 0, tally);
  // 2^-120, with bits below 2^-126, where the largest operands are ordinary ones.
  const std::uint64_t before_values = tally.values;
  check_product(brain, one_element({0x2181, 0x3F80}, {0x2181, 0x0000}, {}), 0, tally);
  CHECK(tally.values > before_values);
#ifdef __x86_64__
  const unsigned before = _mm_getcsr();
  _mm_setcsr(before | 0x8040);  // flushes results, and takes subnormal operands as zeros
  check_product(brain, one_element({0x0001}, {0x7F80}, {0}), 0, tally);
  _mm_setcsr(before);
#endif
  // Whether an operand is kept is decided by its code, not by its value in binary16.
  GemmModel kept = fused({bfloat16, bfloat16, binary32, binary32}, 25);
  kept.model.recipe = Recipe::expanded;
  kept.model.sparse_group = 4;
  kept.k = 8;
  check_product(kept,
                one_element({0x0D80, 0x3F80, 0x4000, 0, 0, 0, 0, 0},
                            {0x3F80, 0x3F80, 0x4100, 0, 0, 0, 0, 0}, {0}),
                0, tally);
  // A NaN that is no exponent of ones; and padding where there is no zero.
  const Format odd{5, 13, 16, Specials::fnuz};
  check_product(fused({binary16, binary16, odd, binary16}, 22),
                one_element({0x3C00}, {0x3C00}, {0x20000}), 0, tally);
  const Format without{5, 3, 15, Specials::ieee, false, true};
  check_product(fused({without, without, binary32, binary32}, 25), one_element({1}, {1}, {0}), 0,
                tally);
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
    check_product(wide, full, 0, tally);
    check_product(short_cut, small, 0, tally);
  }
  CHECK(tally.numbers > tally.elements / 2);
}

}  // namespace
}  // namespace binade::prepared_sums_test
