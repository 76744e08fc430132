// SPDX-License-Identifier: Apache-2.0
//
// Exact numbers against fractions of Boost.Multiprecision, and as text.
#include "lib/number/exact_number.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <random>

#include "tests/lib/number/rational.h"

namespace binade::exact_number_test {
namespace {

using test::power_of_two;
using test::rational;
using test::Rational;
using Random = std::mt19937_64;

/// Returns whether a number has its only representation: an odd integer without a zero word on top,
/// or no words and exponent 0 for zero.
bool is_spelled(const ExactNumber& x) {
  if (x.integer.empty()) return !x.negative && x.exponent == 0;
  return (x.integer.front() & 1) != 0 && x.integer.back() != 0;
}

ExactNumber draw(Random& random) {
  const int exponent = static_cast<int>(random() % 300) - 150;
  ExactNumber out = exact_number(random() % 2 == 0, random() >> random() % 64, exponent);
  if (random() % 3 == 0) out = out * exact_number(false, random() >> random() % 64, 7);
  if (random() % 3 == 0) out += exact_number(random() % 2 == 0, random(), exponent - 90);
  if (random() % 16 == 0) out = {};
  return out;
}

TEST_CASE("sums, differences, products and order are those of fractions") {
  Random random(1);
  int equal = 0, long_numbers = 0;
  for (int i = 0; i < 20000; ++i) {
    const ExactNumber a = draw(random);
    const ExactNumber b = random() % 8 == 0 ? a : random() % 8 == 0 ? -a : draw(random);
    REQUIRE(is_spelled(a));
    const Rational x = rational(a);
    const Rational y = rational(b);
    for (const ExactNumber& z : {a + b, a - b, a * b, -a, magnitude_of(a), scaled(a, -70)}) {
      REQUIRE(is_spelled(z));
    }
    REQUIRE(rational(a + b) == x + y);
    REQUIRE(rational(a - b) == x - y);
    REQUIRE(rational(a * b) == x * y);
    REQUIRE(rational(-a) == -x);
    REQUIRE(rational(magnitude_of(a)) == abs(x));
    REQUIRE(rational(scaled(a, -70)) == x * power_of_two(-70));
    REQUIRE((a < b) == (x < y));
    REQUIRE((a > b) == (x > y));
    REQUIRE((a == b) == (x == y));
    equal += a == b ? 1 : 0;
    long_numbers += a.integer.size() > 3 ? 1 : 0;
  }
  CHECK(equal > 1000);
  CHECK(long_numbers > 1000);
}

TEST_CASE("bits and the leading exponent are those of the number") {
  Random random(2);
  for (int i = 0; i < 2000; ++i) {
    const ExactNumber x = draw(random);
    if (x.is_zero()) continue;
    Rational sum = 0;
    for (int weight = x.exponent - 40; weight <= x.leading_exponent() + 40; ++weight) {
      if (x.bit(weight)) sum += power_of_two(weight);
    }
    REQUIRE(sum == abs(rational(x)));
    REQUIRE(x.bit(x.leading_exponent()));
  }
}

TEST_CASE("whole numbers of either sign") {
  const std::int64_t lowest = std::numeric_limits<std::int64_t>::min();
  CHECK(exact_text(exact_number(lowest)) == "-9223372036854775808");
  CHECK(exact_number(lowest) == exact_number(-1, 63));
  CHECK(exact_number(0, 12) == ExactNumber{});
  CHECK(exact_number(6, -3) == exact_number(3, -2));
  CHECK(exact_number(true, 0, 5) == ExactNumber{});
}

TEST_CASE("encodings: signs, subnormals, zeros, integers") {
  CHECK(exact_number(std::uint64_t{0xBE00}, binary16) == exact_number(-3, -1));
  CHECK(exact_number(std::uint64_t{0x0001}, binary16) == exact_number(1, -24));
  CHECK(exact_number(std::uint64_t{0x8000}, binary16).is_zero());
  CHECK(exact_number(std::uint64_t{0x3F802000}, tf32) == exact_number(1025, -10));
  CHECK(exact_number(std::uint64_t{0x80000000}, Format{0, 32, 0, Specials::none, true, true}) ==
        exact_number(-1, 31));
}

TEST_CASE("the nearest double, ties to even") {
  CHECK(to_double(exact_number(-3, -1)) == -1.5);
  CHECK(to_double({}) == 0);
  const ExactNumber half_ulp = exact_number(1, -53);
  CHECK(to_double(exact_number(1) + half_ulp) == 1);
  CHECK(to_double(exact_number(1) + half_ulp + exact_number(1, -200)) == 1 + std::ldexp(1, -52));
  CHECK(to_double(exact_number(1, -1074)) == std::numeric_limits<double>::denorm_min());
}

TEST_CASE("text is exact where it fits and says where it does not") {
  CHECK(exact_text(exact_number(-5, -3)) == "-0.625");
  CHECK(exact_text({}) == "0");
  CHECK(brief_text(exact_number(-5, -3), 6) == "-0.625");
  CHECK(brief_text(exact_number(5, -24), 12) == "5*2^-24");
  CHECK(brief_text(exact_number(-1, -149), 12) == "-2^-149");
  CHECK(brief_text(exact_number(123456789, -30), 12) == "≈0.1150");
  CHECK(brief_text(exact_number(-9, 63), 19) == "-9*2^63");
  CHECK(brief_text(exact_number(-123457, 50), 19) == "≈-1.390e+20");
  CHECK(brief_text({}, 12) == "0");
}

}  // namespace
}  // namespace binade::exact_number_test
