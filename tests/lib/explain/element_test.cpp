// SPDX-License-Identifier: Apache-2.0
//
// Explanations of elements of whole products: parts of K, promotions, epilogues. Every number is
// compared with fractions.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "lib/explain/explanation.h"
#include "lib/gemm/named_gemm.h"
#include "tests/emulate/dot_draw.h"
#include "tests/lib/explain/judge.h"
#include "tests/lib/gemm/exact_product.h"

namespace binade::element_test {
namespace {

using test::Random;
using test::Rational;
using test::rational;

struct Named {
  const char* name;
  int sm;
};
constexpr Named products[] = {
    {"mma.m16n8k16.f32.f16.f16.f32", 90},    {"mma.m16n8k16.f16.f16.f16.f16", 80},
    {"wmma.m16n16k16.f32.f16.f16.f32", 70},  {"mma.m16n8k32.f32.e4m3.e5m2.f32", 89},
    {"mma.m16n8k32.f16.e4m3.e4m3.f16", 90},  {"wgmma.m64n8k32.f32.e4m3.e4m3", 90},
    {"mma.m16n8k16.f32.bf16.bf16.f32", 80},  {"mma.m8n8k4.f32.f16.f16.f32", 90},
    {"mma.m8n8k4.f16.f16.f16.f16", 90},      {"wmma.m16n16k16.f16.f16.f16.f32", 80},
    {"mma.sp.m16n8k32.f32.f16.f16.f32", 80}, {"mul_add.rn.f32.f32.f32.f32", 0},
    {"fma.rn.f32.f16.f16.f32", 0},           {"mul_add.rn.bf16.bf16.bf16.bf16", 0},
};

/// Draws operands whose exponents are near each other, so that sums are finite.
std::uint64_t draw_number(Random& random, const Format& f) {
  return test::draw_at(random, f, test::between(random, -6, 6));
}

void draw_order(Random& random, GemmModel& g) {
  g.sum.promote_every = test::between(random, 0, 3);
  g.sum.promotion = random() % 4 == 0 ? binary16 : binary32;
  g.sum.order.descending = random() % 4 == 0;
  for (Split& split : g.sum.splits) {
    if (random() % 2 == 0) continue;
    split = {.parts = test::between(random, 2, 4),
             .interleave = test::between(random, 0, 2) * g.k,
             .reduction = static_cast<Reduction>(random() % 4),
             .tail_after = random() % 2 == 0};
  }
  g.sum.partial = random() % 4 == 0 ? bfloat16 : binary32;
  g.sum.c_first = random() % 3 == 0;
}

void draw_epilogue(Random& random, GemmModel& g) {
  const double scales[]{1, 1, 0, 0.5, -1.75, 0.1};
  g.epilogue.alpha = scales[random() % 6];
  g.epilogue.beta = scales[random() % 6];
  g.epilogue.sum_last = random() % 2 == 0;
  g.epilogue.compute = random() % 4 == 0 ? binary16 : binary32;
  const Format outs[]{binary32, binary16, bfloat16, e4m3};
  g.epilogue.out = outs[random() % 4];
  g.epilogue.saturate = random() % 4 == 0;
  g.epilogue.activation = random() % 4 == 0 ? Activation::relu : Activation::none;
  g.epilogue.scales = static_cast<ScaleOrder>(random() % scale_order_names.size());
  g.epilogue.bias_first = random() % 4 == 0;
  if (random() % 4 == 0) g.epilogue.sum = bfloat16;
  if (random() % 4 == 0) g.epilogue.through = e5m2;
  if (random() % 4 == 0) g.epilogue.rounding = Rounding::toward_zero;
  g.c = random() % 2 == 0 ? binary16 : binary32;
  g.bias = binary16;
}

/// Returns the exact value of the element, computed from the operands.
Rational exactly(const GemmModel& g, const GemmElement<std::uint64_t>& x,
                 const std::vector<int>& left_out, bool epilogue) {
  Rational sum = 0;
  for (int i = 0; i < x.k; ++i) {
    if (std::ranges::binary_search(left_out, i)) continue;
    sum += rational(x.a[i], g.types.a) * rational(x.b[i], g.types.b);
  }
  if (x.has_c && g.sum.c_first) sum += rational(x.c, g.c);
  if (!epilogue) return sum;
  const auto scale = [&g](double value) {
    return rational(
        test::projected(
            oracle::Oracle(test::spec_of(g.epilogue.compute), oracle::Oracle::Method::division)
                .round(test::value_of(decode(std::bit_cast<std::uint64_t>(value), binary64)),
                       test::rules_of({})))
            .bits,
        g.epilogue.compute);
  };
  const Rational bias = x.has_bias ? rational(x.bias, g.bias) : Rational(0);
  const bool is_scaled = x.has_a_scale || x.has_b_scale;
  Rational out = g.epilogue.bias_first ? sum + bias : sum;
  out *= is_scaled ? Rational(1) : scale(g.epilogue.alpha);
  if (x.has_a_scale) out *= rational(x.a_scale, binary32);
  if (x.has_b_scale) out *= rational(x.b_scale, binary32);
  if (x.has_c && !g.sum.c_first) out += scale(g.epilogue.beta) * rational(x.c, g.c);
  if (!g.epilogue.bias_first) out += bias;
  return g.epilogue.activation == Activation::relu ? std::max(out, Rational(0)) : out;
}

TEST_CASE("every step of elements of whole products is what fractions say") {
  Random random(4);
  test::Seen seen;
  int numbers = 0, epilogues = 0, left_out = 0;
  for (const Named& name : products) {
    CAPTURE(std::string(name.name));
    for (int round = 0; round < 120; ++round) {
      CAPTURE(round);
      NamedGemm named = parse_gemm(name.name, name.sm);
      GemmModel& g = named.model;
      draw_order(random, g);
      draw_epilogue(random, g);
      const int k = test::between(random, 1, 6 * g.k);
      std::vector<std::uint64_t> a;
      std::vector<std::uint64_t> b;
      for (int i = 0; i < k; ++i) {
        const bool zero = random() % 3 == 0;
        a.push_back(zero ? 0 : draw_number(random, g.types.a));
        b.push_back(draw_number(random, g.types.b));
      }
      const std::uint64_t c = draw_number(random, g.c);
      const std::uint64_t bias = draw_number(random, g.bias);
      const GemmElement<std::uint64_t> x{a.data(),
                                         b.data(),
                                         k,
                                         c,
                                         bias,
                                         random() % 2 == 0,
                                         random() % 3 == 0,
                                         draw_number(random, binary32),
                                         draw_number(random, binary32),
                                         random() % 4 == 0,
                                         random() % 4 == 0};
      const Explanation out = explain_element(named, x);
      test::ExplanationJudge(out, seen).judge();
      REQUIRE(out.result.bits == gemm_element(g, x));
      REQUIRE(out.result.format == g.epilogue.out);
      epilogues += out.has_epilogue() ? 1 : 0;
      left_out += out.left_out.empty() ? 0 : 1;
      REQUIRE(out.exact_sum);
      REQUIRE(rational(*out.exact_sum) == exactly(g, x, out.left_out, false));
      REQUIRE(out.exact);
      REQUIRE(rational(*out.exact) == exactly(g, x, out.left_out, true));
      if (!is_number(out.result)) continue;
      ++numbers;
      REQUIRE(rational(*out.error()) == rational(out.result) - rational(*out.exact));
    }
  }
  CHECK(numbers > 1000);
  CHECK(epilogues > 500);
  CHECK(left_out > 50);
  CHECK(seen.inexact > 1000);
  CHECK(seen.totals > 1000);
  CHECK(seen.by_alignment > 1000);
}

TEST_CASE("scales of runs of K multiply terms and errors, and the errors add up") {
  Random random(5);
  int inexact = 0, scaled = 0;
  for (const test::ScaledCase& row : test::scaled_cases()) {
    CAPTURE(row.name);
    for (int round = 0; round < 12; ++round) {
      CAPTURE(round);
      const auto k = static_cast<std::size_t>(test::between(random, 1, 150));
      GemmOperands operands{1, 1, k, {}, {}, {}, {}};
      for (std::size_t i = 0; i < k; ++i) {
        operands.a.push_back(random() % 4 == 0 ? 0 : draw_number(random, row.g.types.a));
        operands.b.push_back(draw_number(random, row.g.types.b));
      }
      test::draw_runs(random, row.g, operands);
      const GemmElement<std::uint64_t> x = operands.element(0, 0);
      const Explanation out = explain_element({row.name, 0, {}, row.g}, x);
      REQUIRE(out.result.bits == gemm_element(row.g, x));
      REQUIRE(out.left_out.empty());
      REQUIRE(out.exact_sum);
      REQUIRE(rational(*out.exact_sum) == test::exact_element(row.g, x)->value);
      REQUIRE(is_number(out.sum));
      const Rational error = rational(out.sum) - rational(*out.exact_sum);
      REQUIRE(rational(out.errors.sum()) == error);
      inexact += error != 0 ? 1 : 0;
      for (const Step& step : out.steps) {
        const auto* const block = std::get_if<ExplainedBlock>(&step);
        scaled += block != nullptr && block->factor != exact_number(1) ? 1 : 0;
      }
    }
  }
  CHECK(inexact > 200);
  CHECK(scaled > 200);
}

TEST_CASE("C that is not read takes no part, and what begins a sum is told") {
  NamedGemm named = parse_gemm("mma.m16n8k16.f32.f16.f16.f32", 90);
  const std::vector<std::uint64_t> one(16, 0x3C00);
  const GemmElement<std::uint64_t> x{one.data(), one.data(), 16, 0x40000000, 0, true, false};
  named.model.epilogue.beta = 0;
  CHECK(!explain_element(named, x).c);
  named.model.epilogue.beta = 1;
  CHECK(explain_element(named, x).exact == exact_number(18));
  named.model.sum.c_first = true;
  const Explanation out = explain_element(named, x);
  CHECK(out.exact_sum == exact_number(18));
  CHECK(std::get<ExplainedMark>(out.steps[0]).mark == SumMark::c);
  CHECK(std::get<ExplainedMark>(out.steps[0]).accumulator.bits == 0x40000000);
  CHECK(std::get<ExplainedMark>(out.steps[1]).mark == SumMark::instruction);
  CHECK(out.result.bits == 0x41900000);
}

}  // namespace
}  // namespace binade::element_test
