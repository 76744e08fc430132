// SPDX-License-Identifier: Apache-2.0
//
// exp, log, tanh, erf and rsqrt where mathematics gives the answer: special values, exact results,
// arguments so small that one term of the series is left, ends of the range. Both evaluations must
// give the same answer. tests/slow/functions_test.cpp tests all 2^32 arguments.
#include "emulate/functions.h"

#include <doctest/doctest.h>

#include <cmath>
#include <random>

namespace binade::functions_test {
namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr float smallest = std::numeric_limits<float>::denorm_min();

std::uint32_t bits32(float x) { return std::bit_cast<std::uint32_t>(x); }
float float_of(std::uint32_t bits) { return std::bit_cast<float>(bits); }

// In the compiler as at run time, the refinements as well.
static_assert(rounded_exp(1.0F) == 2.7182817F);
static_assert(rounded_log(10.0F) == 2.3025851F);
static_assert(rounded_tanh(-0.5F) == -0.46211717F);
static_assert(rounded_erf(0.5F) == 0.5204999F);
static_assert(rounded_rsqrt(2.0F) == 0.70710677F);
static_assert(rounded_to_float(detail::wide_exp(1.0)) == 2.7182817F);
static_assert(rounded_to_float(detail::wide_log(10.0, 2.302585092994046)) == 2.3025851F);
static_assert(rounded_to_float(detail::wide_tanh(0.5)) == 0.46211717F);
static_assert(rounded_to_float(detail::wide_erf(0.5)) == 0.5204999F);
static_assert(rounded_to_float(detail::wide_rsqrt(2.0, 0.7071067811865475)) == 0.70710677F);

TEST_CASE("special arguments give what IEEE 754-2019 9.2 says") {
  CHECK(bits32(rounded_exp(0.0F)) == bits32(1.0F));
  CHECK(bits32(rounded_exp(-0.0F)) == bits32(1.0F));
  CHECK(rounded_exp(infinity) == infinity);
  CHECK(bits32(rounded_exp(-infinity)) == bits32(0.0F));
  CHECK(rounded_log(0.0F) == -infinity);
  CHECK(rounded_log(-0.0F) == -infinity);
  CHECK(bits32(rounded_log(1.0F)) == bits32(0.0F));
  CHECK(rounded_log(infinity) == infinity);
  for (float (*odd)(float) : {&rounded_tanh, &rounded_erf}) {
    CHECK(bits32(odd(0.0F)) == bits32(0.0F));
    CHECK(bits32(odd(-0.0F)) == bits32(-0.0F));
    CHECK(odd(infinity) == 1);
    CHECK(odd(-infinity) == -1);
  }
  CHECK(rounded_rsqrt(0.0F) == infinity);
  CHECK(rounded_rsqrt(-0.0F) == -infinity);
  CHECK(bits32(rounded_rsqrt(infinity)) == bits32(0.0F));
}

TEST_CASE("every NaN result is the positive quiet NaN without payload") {
  for (const std::uint32_t nan :
       {0x7FC00000U, 0xFFC00000U, 0x7F800001U, 0xFFFFFFFFU, 0x7FABCDEFU}) {
    for (float (*function)(float) :
         {&rounded_exp, &rounded_log, &rounded_tanh, &rounded_erf, &rounded_rsqrt}) {
      CHECK(bits32(function(float_of(nan))) == 0x7FC00000);
    }
  }
  for (const float x : {-smallest, -1.0F, -infinity}) {
    CHECK(bits32(rounded_log(x)) == 0x7FC00000);
    CHECK(bits32(rounded_rsqrt(x)) == 0x7FC00000);
  }
}

TEST_CASE("exp ends where half a subnormal and half an ulp above the largest float end") {
  // ln(2^-150) = -103.97208..., ln(2^128·(1 - 2^-25)) = 88.72283905...
  CHECK(rounded_exp(-103.97207F) == smallest);
  CHECK(bits32(rounded_exp(-103.972084F)) == bits32(0.0F));
  CHECK(bits32(rounded_exp(-104.5F)) == bits32(0.0F));
  CHECK(rounded_exp(88.72283F) < infinity);
  CHECK(rounded_exp(88.72284F) == infinity);
}

TEST_CASE("exp around 0 is 1 up to half an ulp of 1") {
  CHECK(rounded_exp(0x1p-24F) == 1 + 0x1p-23F);  // 1 + 2^-24 + 2^-49: above the tie
  CHECK(rounded_exp(std::nextafter(0x1p-24F, 0.0F)) == 1);
  CHECK(rounded_exp(-0x1p-25F) == 1);  // 1 - 2^-25 + 2^-51: above the tie
  CHECK(rounded_exp(std::nextafter(-0x1p-25F, -1.0F)) == 1 - 0x1p-24F);
}

TEST_CASE("tanh of a subnormal number is itself, and erf of it 2/sqrt(pi) times as much") {
  std::uint64_t compared = 0;
  for (std::uint32_t bits = 1; bits < 0x00800000; bits += 97) {
    const bool tanh = bits32(rounded_tanh(float_of(bits))) == bits;
    // 2/sqrt(pi) = 1.1283791670955126; in units of 2^-149, no product of the slice is near a tie.
    const auto units = static_cast<std::uint32_t>(std::nearbyint(1.1283791670955126L * bits));
    const bool erf = bits32(rounded_erf(float_of(bits))) == units;
    if (!tanh || !erf) REQUIRE(bits == 0);
    compared += 1;
  }
  CHECK(compared > 80000);
}

TEST_CASE("rsqrt of a power of four is exact") {
  for (int e = -148; e <= 126; e += 2) {
    CHECK(rounded_rsqrt(std::ldexp(1.0F, e)) == std::ldexp(1.0F, -e / 2));
  }
}

TEST_CASE(
    "rsqrt is the float whose neighbours' midpoints enclose 1/sqrt(x), judged by their squares") {
  // 1/sqrt(x) < m as 1 < x·m²; m has 25 bits, so m² is exact and x·m² is right to 2^-64.
  std::mt19937 random(7);
  for (int i = 0; i < 200000; ++i) {
    const float x = float_of(static_cast<std::uint32_t>(random()) % 0x7F7FFFFF + 1);
    const float y = rounded_rsqrt(x);
    const long double above = (static_cast<long double>(y) + std::nextafter(y, infinity)) / 2;
    const long double below = (static_cast<long double>(y) + std::nextafter(y, 0.0F)) / 2;
    const bool right = above * above * x > 1 && below * below * x < 1;
    if (!right) REQUIRE(bits32(x) == 0);
  }
}

TEST_CASE("the refinement alone gives what the function gives") {
  std::mt19937 random(11);
  for (int i = 0; i < 20000; ++i) {
    const float share = static_cast<float>(random() >> 8) * 0x1p-24F;
    const float x = 0x1p-20F + 3.9F * share;
    const double wide = x;
    if (rounded_exp(x) != rounded_to_float(detail::wide_exp(wide))) REQUIRE(bits32(x) == 1);
    if (rounded_exp(-20 * x) != rounded_to_float(detail::wide_exp(-20 * x)))
      REQUIRE(bits32(x) == 2);
    if (rounded_log(x) != rounded_to_float(detail::wide_log(wide, std::log(wide))))
      REQUIRE(bits32(x) == 3);
    if (rounded_tanh(x) != rounded_to_float(detail::wide_tanh(wide))) REQUIRE(bits32(x) == 4);
    if (rounded_erf(x) != rounded_to_float(detail::wide_erf(wide))) REQUIRE(bits32(x) == 5);
    const float rsqrt = rounded_to_float(detail::wide_rsqrt(wide, 1 / std::sqrt(wide)));
    if (rounded_rsqrt(x) != rsqrt) REQUIRE(bits32(x) == 6);
  }
}

TEST_CASE("a double-double keeps what a double drops, and rounds once") {
  const DoubleDouble sum = exact_sum(1, 0x1p-80);
  CHECK(sum.high == 1);
  CHECK(sum.low == 0x1p-80);
  const DoubleDouble product = exact_product(1 + 0x1p-40, 1 - 0x1p-40);
  CHECK(product.high == 1);
  CHECK(product.low == -0x1p-80);
  const double tie = 1 + 0x1p-24;
  CHECK(rounded_to_float({tie}) == 1);
  CHECK(rounded_to_float({tie, 0x1p-80}) == 1 + 0x1p-23F);
  CHECK(rounded_to_float({-tie, -0x1p-80}) == -1 - 0x1p-23F);
  CHECK(rounded_to_float({tie + 0x1p-23, -0x1p-80}) == 1 + 0x1p-23F);
  CHECK(rounded_to_float({-tie - 0x1p-23, 0x1p-80}) == -1 - 0x1p-23F);
  const DoubleDouble third = DoubleDouble{1} / DoubleDouble{3};
  const DoubleDouble back = third * DoubleDouble{3} + DoubleDouble{-1};
  CHECK(std::abs(back.high) < 0x1p-103);
}

}  // namespace
}  // namespace binade::functions_test
