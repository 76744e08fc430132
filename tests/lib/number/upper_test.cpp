// SPDX-License-Identifier: Apache-2.0
//
// Upper bounds are never below the exact result and within a unit in the last of 64 bits of it;
// exact signed sums equal those of rational numbers.
#include "lib/number/upper.h"

#include <doctest/doctest.h>

#include "lib/number/signed_sum.h"
#include "lib/text/error.h"
#include "tests/lib/gemm/exact_product.h"

namespace binade::test::upper_test {
namespace {

Rational rational_of(const Upper& x) { return test::rational_of(x.exact()); }

Rational rational_of(const SignedSum& x) {
  const Rational size = test::rational_of(x.magnitude());
  return x.is_negative() ? Rational(-size) : size;
}

uint128 any_bits(Random& random) {
  const uint128 all = static_cast<uint128>(random()) << 64 | random();
  return all >> (random() % 128);
}

Integer integer_of(uint128 x) {
  return (Integer(static_cast<std::uint64_t>(x >> 64)) << 64) + static_cast<std::uint64_t>(x);
}

Rational exact_value(uint128 x, int e) { return Rational(integer_of(x)) * power_of_two(e); }

void check_close(const Upper& got, const Rational& exact) {
  const Rational bound = rational_of(got);
  REQUIRE(bound >= exact);
  const Rational most = exact + exact * power_of_two(-60);  // up to three roundings
  REQUIRE(bound <= most);
}

TEST_CASE("upper bounds are at least the number and at most a unit above") {
  Random random(1);
  for (int i = 0; i < 20000; ++i) {
    const uint128 x = any_bits(random);
    const uint128 y = any_bits(random);
    const int e = between(random, -300, 300);
    const int f = e + between(random, -160, 160);
    const Upper a(x, e);
    const Upper b(y, f);
    const Rational p = exact_value(x, e);
    const Rational q = exact_value(y, f);
    check_close(a, p);
    check_close(a + b, p + q);
    check_close(a * b, p * q);
    ExactSum sum;
    sum.add(x, e);
    sum.add(y, f);
    check_close(Upper(sum), p + q);
    REQUIRE(a.holds({}));
    REQUIRE((Upper(sum).holds(sum)));
    const bool below = rational_of(a) < rational_of(b);
    REQUIRE((a < b) == below);
    REQUIRE(Rational(test::rational_of(a.value())) >= p);
    if (x != 0) REQUIRE(power_of_two(a.log2()) <= rational_of(a));
  }
}

TEST_CASE("the ends of upper bounds") {
  CHECK(Upper().is_zero());
  CHECK((Upper() + Upper::power(3)).value() == 8);
  CHECK((Upper() * Upper::power(3)).is_zero());
  CHECK(Upper::power(-2000).value() == 0x1p-1074);
  CHECK(Upper::power(2000).value() == std::numeric_limits<double>::infinity());
  CHECK(Upper(3, -1075).value() == 0x1p-1073);
  CHECK_FALSE(Upper::power(0).holds(Upper(~uint128{0}, -127).exact()));
  // 2^64 - 1 and something below: the next power of two.
  CHECK(Upper((static_cast<uint128>(~std::uint64_t{0}) << 64) + 1, 0) == Upper::power(128));
  CHECK(rational_of(Upper::power(-2400)) == power_of_two(-2304));
}

TEST_CASE("signed sums are exact whatever is added, however it cancels") {
  Random random(2);
  for (int i = 0; i < 2000; ++i) {
    SignedSum sum;
    Rational exact = 0;
    const int spread = between(random, 1, 500);
    for (int n = between(random, 1, 30); n > 0; --n) {
      const uint128 x = any_bits(random);
      const int e = between(random, -spread, spread);
      const bool negative = random() % 2 == 0;
      sum.add(negative, x, e);
      exact += negative ? Rational(-exact_value(x, e)) : exact_value(x, e);
      if (random() % 8 == 0) {  // take nearly all of it away again
        SignedSum copy = sum;
        copy.add(true, 1, -spread);
        sum.subtract(copy);
        exact = power_of_two(-spread);
      }
      if (random() % 3 == 0) REQUIRE(rational_of(sum) == exact);
    }
    REQUIRE(rational_of(sum) == exact);
    REQUIRE(sum.is_zero() == (exact == 0));
    REQUIRE(sum.is_negative() == (exact < 0));
    if (exact != 0) check_close(sum.upper(), abs(exact));
    REQUIRE(rational_of(SignedSum(sum.magnitude(), sum.is_negative())) == exact);
    const std::uint64_t factor = random() >> (random() % 64);
    const Rational product = -exact * exact_value(factor, -7);
    REQUIRE(rational_of(sum.times(true, factor, -7)) == product);
    SignedSum twice = sum;
    twice.add(sum);
    REQUIRE(rational_of(twice) == Rational(2 * exact));
    sum.clear();
    REQUIRE(sum.is_zero());
  }
}

TEST_CASE("a sum that was negative and small has a small upper bound") {
  SignedSum sum;
  sum.add(false, 1, 100);
  sum.add(true, 1, 100);
  sum.add(true, 3, -200);
  CHECK(sum.is_negative());
  CHECK(sum.upper() == Upper(3, -200));
  sum.add(false, 3, -200);
  CHECK(sum.is_zero());
  CHECK(sum.upper().is_zero());
}

TEST_CASE("bits below 2^-2304 are refused, not dropped") {
  SignedSum sum;
  CHECK_NOTHROW(sum.add(false, 2, -2305));
  CHECK_THROWS_AS(sum.add(false, 1, -2305), Error);
  CHECK_THROWS_AS(sum.add(false, 1, -5000), Error);
}

}  // namespace
}  // namespace binade::test::upper_test
