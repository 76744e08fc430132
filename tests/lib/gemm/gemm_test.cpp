// SPDX-License-Identifier: Apache-2.0
//
// Whole products on threads: every element is the definition's, for models of every recipe and
// order.
#include "lib/gemm/gemm.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include "lib/gemm/named_gemm.h"
#include "tests/emulate/dot_draw.h"
#include "tests/lib/gemm/exact_product.h"

namespace binade::gemm_test {
namespace {

using test::Random;

GemmOperands draw(Random& random, const GemmModel& g, std::size_t m, std::size_t n, std::size_t k) {
  GemmOperands out{m, n, k, {}, {}, {}, {}};
  const int length = static_cast<int>(k);
  for (std::size_t i = 0; i < m; ++i) {
    const test::DrawnDot row = test::draw_dot(random, g.types, length);
    out.a.insert(out.a.end(), row.a.begin(), row.a.end());
  }
  for (std::size_t j = 0; j < n; ++j) {
    const test::DrawnDot column = test::draw_dot(random, g.types, length);
    out.b.insert(out.b.end(), column.b.begin(), column.b.end());
  }
  for (std::size_t i = 0; i < m * n; ++i) out.c.push_back(test::draw_dot(random, g.types, 1).c);
  for (std::size_t j = 0; j < n; ++j) out.bias.push_back(test::draw_dot(random, g.types, 1).c);
  return out;
}

bool is_nan(std::uint64_t bits, const Format& f) {
  return !is_integer(f) && decode(bits, f).kind == Kind::nan;
}

/// The NaNs of chains in the host's arithmetic never leave it, so bits must be equal throughout.
void check_all(const GemmModel& g, const GemmOperands& x, std::uint64_t& finite) {
  const std::vector<std::uint64_t> d = gemm(g, x);
  REQUIRE(d.size() == x.m * x.n);
  for (std::size_t i = 0; i < x.m; ++i) {
    for (std::size_t j = 0; j < x.n; ++j) {
      CAPTURE(i);
      CAPTURE(j);
      const std::uint64_t got = d[i * x.n + j];
      REQUIRE(got == gemm_element(g, x.element(i, j)));
      finite += is_nan(got, g.epilogue.out) ? 0 : 1;
    }
  }
}

struct Named {
  const char* name;
  int sm;
};
constexpr Named instructions[] = {
    {"mma.m16n8k16.f32.f16.f16.f32", 90},    {"mma.m16n8k16.f16.f16.f16.f16", 80},
    {"wmma.m16n16k16.f32.f16.f16.f32", 70},  {"mma.m16n8k32.f32.e4m3.e5m2.f32", 89},
    {"mma.m16n8k32.f16.e4m3.e4m3.f16", 90},  {"wgmma.m64n8k32.f32.e4m3.e4m3", 90},
    {"mma.m16n8k8.f32.tf32.tf32.f32", 80},   {"mma.m16n8k16.f32.bf16.bf16.f32", 80},
    {"mma.m8n8k4.f32.f16.f16.f32", 90},      {"mma.m8n8k4.f16.f16.f16.f16", 90},
    {"mma.m8n8k4.f64.f64.f64.f64", 80},      {"wmma.m16n16k16.f16.f16.f16.f32", 80},
    {"mma.sp.m16n8k32.f32.f16.f16.f32", 80}, {"wgmma.m64n8k16.f32.f16.f16.imm_scale_a_-1", 90},
    {"fma.rn.f32.f32.f32.f32", 0},           {"mul_add.rn.f32.f32.f32.f32", 0},
    {"fma.rn.f32.f16.f16.f32", 0},           {"fma.rn.f16.f16.f16.f16", 0},
    {"mul_add.rn.f64.f32.f32.f64", 0},       {"fma.rn.f64.f64.f64.f64", 0},
    {"mul_add.rn.bf16.bf16.bf16.bf16", 0},
};

TEST_CASE("every element of a product is the definition's, in every recipe and order") {
  Random random(11);
  std::uint64_t finite = 0;
  std::uint64_t all = 0;
  for (const Named& row : instructions) {
    for (int number = 0; number < test::orders; ++number) {
      NamedGemm named = parse_gemm(row.name, row.sm);
      test::set_order(named.model, number);
      CAPTURE(row.name);
      CAPTURE(number);
      for (const std::size_t k : {1U, 15U, 16U, 70U}) {
        CAPTURE(k);
        check_all(named.model, draw(random, named.model, 5, 3, k), finite);
        all += 15;
      }
    }
  }
  CHECK(finite > all / 3);
  CHECK(finite < all);
}

/// d of one dot, and that the quick way and the definition agree on it.
std::uint64_t dot_of(const char* name, const std::vector<std::uint64_t>& a,
                     const std::vector<std::uint64_t>& b) {
  const GemmModel g = parse_gemm(name, 0).model;
  const GemmOperands x{1, 1, a.size(), a, b, {}, {}};
  const std::uint64_t d = gemm(g, x)[0];
  CHECK(d == gemm_element(g, x.element(0, 0)));
  return d;
}

TEST_CASE(
    "accumulators narrower than the machine's are rounded once, and keep the sign of what "
    "vanishes") {
  // 3 · 131 is a tie of bfloat16, but for the 2^-100 of the sum so far.
  CHECK(dot_of("fma.rn.bf16.bf16.bf16.bf16", {0x2680, 0x4040}, {0x2680, 0x4303}) == 0x43C5);
  CHECK(dot_of("fma.rn.bf16.bf16.bf16.bf16", {0x2680, 0x4040}, {0xA680, 0x4303}) == 0x43C4);
  CHECK(dot_of("fma.rn.f16.f16.f16.f16", {0x0001}, {0x8001}) == 0x8000);
  CHECK(dot_of("mul_add.rn.f16.f16.f16.f16", {0x0001, 0x0001}, {0x8001, 0x3C00}) == 0x0001);
  // 2^-25 + 2^-35 rounds to the smallest subnormal number, 2^-25 to zero.
  CHECK(dot_of("fma.rn.f16.f16.f16.f16", {0x0C00}, {0x0802}) == 0x0001);
  CHECK(dot_of("fma.rn.f16.f16.f16.f16", {0x0C00}, {0x0800}) == 0x0000);
}

TEST_CASE("what overflows a narrow accumulator on the way stays infinite") {
  const std::uint64_t large = 0x7BFF;  // 65504
  CHECK(dot_of("fma.rn.f16.f16.f16.f16", {large, large}, {0x4000, 0xC000}) == 0x7C00);
  CHECK(dot_of("fma.rn.f16.f16.f16.f16", {large, 0x4C00}, {0x3C00, 0x3C00}) == 0x7C00);
  CHECK(dot_of("fma.rn.f16.f16.f16.f16", {large, 0x4B00}, {0x3C00, 0x3C00}) == 0x7BFF);
  // 2^16 and -65504 give 32 where the product is not rounded by itself; 2^17 overflows.
  CHECK(dot_of("fma.rn.f16.f16.f16.f16", {0xFBFF, 0x5C00}, {0x3C00, 0x5C00}) == 0x5000);
  CHECK(dot_of("mul_add.rn.f16.f16.f16.f16", {0xFBFF, 0x5C00}, {0x3C00, 0x5C00}) == 0x7C00);
  CHECK(dot_of("fma.rn.f16.f16.f16.f16", {0xFBFF, 0x6000}, {0x3C00, 0x5C00}) == 0x7C00);
}

TEST_CASE("integers are exact for any K") {
  Random random(12);
  std::uint64_t finite = 0;
  const NamedGemm named = parse_gemm("mma.m16n8k16.s32.s8.u8.s32", 80);
  GemmOperands x{4, 4, 37, {}, {}, {}, {}};
  for (std::size_t i = 0; i < 4 * 37; ++i) {
    x.a.push_back(random() & 0xFF);
    x.b.push_back(random() & 0xFF);
  }
  check_all(named.model, x, finite);
  std::int64_t exact = 0;
  for (std::size_t i = 0; i < 37; ++i) exact += integer_of(x.a[i], s8) * integer_of(x.b[i], u8);
  CHECK(gemm(named.model, x)[0] == static_cast<std::uint32_t>(exact));
}

TEST_CASE("progress counts rows up to m") {
  Random random(13);
  const NamedGemm named = parse_gemm("mma.m16n8k16.f32.f16.f16.f32", 90);
  const GemmOperands x = draw(random, named.model, 67, 41, 1300);
  std::vector<std::size_t> told;
  gemm(named.model, x, [&told](std::size_t rows) { told.push_back(rows); });
  CHECK(told.size() > 2);
  CHECK(std::ranges::is_sorted(told));
  CHECK(told.back() == x.m);
}

}  // namespace
}  // namespace binade::gemm_test
