// SPDX-License-Identifier: Apache-2.0
//
// Error bounds: never below the error, by exact rational arithmetic, in every recipe and order and
// on hard operands; and close enough that a wrong kernel is found.
#include "lib/gemm/bound.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "emulate/carrier.h"
#include "lib/cases/dot_cases.h"
#include "lib/instruction/instruction_name.h"
#include "lib/instruction/rule_choice.h"
#include "tests/lib/gemm/exact_product.h"

namespace binade::test::bound_test {
namespace {

bool is_at_most(const Rational& x, const Upper& bound) { return x <= rational_of(bound.exact()); }

struct Seen {
  int elements = 0, special = 0, inexact = 0;
  double tightest = 0;  ///< error / bound
};

void check_element(const GemmModel& g, const GemmElement<std::uint64_t>& x, Seen& seen) {
  const ElementBound got = bound_of(g, x);
  const std::uint64_t d = gemm_element(g, x);
  REQUIRE(got.result == d);
  ++seen.elements;
  const auto value = rational_of(d, g.epilogue.out);
  const auto exact = exact_element(g, x);
  if (!value || !exact) REQUIRE(got.special);
  if (got.special) {
    ++seen.special;
    return;
  }
  const Rational error = abs(Rational(*value - exact->value));
  const Rational size = abs(exact->value);
  REQUIRE(rational_of(got.exact) == size);
  REQUIRE(got.negative == (exact->value < 0));
  REQUIRE(rational_of(got.error) == error);
  REQUIRE(rational_of(got.products) == exact->products);
  REQUIRE(is_at_most(error, got.bound));
  REQUIRE(is_at_most(error, got.any_order));
  REQUIRE(agreement_of(g, got, d) == Agreement::equal);
  if (error == 0) return;
  ++seen.inexact;
  seen.tightest = std::max(seen.tightest, divide(got.error, got.bound.exact()).value());
}

TEST_CASE("no element is further from the exact value than its bounds") {
  Random random(31);
  for (const NamedCase& row : product_cases) {
    Seen seen;
    for (int order = 0; order < orders; ++order) {
      const GemmModel g = model_of(row, order);
      if (!can_have(g, order)) continue;
      CAPTURE(std::string(row.name));
      CAPTURE(order);
      for (const std::size_t k : {1U, 4U, 16U, 33U, 70U}) {
        CAPTURE(k);
        const GemmOperands crossed = draw_product(random, g, 3, 2, k, k != 33);
        for (std::size_t at = 0; at < 6; ++at) {
          check_element(g, crossed.element(at / 2, at % 2), seen);
        }
        for (int i = 0; i < 6; ++i) check_element(g, draw_dots(random, g, k).element(0, 0), seen);
      }
    }
    CAPTURE(std::string(row.name));
    CHECK(seen.special < seen.elements * 2 / 3);
    CHECK(seen.inexact > seen.elements / 10);
    CHECK(seen.tightest > 0.05);
    INFO("worst error / bound: " << seen.tightest);
    CHECK(seen.tightest <= 1);
  }
}

TEST_CASE("scales and a bias before them count in exact values, errors and bounds") {
  Random random(32);
  Seen seen;
  for (const char* name : {"fma.rn.f32.f16.f16.f32", "fma.rn.f16.f16.f16.f16"}) {
    GemmModel g = parse_gemm(name, 0).model;
    for (int round = 0; round < 24; ++round) {
      CAPTURE(round);
      g.epilogue.scales = static_cast<ScaleOrder>(round % 3);
      g.epilogue.bias_first = round % 2 == 0;
      g.epilogue.sum_last = round % 4 < 2;
      GemmOperands x = draw_product(random, g, 2, 2, 5);
      for (int i = 0; i < 2; ++i) {
        if (round % 8 != 0) x.a_scale.push_back(draw_at(random, binary32, between(random, -6, 6)));
        if (round % 8 != 1) x.b_scale.push_back(draw_at(random, binary32, between(random, -6, 6)));
      }
      for (std::size_t at = 0; at < 4; ++at) check_element(g, x.element(at / 2, at % 2), seen);
    }
  }
  CHECK(seen.inexact > 20);
  CHECK(seen.special < seen.elements / 2);
}

TEST_CASE("scales of runs of K count in exact values, errors and bounds") {
  Random random(33);
  for (const ScaledCase& x : scaled_cases()) {
    CAPTURE(x.name);
    Seen seen;
    for (const std::size_t k : {1U, 32U, 70U, 130U}) {
      CAPTURE(k);
      for (int round = 0; round < 6; ++round) {
        GemmOperands product = round % 2 == 0 ? draw_product(random, x.g, 2, 2, k, round != 4)
                                              : draw_dots(random, x.g, k);
        draw_runs(random, x.g, product);
        check_element(x.g, product.element(0, 0), seen);
        check_element(x.g, product.element(product.m - 1, product.n - 1), seen);
      }
    }
    CHECK(seen.special < seen.elements * 4 / 5);
    CHECK(seen.inexact > 3);
  }
}

/// The exact value plus `error`, rounded to the output format.
std::uint64_t displaced(const GemmModel& g, const ElementBound& x, double error) {
  const double exact = to_scaled(x.exact).value() * (x.negative ? -1 : 1);
  return project(exact_of(exact + error), g.epilogue.out).bits;
}

GemmOperands normal_product(const GemmModel& g, std::size_t m, std::size_t k, unsigned seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  const auto draw = [&](const Format& f) {
    const double value = normal(random);
    return convert(bits_of(value), binary64, f).bits;
  };
  GemmOperands out{m, 1, k, {}, {}, {}, {}};
  for (std::size_t i = 0; i < m * k; ++i) out.a.push_back(draw(g.types.a));
  for (std::size_t i = 0; i < k; ++i) out.b.push_back(draw(g.types.b));
  return out;
}

TEST_CASE("bounds hold under every rule that can be chosen") {
  const RuleChoice choices[]{
      {.zero_raises = "single"}, {.zero_raises = "emin"}, {.cut_to_zero = "negative"},
      {.floor = "-126"},         {.floor = "-10"},        {.floor = "none"}};
  for (const char* name : {"mma.m16n8k16.f32.bf16.bf16.f32", "mma.m16n8k16.f16.f16.f16.f16",
                           "mma.m16n8k32.f32.e5m2.e5m2.f32"}) {
    const Instruction x = parse_instruction(name, 90);
    for (const RuleChoice& rules : choices) {
      GemmModel g = named_gemm(x).model;
      g.model = with_rules(g.model, rules);
      g.sum.c_first = true;
      Seen seen;
      for (const char* generator : {"zero_products", "tiny"}) {
        const Dots rows = make_dots(parse_dot_generator(generator), x, 1, 0, 400);
        for (std::size_t i = 0; i < rows.c.size(); ++i) {
          const std::size_t at = i * static_cast<std::size_t>(x.k);
          check_element(g, {&rows.a[at], &rows.b[at], x.k, rows.c[i], 0, true, false}, seen);
        }
      }
      CHECK(seen.inexact > 20);
    }
  }
}

TEST_CASE("a kernel that drops the largest product is found out") {
  for (const NamedCase& row : product_cases) {
    CAPTURE(std::string(row.name));
    const GemmModel g = model_of(row, 0);
    if (g.model.sparse_group != 0) continue;
    for (const std::size_t k : {32U, 128U}) {
      CAPTURE(k);
      const GemmOperands x = normal_product(g, 20, k, 5);
      int found = 0;
      for (std::size_t i = 0; i < x.m; ++i) {
        const ElementBound whole = bound_of(g, x.element(i, 0));
        GemmOperands wrong = x;
        std::size_t largest = 0;
        const auto size = [&](std::size_t at) -> Rational {
          const GemmElement<std::uint64_t> e = x.element(i, 0);
          return abs(*rational_of(e.a[at], g.types.a) * *rational_of(e.b[at], g.types.b));
        };
        for (std::size_t at = 1; at < k; ++at) largest = size(at) > size(largest) ? at : largest;
        wrong.a[i * k + largest] = zero_bits(g.types.a, false);
        const std::uint64_t d = gemm_element(g, wrong.element(i, 0));
        REQUIRE(agreement_of(g, whole, whole.result) == Agreement::equal);
        found += agreement_of(g, whole, d) == Agreement::beyond_bound ? 1 : 0;
      }
      // A chain of many roundings to 11 or 8 bits may be as wrong as a product is large.
      const bool chain =
          g.model.recipe == Recipe::fma_chain || g.model.recipe == Recipe::mul_add_chain;
      const int narrow = chain && g.types.d.precision <= 11 ? (g.types.d == bfloat16 ? 2 : 1) : 0;
      CHECK(found >= (narrow == 2 && k > 32 ? 0 : narrow != 0 ? 10 : 20));
    }
  }
}

TEST_CASE("what lies within the bound and what lies beyond") {
  const GemmModel g = parse_gemm("wgmma.m64n8k32.f32.e4m3.e4m3", 90).model;
  const GemmOperands x = normal_product(g, 1, 256, 6);
  const ElementBound element = bound_of(g, x.element(0, 0));
  REQUIRE(element.any_order > element.bound);
  const double own = element.bound.value();
  const double any = element.any_order.value();
  CHECK(agreement_of(g, element, element.result) == Agreement::equal);
  CHECK(agreement_of(g, element, displaced(g, element, 0.9 * own)) == Agreement::within_bound);
  CHECK(agreement_of(g, element, displaced(g, element, -0.9 * own)) == Agreement::within_bound);
  CHECK(agreement_of(g, element, displaced(g, element, 1.1 * own)) == Agreement::within_any_order);
  CHECK(agreement_of(g, element, displaced(g, element, 1.1 * any)) == Agreement::beyond_bound);
  CHECK(agreement_of(g, element, displaced(g, element, -1.1 * any)) == Agreement::beyond_bound);
  CHECK(agreement_of(g, element, 0x7F80'0000) == Agreement::special);
  CHECK(agreement_of(g, element, 0x7FC0'0000) == Agreement::special);
}

TEST_CASE("other orders of the same products stay within any order's bound") {
  Random random(33);
  int elsewhere = 0;
  for (const NamedCase& row : product_cases) {
    const GemmModel g = model_of(row, 0);
    if (g.model.sparse_group != 0) continue;
    CAPTURE(std::string(row.name));
    for (int i = 0; i < 20; ++i) {
      GemmOperands x = i % 2 == 0 ? normal_product(g, 1, 96, 7) : draw_dots(random, g, 96);
      const ElementBound element = bound_of(g, x.element(0, 0));
      std::vector<std::size_t> order(x.k);
      for (std::size_t at = 0; at < x.k; ++at) order[at] = at;
      std::ranges::shuffle(order, random);
      const GemmOperands before = x;
      for (std::size_t at = 0; at < x.k; ++at) {
        x.a[at] = before.a[order[at]];
        x.b[at] = before.b[order[at]];
      }
      const std::uint64_t d = gemm_element(g, x.element(0, 0));
      const Agreement got = agreement_of(g, element, d);
      CHECK(got != Agreement::beyond_bound);
      elsewhere += got == Agreement::within_bound || got == Agreement::within_any_order ? 1 : 0;
    }
  }
  CHECK(elsewhere > 100);
}

TEST_CASE("the classical bound is K·u / (1 - K·u) of the sum of the products' sizes") {
  const GemmModel g = parse_gemm("fma.rn.f32.f32.f32.f32", 0).model;
  const GemmOperands x = normal_product(g, 1, 1000, 8);
  const ElementBound got = bound_of(g, x.element(0, 0));
  const Rational products = exact_element(g, x.element(0, 0))->products;
  const Rational expected = products * Rational(1000, (1 << 24) - 1000);
  REQUIRE(got.classical);
  CHECK(is_at_most(expected, *got.classical));
  CHECK(rational_of(got.classical->exact()) < expected * Rational(1'000'001, 1'000'000));
  // This chain is what the bound was made for; ours knows the sums and is smaller.
  CHECK(got.bound < *got.classical);
}

TEST_CASE("a bound follows the bits kept: one more halves it") {
  GemmModel g = parse_gemm("wgmma.m64n8k32.f32.e4m3.e4m3", 90).model;
  const GemmOperands x = normal_product(g, 1, 4096, 9);
  double before = bound_of(g, x.element(0, 0)).any_order.value();
  for (int f = 14; f <= 20; ++f) {
    g.model.fraction_bits = f;
    g.model.grid = {8, f + 1, 127};
    const double after = bound_of(g, x.element(0, 0)).any_order.value();
    CHECK(after < 0.6 * before);
    before = after;
  }
}

TEST_CASE(
    "where all products add up the accumulator sets the cut, and the bound is nearly reached") {
  const GemmModel g = parse_gemm("wgmma.m64n8k32.f32.e4m3.e4m3", 90).model;
  // 1.875 · 1.875 = 3.515625: seven bits, of which fewer and fewer are kept as the sum grows.
  const std::vector<std::uint64_t> all(1024, 0x3F);
  const GemmOperands x{1, 1, 1024, all, all, {}, {}};
  Seen seen;
  check_element(g, x.element(0, 0), seen);
  CHECK(seen.tightest > 0.5);
}

TEST_CASE("the epilogue multiplies the error of the sum") {
  GemmModel g = parse_gemm("mma.m16n8k16.f16.f16.f16.f16", 90).model;
  g.epilogue.compute = g.epilogue.out = binary32;
  g.epilogue.alpha = 1000;
  Seen seen;
  const GemmOperands x = normal_product(g, 20, 64, 10);
  for (std::size_t i = 0; i < x.m; ++i) check_element(g, x.element(i, 0), seen);
  CHECK(seen.inexact == 20);
  CHECK(seen.tightest > 0.05);
}

TEST_CASE("bounds know a floor that lies above everything") {
  Random random(34);
  Seen seen;
  for (const int floor : {-30, -5, 0, 12}) {
    GemmModel g = parse_gemm("mma.m16n8k16.f32.f16.f16.f32", 90).model;
    g.model.exponent_floor = floor;
    g.model.fraction_bits = 10;
    const GemmOperands tame = normal_product(g, 10, 40, 11);
    for (std::size_t i = 0; i < tame.m; ++i) check_element(g, tame.element(i, 0), seen);
    for (int i = 0; i < 50; ++i) check_element(g, draw_dots(random, g, 40).element(0, 0), seen);
  }
  CHECK(seen.tightest > 0.3);
}

TEST_CASE("saturation at the end is within the bound") {
  const GemmModel g = model_of({"fma.rn.f32.f32.f32.f32", 0}, 6);
  GemmOperands x{1, 1, 1, {0x4680'0000}, {0x4680'0000}, {}, {}};  // 2^14 · 2^14 into e4m3
  const ElementBound got = bound_of(g, x.element(0, 0));
  CHECK(got.result == 0x7E);
  CHECK_FALSE(got.special);
  CHECK(got.bound.holds(got.error));
}

TEST_CASE("beyond the range, toward zero gives the largest number, within the bound") {
  GemmModel g = parse_gemm("fma.rn.f32.f32.f32.f32", 0).model;
  g.epilogue.out = e4m3;
  g.epilogue.rounding = Rounding::toward_zero;
  const GemmOperands x{1, 1, 1, {0x4680'0000}, {0x4680'0000}, {}, {}};  // 2^14 · 2^14
  const ElementBound got = bound_of(g, x.element(0, 0));
  CHECK(got.result == 0x7E);
  CHECK(got.bound.holds(got.error));
}

TEST_CASE("a D that is cut off is rounded otherwise, and not wrong, one that is 2 ulp off is") {
  GemmModel g = parse_gemm("fma.rn.f32.f32.f32.f32", 0).model;
  g.epilogue.out = bfloat16;
  const GemmOperands x{1, 1, 1, {0x3F80'F000}, {0x3F80'0000}, {}, {}};  // 1 + 15/8 · 2^-8
  const ElementBound got = bound_of(g, x.element(0, 0));
  CHECK(got.result == 0x3F81);
  CHECK_FALSE(got.bound.holds(error_of(g, got, 0x3F80)));
  CHECK(agreement_of(g, got, 0x3F80) == Agreement::within_bound);
  CHECK(agreement_of(g, got, 0x3F83) == Agreement::beyond_bound);
  CHECK(agreement_of(g, got, 0x3F7F) == Agreement::beyond_bound);
}

TEST_CASE("half of a sum that cancels is wrong in a narrow D, whatever the order") {
  GemmModel g = parse_gemm("fma.rn.f32.f32.f32.f32", 0).model;
  g.epilogue.out = e4m3;
  // 300 - 300 + 60: the finished sum is rounded at 60, not at the 660 of the products.
  const GemmOperands x{
      1,  1, 3, {0x4396'0000, 0xC396'0000, 0x4270'0000}, std::vector<std::uint64_t>(3, 0x3F80'0000),
      {}, {}};
  const ElementBound got = bound_of(g, x.element(0, 0));
  CHECK(got.result == 0x67);                                     // 60
  CHECK(agreement_of(g, got, 0x5F) == Agreement::beyond_bound);  // 30
  CHECK(agreement_of(g, got, 0x66) == Agreement::within_bound);  // 56
  // 300 is in the top binade, and does not saturate: 288 and 320 are its neighbours.
  const GemmOperands one{1, 1, 1, {0x4396'0000}, {0x3F80'0000}, {}, {}};
  const ElementBound top = bound_of(g, one.element(0, 0));
  CHECK(agreement_of(g, top, 0x7A) == Agreement::within_bound);  // 320
  CHECK(agreement_of(g, top, 0x77) == Agreement::beyond_bound);  // 240
}

TEST_CASE("what relu sets to zero has the error of zero, and the bound stays") {
  GemmModel g = parse_gemm("fma.rn.f32.f32.f32.f32", 0).model;
  g.epilogue.out = bfloat16;
  g.epilogue.activation = Activation::relu;
  GemmOperands x{1, 1, 1, {0x3F80'4000}, {0xBF80'0000}, {}, {}};  // -(1 + 2^-9)
  const ElementBound below = bound_of(g, x.element(0, 0));
  CHECK(below.result == 0);
  CHECK_FALSE(below.negative);
  CHECK(below.exact.is_zero());
  CHECK(below.error.is_zero());
  CHECK(agreement_of(g, below, 0xBF80) == Agreement::beyond_bound);
  x.b = {0x3F80'0000};
  const ElementBound above = bound_of(g, x.element(0, 0));
  CHECK(rational_of(above.error) == Rational(1, 512));
  CHECK(above.bound.holds(above.error));
}

TEST_CASE("elements with a NaN or an infinity have no error") {
  const GemmModel g = parse_gemm("mma.m16n8k16.f32.f16.f16.f32", 90).model;
  const GemmOperands x{1, 1, 1, {0x7C00}, {0x3C00}, {}, {}};
  const ElementBound got = bound_of(g, x.element(0, 0));
  CHECK(got.special);
  CHECK(agreement_of(g, got, 0x7F80'0000) == Agreement::equal);
  CHECK(agreement_of(g, got, 0) == Agreement::special);
}

}  // namespace
}  // namespace binade::test::bound_test
