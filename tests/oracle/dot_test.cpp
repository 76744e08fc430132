// SPDX-License-Identifier: Apache-2.0
//
// The oracle of dot products on cases worked out by hand, at least one for each rule and for each
// wrong rule, and its fma chain against the oracle of operations.
#include "tests/oracle/dot.h"

#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <initializer_list>
#include <random>
#include <stdexcept>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/oracle/operations.h"

namespace dot_test {
namespace {

using oracle::Cut;
using oracle::DotRules;
using oracle::Recipe;
using oracle::Result;
using oracle::Spec;
using oracle::Way;

constexpr std::uint64_t nan16 = 0x7FFF, nan32 = 0x7FFFFFFF;
constexpr std::uint64_t inf16 = 0x7C00, inf32 = 0x7F800000, minus_inf32 = 0xFF800000;

const Spec& format(std::string_view name) { return oracle::named_spec(name).spec; }
const Spec& half = format("binary16");
const Spec& brain = format("bfloat16");
const Spec& tf32 = format("tf32");
const Spec& single = format("binary32");
const Spec& twice = format("binary64");
const Spec& e4m3 = format("e4m3");
const Spec& e5m2 = format("e5m2");

/// Returns the code of a number that the format has.
std::uint64_t code(double x, const Spec& spec) {
  oracle::Value value{.negative = std::signbit(x)};
  int exponent = 0;
  value.low = static_cast<std::uint64_t>(std::ldexp(std::frexp(std::fabs(x), &exponent), 53));
  value.exponent = exponent - 53;
  const oracle::Oracle rounder(spec, oracle::Oracle::Method::division);
  const oracle::Outcome out = rounder.round(value, {});
  if (out.inexact) throw std::logic_error("the format does not have this number");
  return out.bits;
}

template <typename Change>
DotRules with(DotRules rules, Change change) {
  change(rules);
  return rules;
}

const DotRules hopper32{};
const DotRules hopper16{
    .exponent_floor = -21, .result = Result::binary16, .way = Way::nearest_even};
const DotRules hopper8{
    .block_length = 32, .fraction_bits = 13, .result = Result::binary32_of_14_digits};
const DotRules ada8 = with(hopper8, [](DotRules& r) { r.block_length = 16; });
const DotRules expanded32{.recipe = Recipe::expanded};
const DotRules expanded16 = with(hopper16, [](DotRules& r) { r.recipe = Recipe::expanded; });

using Pairs = std::vector<std::pair<double, double>>;

const Spec& c_spec_of(const DotRules& rules) {
  return rules.result == Result::binary16   ? half
         : rules.result == Result::binary64 ? twice
                                            : single;
}

/// Operands as codes.
std::uint64_t dot_codes(const DotRules& rules, const Spec& in,
                        const std::vector<std::pair<std::uint64_t, std::uint64_t>>& pairs,
                        std::uint64_t c) {
  std::vector<std::uint64_t> a, b;
  for (const auto& [x, y] : pairs) {
    a.push_back(x);
    b.push_back(y);
  }
  return oracle::dot(rules, in, in, c_spec_of(rules), a, b, c);
}

/// Operands as numbers.
std::uint64_t dot(const DotRules& rules, const Spec& in, const Pairs& pairs, double c = 0) {
  std::vector<std::pair<std::uint64_t, std::uint64_t>> codes;
  for (const auto& [x, y] : pairs) codes.emplace_back(code(x, in), code(y, in));
  return dot_codes(rules, in, codes, code(c, c_spec_of(rules)));
}

std::uint64_t f32(double x) { return code(x, single); }
std::uint64_t f16(double x) { return code(x, half); }

/// Returns `count` products, all zero except those that are given with their k.
Pairs sparse(std::size_t count, std::initializer_list<std::pair<std::size_t, double>> products) {
  Pairs pairs(count, {0.0, 0.0});
  for (const auto& [k, x] : products) pairs[k] = {x, 1.0};
  return pairs;
}

TEST_CASE("sums that lose nothing are exact") {
  CHECK(dot(hopper32, half, {{1.5, 2}, {-3, 0.25}, {7, 11}}, -0.5) == f32(78.75));
  CHECK(dot(hopper32, brain, {{1.5, 2}, {-3, 0.25}, {7, 11}}, -0.5) == f32(78.75));
  CHECK(dot(hopper16, half, {{1.5, 2}, {-3, 0.25}, {7, 11}}, -0.5) == f16(78.75));
  CHECK(dot(hopper8, e4m3, {{1.5, 2}, {-3, 0.25}, {7, 11}}, -0.5) == f32(78.75));
  CHECK(dot(expanded16, e5m2, Pairs(32, {1.5, 2}), -0.5) == f16(95.5));
}

TEST_CASE("the exponent floor: the ladder of products of subnormals into fp16") {
  const auto ladder = [](int floor, double x, double y) {
    const DotRules rules = with(hopper16, [&](DotRules& r) { r.exponent_floor = floor; });
    return dot(rules, half, {{0x1p-11, 0x1p-14}, {x, y}});
  };
  CHECK(ladder(-21, 0x1p-23, 0x1p-23) == 0x0001);  // 2^-46 is the last place
  CHECK(ladder(-20, 0x1p-23, 0x1p-23) == 0x0000);
  CHECK(ladder(-21, 0x1p-23, 0x1p-24) == 0x0000);
  CHECK(ladder(-22, 0x1p-23, 0x1p-24) == 0x0001);
  CHECK(ladder(-22, 0x1p-24, 0x1p-24) == 0x0000);
  CHECK(ladder(-133, 0x1p-24, 0x1p-24) == 0x0001);  // 2^-50 is the last place
}

TEST_CASE("the exponent floor: bf16 into fp32 drops below 2^(floor - F)") {
  const auto ladder = [](int floor, int fraction_bits, int n) {
    DotRules rules{.fraction_bits = fraction_bits, .exponent_floor = floor};
    const Pairs pairs{{0x1p-23, 0x1p-126}, {std::ldexp(-1.0, -80), std::ldexp(1.0, 80 - n)}};
    return dot(rules, brain, pairs);
  };
  for (int n = 150; n <= 170; ++n) {
    CAPTURE(n);
    CHECK(ladder(-133, 25, n) == (n <= 158 ? 0u : 1u));
    CHECK(ladder(-132, 24, n) == (n <= 156 ? 0u : 1u));
    CHECK(ladder(-300, 25, n) == (n <= 174 ? 0u : 1u));
  }
}

TEST_CASE("terms are cut toward zero, each for itself") {
  // 1 - 2^-26 - 2^-26: both small terms vanish.
  const Pairs pairs{{1, 1}, {-0x1p-13, 0x1p-13}, {-0x1p-13, 0x1p-13}};
  const auto as = [&](Cut cut, const Pairs& p, double c) {
    return dot(with(hopper32, [&](DotRules& r) { r.cut = cut; }), half, p, c);
  };
  CHECK(as(Cut::toward_zero, pairs, 0) == f32(1));
  CHECK(as(Cut::downward, pairs, 0) == f32(1 - 0x1p-24));
  CHECK(as(Cut::sticky_terms, pairs, 0) == f32(1 - 0x1p-24));
  // 1 - 1 + 2^-26: a sticky bit is all that is left.
  const Pairs left{{1, 1}, {-1, 1}, {0x1p-13, 0x1p-13}};
  CHECK(as(Cut::toward_zero, left, 0) == 0);
  CHECK(as(Cut::sticky_sum, left, 0) == f32(0x1p-26));
  CHECK(as(Cut::sticky_terms, left, 0) == f32(0x1p-26));
  CHECK(as(Cut::sticky_sum, {{1, 1}, {-1, 1}, {-0x3p-13, 0x1p-13}}, 0) == f32(-0x3p-26));
  // 2^-26 is half a last place: even is zero. 3 2^-26 rounds up to 2^-24.
  CHECK(as(Cut::nearest_even, left, 0) == 0);
  const Pairs three{{1, 1}, {-1, 1}, {0x3p-13, 0x1p-13}};
  CHECK(as(Cut::toward_zero, three, 0) == f32(0x1p-25));
  CHECK(as(Cut::nearest_even, three, 0) == f32(0x1p-24));
  // One fraction bit more keeps it.
  const DotRules longer = with(hopper32, [](DotRules& r) { r.fraction_bits = 26; });
  CHECK(dot(longer, half, left) == f32(0x1p-26));
}

TEST_CASE("C stands among the products") {
  // C lifts the last place to 2^-9: 3 2^-10 loses a bit.
  const Pairs pairs{{0x3p-10, 1}};
  CHECK(dot(hopper32, half, pairs, -0x1p16) == f32(-0x1p16 + 0x1p-8));
  // Without C the products keep all their bits, and then the sum -2^16 + 3 2^-10 is cut.
  const Pairs large{{0x3p-10, 1}, {-0x1p15, 1}, {-0x1p15, 1}};
  const DotRules late = with(hopper32, [](DotRules& r) { r.c_after_products = true; });
  CHECK(dot(hopper32, half, large, 0x1p16) == f32(0x1p-9));
  CHECK(dot(late, half, large, 0x1p16) == f32(0x1p-8));
  // And C is cut when a product is large.
  CHECK(dot(hopper32, half, {{256, 256}, {-256, 256}}, 0x3p-10) == f32(0x1p-9));
}

TEST_CASE("C of 24 bits loses ten of them where F is 13") {
  CHECK(dot_codes(hopper8, e4m3, {{0, 0}}, 0x3FFFFFFF) == 0x3FFFFC00);
  CHECK(dot_codes(ada8, e5m2, {{0, 0}}, 0xBF8003FF) == 0xBF800000);
  CHECK(dot_codes(hopper8, e4m3, {{0, 0}}, 0x000007FF) == 0x00000400);  // subnormal
  CHECK(dot(ada8, e4m3, {{0x1p-7, 0x1p-7}}, 1) == f32(1));
  CHECK(dot(ada8, e4m3, {{0x1p-7, 0x1p-6}}, 1) == f32(1 + 0x1p-13));
}

TEST_CASE("products are not normalized before alignment") {
  // 1.75 1.75 counts as exponent 0, so 2^-25 still is a last place; as 3.0625 it would not be.
  const Pairs pairs{{1.75, 1.75}, {-1.75, 1.75}, {0x1p-12, 0x1p-13}};
  CHECK(dot(hopper32, half, pairs) == f32(0x1p-25));
  const DotRules normalized = with(hopper32, [](DotRules& r) { r.normalized_products = true; });
  CHECK(dot(normalized, half, pairs) == 0);
}

TEST_CASE("subnormal operands count, and keep the smallest exponent") {
  const DotRules flushed = with(hopper32, [](DotRules& r) { r.flushed_operands = true; });
  CHECK(dot(hopper32, half, {{0x1p-24, 1}}) == f32(0x1p-24));
  CHECK(dot(flushed, half, {{0x1p-24, 1}}) == 0);
  CHECK(dot(hopper8, e4m3, {{0x7p-9, 0x1p-9}}) == f32(0x7p-18));
  // 2^-24 2^10 has exponent -4, not -14, so the last place is 2^-29.
  CHECK(dot(hopper32, half, {{0x1p-24, 1024}, {0x1p-15, 0x1p-15}}) == f32(0x1p-14));
  CHECK(dot(hopper32, half, {{0x1p-14, 1}, {0x1p-15, 0x1p-15}}) == f32(0x1p-14 + 0x1p-30));
}

TEST_CASE("bf16 and tf32 products have no limit") {
  CHECK(dot(hopper32, brain, {{0x1p127, 0x1p127}, {-0x1p127, 0x1p127}}) == 0);
  CHECK(dot(hopper32, tf32, {{0x1p127, 6}, {-0x1p127, 5}}) == f32(0x1p127));
  CHECK(dot(hopper32, brain, {{0x1p127, 0x1p127}, {-0x1p127, 0x1p127}}, 5) == 0);  // C is cut
}

TEST_CASE("tf32 ignores its low 13 bits") {
  CHECK(dot_codes(hopper32, tf32, {{0x3F801FFF, 0x3F801FFF}}, 0) == f32(1));
  CHECK(dot_codes(hopper32, tf32, {{0x3F802000, 0x3F800000}}, 0) == f32(1 + 0x1p-10));
  CHECK(dot_codes(hopper32, tf32, {{0x00001FFF, 0x7F000000}}, 0) == 0);
  CHECK(dot_codes(hopper32, tf32, {{0x7F802000, 0}}, 0) == nan32);
}

TEST_CASE("results: toward zero, to nearest, subnormal") {
  CHECK(dot(hopper32, half, {{1, 1}, {0x1p-12, 0x1p-12}}) == f32(1));
  CHECK(dot(hopper32, half, {{-1, 1}, {-0x3p-13, 0x1p-12}}) == f32(-1));
  CHECK(dot(hopper32, half, {{-1, 1}, {-0x5p-13, 0x1p-12}}) == f32(-1 - 0x1p-23));
  CHECK(dot(hopper32, half, {{-1, 1}, {0x1p-12, 0x1p-12}}) == f32(-1 + 0x1p-24));
  const DotRules nearest = with(hopper32, [](DotRules& r) { r.way = Way::nearest_even; });
  CHECK(dot(nearest, half, {{1, 1}, {0x1p-12, 0x1p-12}}) == f32(1));
  CHECK(dot(nearest, half, {{1, 1}, {0x3p-13, 0x1p-12}}) == f32(1 + 0x1p-23));
  CHECK(dot(hopper16, half, {{1, 1}, {0x1p-11, 1}}) == f16(1));
  CHECK(dot(hopper16, half, {{1, 1}, {0x3p-11, 1}}) == f16(1 + 0x1p-9));
  CHECK(dot(hopper16, half, {{1, 1}, {0x1p-11, 1}, {0x1p-12, 0x1p-13}}) == f16(1 + 0x1p-10));
  CHECK(dot(hopper16, half, {{0x1p-24, 1.5}}) == 0x0002);
  CHECK(dot(hopper16, half, {{0x1p-24, 0.5}}) == 0x0000);
  CHECK(dot(hopper16, half, {{0x1p-14, 1}, {-0x1p-24, 0.5}}) == 0x0400);  // back to normal
  CHECK(dot(hopper32, brain, {{0x1p-100, 0x1p-40}}) == 0x00000200);
  CHECK(dot(hopper32, brain, {{-0x1p-100, 0x1.8p-49}}) == 0x80000001);
  CHECK(dot(hopper8, e5m2, {{1, 1}}, 0x1p-13) == f32(1 + 0x1p-13));
}

TEST_CASE("signs of zero") {
  CHECK(dot(hopper32, half, {{-0.0, 1}, {-0.0, 1}}, -0.0) == 0);
  CHECK(dot(hopper16, half, {{-0.0, 1}, {0.0, -1}}, -0.0) == 0);
  CHECK(dot(hopper8, e5m2, {{-0.5, 0.5}}, 0.25) == 0);
  CHECK(dot(hopper32, brain, {{-0x1p-100, 0x1p-50}}) == 0x00000000);
  CHECK(dot(hopper16, half, {{-0x1p-12, 0x1p-14}}) == 0x0000);
  CHECK(dot(hopper32, brain, {{-0x1p-100, 0x1p-100}}) == 0);  // lost at alignment: S = 0
}

TEST_CASE("overflow is Inf, also toward zero") {
  CHECK(dot(hopper32, brain, {{0x1p127, 2}}) == inf32);
  CHECK(dot(hopper32, brain, {{-0x1p127, 2}}) == minus_inf32);
  CHECK(dot(hopper32, brain, {{0x1p127, 2}, {-0x1p104, 1}}) == 0x7F7FFFFF);
  CHECK(dot(hopper32, brain, {{0x1p127, 2}, {-0x1p103, 1}}) == 0x7F7FFFFF);  // not representable
  CHECK(dot(hopper16, half, {{65504, 1}, {15.5, 1}}) == 0x7BFF);
  CHECK(dot(hopper16, half, {{65504, 1}, {16, 1}}) == inf16);
  CHECK(dot(hopper16, half, {{-65504, 1}, {-16, 1}}) == 0xFC00);
  CHECK(dot(hopper8, e5m2, {{0x1p15, 0x1p15}}, 0x1.FFFFFEp127) == 0x7F7FFC00);
  CHECK(dot_codes(hopper8, e5m2, {{0, 0}}, 0x7F7FFFFF) == 0x7F7FFC00);
  // Inf of a block is the C of the next.
  CHECK(dot(with(hopper16, [](DotRules& r) { r.block_length = 1; }), half,
            {{65504, 2}, {-65504, 2}}) == inf16);
}

TEST_CASE("specials") {
  const std::uint64_t one = 0x3C00, inf = 0x7C00, minus_inf = 0xFC00;
  CHECK(dot_codes(hopper32, half, {{0x7E01, 0}}, 0) == nan32);
  CHECK(dot_codes(hopper32, half, {{0, 0xFC01}}, 0) == nan32);
  CHECK(dot_codes(hopper16, half, {{one, one}}, 0xFE00) == nan16);
  CHECK(dot_codes(hopper32, half, {{inf, 0x8000}}, 0) == nan32);
  CHECK(dot_codes(hopper32, half, {{inf, one}, {minus_inf, one}}, 0) == nan32);
  CHECK(dot_codes(hopper32, half, {{inf, one}}, minus_inf32) == nan32);
  CHECK(dot_codes(hopper32, half, {{inf, one}, {minus_inf, minus_inf}}, inf32) == inf32);
  CHECK(dot_codes(hopper16, half, {{one, one}}, minus_inf) == minus_inf);
  CHECK(dot_codes(hopper8, e4m3, {{0x7F, 0}}, 0) == nan32);
  CHECK(dot_codes(hopper8, e4m3, {{0x7E, 0x38}}, 0) == f32(448));
  CHECK(dot_codes(hopper8, e5m2, {{0x7C, 0x3C}}, 0) == inf32);
  CHECK(dot_codes(expanded16, e5m2,
                  std::vector(32, std::pair<std::uint64_t, std::uint64_t>(0x7C, 0xBC)),
                  0x7C00) == nan16);
  const oracle::Spec& e2m1 = format("e2m1");
  CHECK(dot_codes(hopper32, e2m1, {{0x7, 0x7}}, 0) == f32(36));
  CHECK(dot_codes(hopper32, e2m1, {{0xF, 0x1}}, 0) == f32(-3));
}

TEST_CASE("blocks are chained through the rounded result, lowest k first") {
  // fp16: 2048 + 1 rounds to 2048; as one block it would be 2050.
  const DotRules ones = with(hopper16, [](DotRules& r) { r.block_length = 1; });
  CHECK(dot(ones, half, {{2048, 1}, {1, 1}, {1, 1}}) == f16(2048));
  CHECK(dot(hopper16, half, {{2048, 1}, {1, 1}, {1, 1}}) == f16(2050));
  const DotRules last_first = with(ones, [](DotRules& r) { r.highest_block_first = true; });
  CHECK(dot(last_first, half, {{2048, 1}, {1, 1}, {1, 1}}) == f16(2050));
  CHECK(dot(last_first, half, {{1, 1}, {1, 1}, {2048, 1}}) == f16(2048));
  CHECK(dot(hopper32, half, sparse(32, {{0, 1}, {15, 0x1p-12}, {16, -1}})) == f32(0x1p-12));
}

TEST_CASE("an fp16 C with an fp32 result is widened") {
  // C = -2^-23 then has exponent -23, not -14, and 2^-48 still is a last place.
  const std::array<std::uint64_t, 1> a{0x0001}, b{0x0001};
  CHECK(oracle::dot(hopper32, half, half, half, a, b, 0x8002) == f32(-0x1p-23 + 0x1p-47));
}

TEST_CASE("mixed operand formats") {
  const std::array<std::uint64_t, 2> a{0x38, 0x7E}, b{0x3C, 0xBC};  // 1, 448; 1, -1
  CHECK(oracle::dot(hopper8, e4m3, e5m2, single, a, b, 0) == f32(-447));
}

TEST_CASE("FP8 through binary16: two chains, then C") {
  // k = 16 belongs to the first chain, with k = 0 and 1.
  CHECK(dot(expanded16, e4m3, sparse(32, {{1, 1}, {0, 256}, {16, 1}})) == f16(258));
  Pairs pairs = sparse(32, {{1, 1}, {16, 1}});
  pairs[0] = {64, 32};
  CHECK(dot(expanded16, e4m3, pairs) == f16(2050));
  const DotRules contiguous = with(expanded16, [](DotRules& r) { r.contiguous_halves = true; });
  CHECK(dot(contiguous, e4m3, pairs) == f16(2048));
  std::swap(pairs[16], pairs[2]);  // the second chain
  CHECK(dot(expanded16, e4m3, pairs) == f16(2048));
  CHECK(dot(contiguous, e4m3, pairs) == f16(2050));
  // C comes last.
  std::swap(pairs[2], pairs[3]);
  pairs[3] = {0, 0};
  CHECK(dot(expanded16, e4m3, pairs, 1) == f16(2048));
  CHECK(dot(expanded16, e4m3, pairs, 2) == f16(2050));
  const DotRules in_chain = with(expanded16, [](DotRules& r) { r.c_in_chain = true; });
  CHECK(dot(in_chain, e4m3, pairs, 1) == f16(2050));
  // A sum of only 16 products is one chain.
  CHECK(dot(expanded16, e4m3, {pairs.begin(), pairs.begin() + 16}, 1) == f16(2048));
  CHECK_THROWS(dot(expanded16, e4m3, Pairs(8, {1, 1})));
  CHECK(dot(expanded16, e4m3, sparse(64, {{0, 3}, {2, 4}, {32, 5}, {63, 6}}), 7) == f16(25));
  // 2^-9 is normal in binary16: 2^-9 2^8 has exponent -1.
  const DotRules shorter = with(expanded16, [](DotRules& r) { r.fraction_bits = 15; });
  pairs.assign(32, {0, 0});
  pairs[0] = {0x1p-9, 256}, pairs[1] = {-0x1p-9, 256}, pairs[4] = {0x1p-9, 0x1p-7};
  CHECK(dot(shorter, e4m3, pairs) == f16(0x1p-16));
}

TEST_CASE("FP8 through binary16 into fp32: toward zero in the chains, to nearest with C") {
  Pairs pairs = sparse(32, {});
  pairs[0] = {256, 256};
  pairs[1] = {0x1p-4, 0x1p-4};  // half of the result's last place
  CHECK(dot(expanded32, e4m3, pairs) == f32(0x1p16));
  CHECK(dot(expanded32, e4m3, pairs, 0x1p-8) == f32(0x1p16));
  CHECK(dot(expanded32, e4m3, pairs, 0x1.8p-8) == f32(0x1p16 + 0x1p-7));
  CHECK(dot(expanded32, e4m3, pairs, -0x1p16) == 0);
  CHECK(dot(expanded32, e4m3, sparse(32, {}), -0.0) == 0);
}

TEST_CASE("a chain of fma") {
  const DotRules chain{
      .result = Result::binary64, .way = Way::nearest_even, .recipe = Recipe::fma_chain};
  const double x = 1 + 0x1p-30;
  CHECK(dot(chain, twice, {{x, x}}, -1 - 0x1p-29) == code(0x1p-60, twice));
  CHECK(dot(chain, twice, {{0x1p53, 1}, {1, 1}, {1, 1}}) == code(0x1p53, twice));
  CHECK(dot(chain, twice, {{1, 1}, {1, 1}, {0x1p53, 1}}) == code(0x1p53 + 2, twice));
  CHECK(dot(chain, twice, {{-0.0, 1}}, -0.0) == std::uint64_t{1} << 63);
  CHECK(dot(chain, twice, {{1, 1}, {-1, 1}}, 0) == 0);
  const DotRules down = with(chain, [](DotRules& r) { r.way = Way::down; });
  CHECK(dot(down, twice, {{1, 1}, {-1, 1}}) == std::uint64_t{1} << 63);
  CHECK(dot(down, twice, {{-1, 1}}) == code(-1, twice));
  CHECK(dot(with(chain, [](DotRules& r) { r.way = Way::to_zero; }), twice, {{0x1p1023, 2}}) ==
        0x7FEFFFFFFFFFFFFF);
  CHECK(dot(chain, twice, {{0x1p1023, 2}}) == 0x7FF0000000000000);
  CHECK(dot(chain, twice, {{0x1p-1000, 0x1.8p-74}}) == 2);
  CHECK(dot_codes(chain, twice, {{0x7FF0000000000000, 0}}, 0) == 0x7FF8000000000000);
}

TEST_CASE("every step of a chain of fma is the oracle's multiply-add") {
  std::mt19937_64 random(20250114);
  const oracle::Oracle rounder(twice, oracle::Oracle::Method::division);
  std::size_t cases = 0, different = 0;
  for (const Way way : {Way::nearest_even, Way::to_zero, Way::up, Way::down}) {
    const DotRules chain{.result = Result::binary64, .way = way, .recipe = Recipe::fma_chain};
    for (std::size_t i = 0; i < 5000; ++i) {
      // Exponent fields: any; around 1; wide; products and C around the smallest number.
      constexpr std::uint64_t start[]{0, 0x3FE, 0x3E0, 0x1E0}, count[]{0x800, 4, 0x40, 0x40};
      const auto draw = [&] {
        const std::uint64_t field = start[i % 4] + random() % count[i % 4];
        return (random() & 0x800FFFFFFFFFFFFF) | field << 52;
      };
      std::array<std::uint64_t, 4> a{}, b{};
      const std::uint64_t c = i % 4 == 3 ? draw() & 0x803FFFFFFFFFFFFF : draw();
      std::uint64_t d = c;
      for (std::size_t k = 0; k < a.size(); ++k) {
        a[k] = draw();
        b[k] = draw();
        const oracle::Computed exact =
            oracle::compute(oracle::Operation::multiply_add, oracle::value_of(a[k], twice),
                            oracle::value_of(b[k], twice), oracle::value_of(d, twice), way);
        d = rounder.round(exact.value, {.way = way}).bits;
      }
      ++cases;
      different += oracle::dot(chain, twice, twice, twice, a, b, c) == d ? 0 : 1;
    }
  }
  CHECK(std::pair(cases, different) == std::pair<std::size_t, std::size_t>(20000, 0));
}

TEST_CASE("what cannot be a dot product is refused") {
  const std::array<std::uint64_t, 2> two{};
  const std::array<std::uint64_t, 1> one{};
  CHECK_THROWS_AS(oracle::dot(hopper32, half, half, single, two, one, 0), std::invalid_argument);
  CHECK_THROWS_AS(oracle::dot(hopper32, half, half, single, {}, {}, 0), std::invalid_argument);
}

}  // namespace
}  // namespace dot_test
