// SPDX-License-Identifier: Apache-2.0
//
// The loss account against exact rational arithmetic: the losses of the rules add up to D minus the
// exact value, element by element, in every recipe and order; and each rule by itself on operands
// made for it.
#include "lib/gemm/account.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "lib/gemm/bound.h"
#include "lib/text/error.h"
#include "tests/lib/gemm/exact_product.h"

namespace binade::test::account_test {
namespace {

const Cost& cost(const GemmAccount& x, LossRule rule) {
  return x.rules[static_cast<std::size_t>(rule)];
}

Rational net(const GemmAccount& x, std::size_t first, std::size_t last) {
  Rational out = 0;
  for (std::size_t i = first; i < last; ++i) {
    out += rational_of(x.rules[i].raised) - rational_of(x.rules[i].lowered);
  }
  return out;
}

GemmOperands one_element(const GemmOperands& x, std::size_t i, std::size_t j) {
  const GemmElement<std::uint64_t> e = x.element(i, j);
  GemmOperands out{1, 1, x.k, {e.a, e.a + x.k}, {e.b, e.b + x.k}, {}, {}};
  if (e.has_c) out.c = {e.c};
  if (e.has_bias) out.bias = {e.bias};
  return out;
}

/// Compares the account of one element with rational numbers, and returns whether the element is
/// finite.
bool check_element(const GemmModel& g, const GemmOperands& x) {
  const GemmAccount got = account(g, x);
  const std::uint64_t d = gemm_element(g, x.element(0, 0));
  const auto value = rational_of(d, g.epilogue.out);
  const auto exact = exact_element(g, x.element(0, 0));
  REQUIRE(got.elements == 1);
  if (got.special == 1) return false;
  REQUIRE(value);
  REQUIRE(exact);
  const Rational error = *value - exact->value;
  const std::size_t alpha = static_cast<std::size_t>(LossRule::alpha);
  // Named before they are compared: Boost's expressions refer to their operands.
  const Rational sum = net(got, 0, alpha);
  const Rational told = rational_of(g.epilogue.alpha) * sum + net(got, alpha, loss_rules);
  const Rational direction = rational_of(got.raised) - rational_of(got.lowered);
  const Rational outward = rational_of(got.outward) - rational_of(got.inward);
  const Rational grown = abs(*value) - abs(exact->value);
  const Rational size = abs(error);
  const Rational exact_size = abs(exact->value);
  REQUIRE(told == error);
  REQUIRE(direction == error);
  REQUIRE(outward == grown);
  REQUIRE(rational_of(got.error) == size);
  REQUIRE(rational_of(got.exact_magnitude) == exact_size);
  REQUIRE(rational_of(got.product_magnitude) == exact->products);
  REQUIRE(got.exact == (error == 0 ? 1U : 0U));
  return true;
}

TEST_CASE("what the rules lost adds up to D minus the exact value") {
  Random random(21);
  int numbers = 0;
  int all = 0;
  for (const NamedCase& row : product_cases) {
    for (int order = 0; order < orders; ++order) {
      const GemmModel g = model_of(row, order);
      if (!can_have(g, order)) continue;
      CAPTURE(std::string(row.name));
      CAPTURE(order);
      for (const std::size_t k : {1U, 15U, 32U, 70U}) {
        CAPTURE(k);
        const GemmOperands crossed = draw_product(random, g, 1, 2, k, k != 15);
        for (std::size_t j = 0; j < 2; ++j) {
          numbers += check_element(g, one_element(crossed, 0, j)) ? 1 : 0;
        }
        numbers += check_element(g, draw_dots(random, g, k)) ? 1 : 0;
        all += 3;
      }
    }
  }
  CHECK(numbers > all / 3);
  CHECK(numbers < all);
}

TEST_CASE("integers lose nothing but what 32 bits do not hold") {
  const GemmModel g = parse_gemm("mma.m16n8k16.s32.s8.u8.s32", 80).model;
  GemmOperands x{1, 1, 40, {}, {}, {}, {}};
  for (std::uint64_t i = 0; i < 40; ++i) {
    x.a.push_back((0x80 + 3 * i) & 0xFF);
    x.b.push_back(251 - i);
  }
  CHECK(check_element(g, x));
  CHECK(account(g, x).exact == 1);
  x.c = {0x8000'0000};
  CHECK(check_element(g, x));
  CHECK(cost(account(g, x), LossRule::block_rounding).cut == 1);
}

TEST_CASE("whole products add up: counts and magnitudes are the sums of the elements'") {
  Random random(22);
  for (const NamedCase& row : product_cases) {
    CAPTURE(std::string(row.name));
    const GemmModel g = model_of(row, 1);
    const GemmOperands x = draw_product(random, g, 5, 4, 45);
    const GemmAccount whole = account(g, x);
    GemmAccount sum = account(g, one_element(x, 0, 0));
    sum.m = x.m;
    sum.n = x.n;
    for (std::size_t at = 1; at < 20; ++at) sum += account(g, one_element(x, at / 4, at % 4));
    for (WorstElement GemmAccount::*worst :
         {&GemmAccount::worst_relative, &GemmAccount::worst_to_products,
          &GemmAccount::worst_to_bound}) {
      CHECK((whole.*worst).ratio == (sum.*worst).ratio);
      sum.*worst = whole.*worst;
    }
    // += adds what account() derives at the end as well.
    CHECK((sum == whole));
    CHECK(whole.elements == 20);
    Cost by_position;
    for (const auto& costs : whole.by_position) by_position += costs[0];
    CHECK((by_position == whole.rules[0]));
  }
}

TEST_CASE("a product whose results below zero become zero has no account") {
  GemmModel g = parse_gemm("mma.m16n8k16.f32.f16.f16.f32", 90).model;
  g.epilogue.activation = Activation::relu;
  CHECK_THROWS_WITH_AS(
      account(g, {1, 1, 1, {0}, {0}, {}, {}}),
      "an account tells what roundings lost, not what an activation makes of it: leave --relu out",
      Error);
}

TEST_CASE("the worst elements are where the account says") {
  Random random(26);
  const GemmModel g = parse_gemm("wgmma.m64n8k32.f32.e4m3.e4m3", 90).model;
  const GemmOperands x = draw_product(random, g, 7, 6, 96);
  const GemmAccount got = account(g, x);
  WorstElement relative, to_products, to_bound;
  const auto keep = [](WorstElement& worst, const ExactSum& error, const ExactSum& of,
                       std::size_t i, std::size_t j) {
    const double ratio = of.is_zero() ? 0 : divide(error, of).value();
    if (ratio > worst.ratio) worst = {ratio, i, j};
  };
  for (std::size_t i = 0; i < x.m; ++i) {
    for (std::size_t j = 0; j < x.n; ++j) {
      const ElementBound e = bound_of(g, x.element(i, j));
      if (e.special) continue;
      keep(relative, e.error, e.exact, i, j);
      keep(to_products, e.error, e.products, i, j);
      keep(to_bound, e.error, e.bound.exact(), i, j);
    }
  }
  CHECK(relative.ratio > 0);
  CHECK((got.worst_relative == relative));
  CHECK((got.worst_to_products == to_products));
  CHECK((got.worst_to_bound == to_bound));
  CHECK(got.beyond_bound == 0);
}

/// Encodings of powers of two, 0 for `none`.
constexpr int none = -10000;
std::vector<std::uint64_t> powers(const Format& f, const std::vector<int>& exponents) {
  std::vector<std::uint64_t> out;
  for (const int e : exponents) {
    const Exact x{.kind = e == none ? Kind::zero : Kind::finite, .exponent = e, .significand = 1};
    out.push_back(project(x, f).bits);
  }
  return out;
}

TEST_CASE("alignment: FP8 with 13 bits loses what lies 14 binades below the top") {
  const GemmModel g = parse_gemm("wgmma.m64n8k32.f32.e4m3.e4m3", 90).model;
  GemmOperands x{1, 1, 4, powers(e4m3, {7, 0, -1, -4}), powers(e4m3, {0, -6, -5, -4}), {}, {}};
  const GemmAccount got = account(g, x);  // 2^7 + 2^-6 + 2^-6 + 2^-8: two units short of the cut
  const Cost& c = cost(got, LossRule::product_alignment);
  CHECK(c.steps == 4);
  CHECK(c.cut == 1);
  CHECK(c.vanished == 1);
  CHECK(rational_of(c.lowered) == power_of_two(-8));
  CHECK(c.raised.is_zero());
  CHECK(cost(got, LossRule::product_floor).cut == 0);
  CHECK(got.by_distance[0].products == 1);
  CHECK(got.by_distance[13].products == 2);
  CHECK(got.by_distance[13].vanished == 0);
  CHECK(got.by_distance[15].vanished == 1);
  CHECK(rational_of(got.by_distance[15].lost) == power_of_two(-8));
  CHECK(got.products == 4);
  CHECK(got.blocks == 1);
}

TEST_CASE("the accumulator is cut where products lie above it") {
  const GemmModel g = parse_gemm("mma.m16n8k16.f32.f16.f16.f32", 90).model;
  // The first instruction leaves 2^-20 + 2^-43, the second one brings 2^10: 2^-15 is the cut.
  std::vector<int> a(17, none), b(17, 0);
  a[0] = -10, b[0] = -10;
  a[1] = -22, b[1] = -21;
  a[16] = 10;
  const GemmOperands x{1, 1, 17, powers(binary16, a), powers(binary16, b), {}, {}};
  const GemmAccount got = account(g, x);
  const Cost& c = cost(got, LossRule::addend_alignment);
  CHECK(c.steps == 1);
  CHECK(c.cut == 1);
  CHECK(c.vanished == 1);
  const Rational lost = power_of_two(-20) + power_of_two(-43);
  CHECK(rational_of(c.lowered) == lost);
  CHECK(cost(got, LossRule::product_alignment).cut == 0);
  CHECK(got.blocks_at_addend == 0);
  CHECK(got.by_position.size() == 2);
  CHECK(got.by_position[0][1].cut == 0);
  CHECK(got.by_position[1][1].cut == 1);
}

TEST_CASE("the floor takes what alignment alone would have kept") {
  // F = 25, floor -21: nothing below 2^-46 is kept, however small everything is.
  const GemmModel g = parse_gemm("mma.m16n8k16.f16.f16.f16.f16", 90).model;
  const GemmOperands x{
      1, 1, 3, powers(binary16, {-11, -23, -24}), powers(binary16, {-14, -23, -24}), {}, {}};
  const GemmAccount got = account(g, x);
  const Cost& floor = cost(got, LossRule::product_floor);
  CHECK(floor.steps == 3);
  CHECK(floor.cut == 1);
  CHECK(floor.vanished == 1);
  CHECK(rational_of(floor.lowered) == power_of_two(-48));
  CHECK(cost(got, LossRule::product_alignment).cut == 0);
  CHECK(got.blocks_at_floor == 1);
}

TEST_CASE("binary16 accumulators: beyond binary32 is another rule") {
  const GemmModel g = parse_gemm("mma.m16n8k16.f16.f16.f16.f16", 90).model;
  // 2^0 + 2^-12 + 2^-25: binary32 toward zero drops 2^-25, binary16 the rest.
  const GemmOperands x{1,  1, 3, powers(binary16, {0, 0, -5}), powers(binary16, {0, -12, -20}),
                       {}, {}};
  const GemmAccount got = account(g, x);
  CHECK(rational_of(cost(got, LossRule::block_rounding).lowered) == power_of_two(-25));
  CHECK(rational_of(cost(got, LossRule::accumulator_format).lowered) == power_of_two(-12));
  CHECK(cost(got, LossRule::accumulator_format).steps == 1);
  CHECK(cost(account(parse_gemm("mma.m16n8k16.f32.f16.f16.f32", 90).model, x),
             LossRule::accumulator_format)
            .steps == 0);
}

TEST_CASE("the 14-bit grid of FP8 is the block's rounding") {
  const GemmModel g = parse_gemm("wgmma.m64n8k32.f32.e4m3.e4m3", 90).model;
  // 16 · (1 + 2^-7·7/8 ...): the sum of 33 terms has more bits than the grid keeps.
  GemmOperands x{1, 1, 2, powers(e4m3, {0, 0}), powers(e4m3, {0, 0}), {}, {}};
  x.a = {0x38, 0x38, 0x38, 0x38};
  x.b = {0x38, 0x38, 0x38, 0x38};
  x.k = 4;
  CHECK(account(g, x).exact == 1);
  x.a = powers(e4m3, {0, 0, 0, 0});
  x.b = powers(e4m3, {8, 8, 8, -5});
  // 3·2^8 + 2^-5 at 13 bits below 2^8: kept by the alignment, cut by the grid at 2^9.
  const GemmAccount got = account(g, x);
  CHECK(rational_of(cost(got, LossRule::block_rounding).lowered) == power_of_two(-5));
  CHECK(cost(got, LossRule::product_alignment).cut == 0);
  CHECK(got.outward.is_zero());
}

TEST_CASE("elements with a NaN or an infinity are counted apart") {
  const GemmModel g = parse_gemm("mma.m16n8k16.f32.f16.f16.f32", 90).model;
  GemmOperands x{2, 1, 2, powers(binary16, {0, 0, 0, 0}), powers(binary16, {0, -13}), {}, {}};
  x.a[2] = 0x7C00;
  const GemmAccount got = account(g, x);
  CHECK(got.elements == 2);
  CHECK(got.special == 1);
  CHECK(got.products == 2);
  CHECK(got.blocks == 1);
}

TEST_CASE("positions along K are runs of whole instructions, at most 64 of them") {
  Random random(23);
  const GemmModel g = parse_gemm("mma.m16n8k16.f32.f16.f16.f32", 90).model;
  for (const std::size_t k : {1U, 16U, 17U, 1024U, 1025U, 3000U}) {
    const GemmAccount got = account(g, draw_product(random, g, 1, 1, k));
    CHECK(got.position_width % 16 == 0);
    CHECK(got.by_position.size() == (k + got.position_width - 1) / got.position_width);
    CHECK(got.by_position.size() <= 64);
    CHECK((k <= 1024 || got.by_position.size() > 32));
  }
}

TEST_CASE("a product of instructions that drop the accumulator has no account") {
  GemmModel g = parse_gemm("wgmma.m64n8k16.f32.f16.f16", 90).model;
  g.model.scales.without_c = true;
  Random random(24);
  CHECK_NOTHROW(account(g, draw_product(random, g, 1, 1, 16, false)));
  CHECK_THROWS_AS(account(g, draw_product(random, g, 1, 1, 17, false)), Error);
}

TEST_CASE("progress counts rows up to m") {
  Random random(25);
  const GemmModel g = parse_gemm("mma.m16n8k16.f32.f16.f16.f32", 90).model;
  std::vector<std::size_t> told;
  account(g, draw_product(random, g, 9, 100, 500),
          [&told](std::size_t rows) { told.push_back(rows); });
  CHECK(told.size() > 2);
  CHECK(std::ranges::is_sorted(told));
  CHECK(told.back() == 9);
}

}  // namespace
}  // namespace binade::test::account_test
