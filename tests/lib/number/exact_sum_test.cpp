// SPDX-License-Identifier: Apache-2.0
//
// The wide fixed-point number against Boost.Multiprecision: sums, differences, correctly rounded
// quotients, decimal digits.
#include "lib/number/exact_sum.h"

#include <doctest/doctest.h>

#include <random>
#include <string>
#include <vector>

#include "tests/lib/range/exact.h"

namespace binade::test::exact_sum_test {
namespace {

constexpr int unit = ExactSum::unit_exponent;

uint128 random_uint128(std::mt19937_64& random, int bits) {
  const uint128 wide = static_cast<uint128>(random()) << 64 | random();
  return bits == 0 ? 0 : wide >> (128 - bits) | uint128{1} << (bits - 1);
}

int between(std::mt19937_64& random, int low, int high) {
  return low + static_cast<int>(random() % static_cast<std::uint64_t>(high - low + 1));
}

ExactSum sum_of(const Integer& units) {
  ExactSum out;
  Integer rest = units;
  for (std::uint64_t& limb : out.limbs) {
    limb = static_cast<std::uint64_t>(rest & ~std::uint64_t{0});
    rest >>= 64;
  }
  REQUIRE(rest == 0);
  return out;
}

/// A random integer of exactly `bits` bits.
Integer random_integer(std::mt19937_64& random, int bits) {
  Integer out = 0;
  for (int i = 0; i < bits; i += 64) out = (out << 64) + random();
  out = out & (power_of_two_of(static_cast<unsigned>(bits)) - 1);
  return out | power_of_two_of(static_cast<unsigned>(bits - 1));
}

bool same(const ScaledDouble& have, const Quotient& want) {
  if (want.m == 0) return have.significand == 0;
  return have.significand >= 0.5 && have.significand < 1 &&
         std::ldexp(have.significand, 53) == static_cast<double>(want.m) &&
         have.exponent == want.e + 53;
}

TEST_CASE("sums of shifted 128-bit numbers are exact, carries included") {
  std::mt19937_64 random(1);
  ExactSum sum;
  Integer want = 0;
  for (int i = 0; i < 20000; ++i) {
    const int bits = between(random, 0, 128);
    const uint128 value =
        i % 3 == 0 ? ~uint128{0} >> (128 - std::max(bits, 1)) : random_uint128(random, bits);
    const int exponent = between(random, unit, 2100);
    sum.add(value, exponent);
    want += in_units(integer_of(value), exponent, unit);
  }
  CHECK(integer_of(sum) == want);
  CHECK_FALSE(sum.is_zero());
  CHECK(ExactSum{}.is_zero());
}

TEST_CASE("a carry runs through all limbs") {
  ExactSum sum = sum_of(power_of_two_of(4600) - 1);
  sum.add(1, unit);
  CHECK(integer_of(sum) == power_of_two_of(4600));
  ExactSum one;
  one.add(1, unit);
  sum -= one;
  CHECK(integer_of(sum) == power_of_two_of(4600) - 1);
  sum += one;
  CHECK(integer_of(sum) == power_of_two_of(4600));
}

TEST_CASE("a value with zero bits below the unit is shifted, not cut") {
  ExactSum sum;
  sum.add(uint128{5} << 7, unit - 7);
  CHECK(integer_of(sum) == 5);
}

TEST_CASE("a shifted sum is divided or multiplied by a power of two") {
  std::mt19937_64 random(12);
  for (int i = 0; i < 2000; ++i) {
    const Integer units = random_integer(random, between(random, 1, 2000));
    const int n = between(random, -2500, 2500);
    const Integer whole = power_of_two_of(64 * ExactSum::size);
    Integer want = units;
    n >= 0 ? want >>= n : want <<= -n;
    want %= whole;  // what is above the top is dropped
    REQUIRE(integer_of(shifted_right(sum_of(units), n)) == want);
  }
  CHECK(shifted_right(sum_of(5), 0) == sum_of(5));
  CHECK(shifted_right(sum_of(5), 64) == ExactSum{});
}

TEST_CASE("192-bit products are exact") {
  std::mt19937_64 random(2);
  for (int i = 0; i < 5000; ++i) {
    const uint128 a = i % 5 == 0 ? ~uint128{0} : random_uint128(random, between(random, 0, 128));
    const std::uint64_t b = i % 7 == 0 ? ~std::uint64_t{0} : random();
    const int exponent = between(random, unit, 2000);
    ExactSum sum;
    sum.add_product(a, b, exponent);
    REQUIRE(integer_of(sum) == in_units(integer_of(a) * b, exponent, unit));
  }
}

TEST_CASE("addition, subtraction and comparison of whole sums are those of integers") {
  std::mt19937_64 random(3);
  int smaller = 0;
  for (int i = 0; i < 2000; ++i) {
    const Integer a = random_integer(random, between(random, 1, 4500));
    const Integer b = i % 10 == 0 ? a : random_integer(random, between(random, 1, 4500));
    ExactSum x = sum_of(a);
    const ExactSum y = sum_of(b);
    const auto order = compare(x, y);
    REQUIRE((order < 0) == (a < b));
    REQUIRE((order == 0) == (a == b));
    smaller += order < 0 ? 1 : 0;
    x += y;
    REQUIRE(integer_of(x) == a + b);
    x -= y;
    REQUIRE(integer_of(x) == a);
  }
  CHECK(smaller > 500);
}

TEST_CASE("quotients of random sums are correctly rounded") {
  std::mt19937_64 random(4);
  for (int i = 0; i < 4000; ++i) {
    const Integer a = random_integer(random, between(random, 1, 4500));
    const Integer b = random_integer(random, between(random, 1, 4500));
    REQUIRE(same(divide(sum_of(a), sum_of(b)), quotient(a, b)));
  }
}

TEST_CASE("quotients at and next to half-way points are correctly rounded") {
  std::mt19937_64 random(5);
  int to_even_up = 0;
  int to_even_down = 0;
  for (int i = 0; i < 4000; ++i) {
    const std::uint64_t m = random() >> 11 | std::uint64_t{1} << 52;
    const Integer half_way = 2 * Integer(m) + 1;  // 54 bits
    const bool one = i % 4 == 0;                  // its quotients end with the bits of a
    const Integer b = one ? Integer(1) : random_integer(random, between(random, 1, 3000)) | 1;
    const int shift = i % 16 == 0 ? 1 : between(random, 60, 1200);
    const Integer a = half_way * (b << static_cast<unsigned>(shift));
    const Integer bit = power_of_two_of(
        static_cast<unsigned>(i % 8 == 0 ? shift - 1 : between(random, 0, shift - 1)));
    for (const Integer& nudge : {Integer(0), Integer(-1), Integer(1), bit, Integer(-bit)}) {
      const Integer x = a + nudge;
      for (const Integer& divisor : {b, Integer(b << static_cast<unsigned>(shift / 2))}) {
        REQUIRE(same(divide(sum_of(x), sum_of(divisor)), quotient(x, divisor)));
      }
    }
    (m % 2 == 0 ? to_even_down : to_even_up) += 1;
  }
  CHECK(to_even_up > 1000);
  CHECK(to_even_down > 1000);
}

TEST_CASE("a quotient that rounds up to a power of two is that power") {
  const Integer b = power_of_two_of(900);
  const Integer a = b - power_of_two_of(900 - 60);
  const ScaledDouble q = divide(sum_of(a), sum_of(b));
  CHECK(q.significand == 0.5);
  CHECK(q.exponent == 1);
  CHECK(q.value() == 1);
}

TEST_CASE("quotients of the extremes: one unit, the largest sums, equal numbers, zero") {
  const Integer most = power_of_two_of(4607) - 1;
  for (const Integer& a :
       {Integer(1), Integer(3), power_of_two_of(4606), most, Integer(most / 3)}) {
    for (const Integer& b : {Integer(1), Integer(7), power_of_two_of(4606), most}) {
      CHECK(same(divide(sum_of(a), sum_of(b)), quotient(a, b)));
    }
  }
  CHECK(divide(sum_of(most), sum_of(most)).value() == 1);
  CHECK(divide(ExactSum{}, sum_of(most)).value() == 0);
}

TEST_CASE("roots of quotients are correctly rounded, also at and next to half-way points") {
  std::mt19937_64 random(15);
  for (int i = 0; i < 300; ++i) {
    const Integer a = random_integer(random, between(random, 1, 4500));
    const Integer b = random_integer(random, between(random, 1, 4500));
    REQUIRE(is_root(divide_root(sum_of(a), sum_of(b)), a, b));
  }
  for (int i = 0; i < 300; ++i) {
    const std::uint64_t m = random() >> 11 | std::uint64_t{1} << 52;
    const Integer half_way = 2 * Integer(m) + 1;
    const Integer b = random_integer(random, between(random, 1, 2000)) << 600U;
    for (const int nudge : {-1, 0, 1}) {
      const Integer a = half_way * half_way * b + nudge;
      const ScaledDouble root = divide_root(sum_of(a), sum_of(b));
      const std::uint64_t up = nudge > 0 || (nudge == 0 && m % 2 == 1) ? 1 : 0;
      REQUIRE(root.exponent == 54);
      REQUIRE(std::ldexp(root.significand, 53) == static_cast<double>(m + up));
    }
  }
  CHECK(divide_root(ExactSum{}, sum_of(3)).value() == 0);
  CHECK(divide_root(sum_of(9), sum_of(4)).value() == 1.5);
}

TEST_CASE("a root of a quotient is compared with a double exactly") {
  std::mt19937_64 random(16);
  for (int i = 0; i < 300; ++i) {
    const std::uint64_t m = random() >> 11 | std::uint64_t{1} << 52;
    const int e = between(random, -1074, 900);  // x = m·2^e
    const Integer b = random_integer(random, between(random, 1, 200)) << 2200U;
    Integer a = b * m * m;
    if (e < 0) {
      a >>= -2 * e;
    } else {
      a <<= 2 * e;
    }
    const double x = std::ldexp(static_cast<double>(m), e);
    CHECK(compare_root(sum_of(a), sum_of(b), x) == 0);
    CHECK(compare_root(sum_of(a + 1), sum_of(b), x) > 0);
    CHECK(compare_root(sum_of(a - 1), sum_of(b), x) < 0);
    for (unsigned bits = 1; bits < 130; bits += 4) {  // from far to near
      CHECK(compare_root(sum_of(a + (a >> bits)), sum_of(b), x) > 0);
      CHECK(compare_root(sum_of(a - (a >> bits)), sum_of(b), x) < 0);
    }
  }
  const ExactSum one = sum_of(1), two = sum_of(2);
  CHECK(compare_root(one, sum_of(power_of_two_of(4600)), 0) > 0);
  CHECK(compare_root(one, two, 0x1p-1074) > 0);
  CHECK(compare_root(ExactSum{}, two, 0) == 0);
  CHECK(compare_root(ExactSum{}, two, 0x1p-1074) < 0);
}

TEST_CASE("a share is 0 only of nothing and 1 only of the whole") {
  const Integer most = power_of_two_of(4600);
  for (const auto& share : {&share_of, &root_share_of}) {
    CHECK(share(ExactSum{}, sum_of(most)) == 0);
    CHECK(share(sum_of(1), sum_of(most)) == 0x1p-1074);
    CHECK(share(sum_of(most - 1), sum_of(most)) == 1 - 0x1p-53);
    CHECK(share(sum_of(most), sum_of(most)) == 1);
  }
  CHECK(share_of(sum_of(1), sum_of(4)) == 0.25);
  CHECK(root_share_of(sum_of(1), sum_of(power_of_two_of(2000))) == 0x1p-1000);
}

TEST_CASE("to_scaled rounds a sum to 53 bits, ties to even") {
  std::mt19937_64 random(6);
  const Integer one = power_of_two_of(static_cast<unsigned>(-unit));
  for (int i = 0; i < 4000; ++i) {
    Integer a = random_integer(random, between(random, 1, 4600));
    if (i % 2 == 0) {  // at or next to a tie
      const int shift = between(random, 1, 4000);
      const Integer bit = power_of_two_of(
          static_cast<unsigned>(i % 4 == 0 ? shift - 1 : between(random, 0, shift - 1)));
      a = ((2 * Integer(random() >> 11 | std::uint64_t{1} << 52) + 1)
           << static_cast<unsigned>(shift)) +
          between(random, -1, 1) * bit;
    }
    REQUIRE(same(to_scaled(sum_of(a)), quotient(a, one)));
  }
  CHECK(to_scaled(ExactSum{}).value() == 0);
}

TEST_CASE("value and log2 of a scaled double are those of significand·2^exponent") {
  CHECK(ScaledDouble{0.75, 3}.value() == 6);
  CHECK(ScaledDouble{0.5, -99}.log2() == -100);
  CHECK(ScaledDouble{0.5, 4000}.log2() == 3999);
  CHECK(ScaledDouble{0.75, -2000}.value() == 0);
}

TEST_CASE("decimal digits are those of Boost") {
  std::mt19937_64 random(7);
  for (int i = 0; i < 500; ++i) {
    const Integer a = random_integer(random, between(random, 1, 4600));
    REQUIRE(to_decimal(sum_of(a).limbs) == a.str());
  }
  for (int k = 1; k <= 38; ++k) {  // where a digit group begins and ends
    const Integer power = pow(Integer(10), static_cast<unsigned>(k));
    for (const Integer& a : {Integer(power - 1), power, Integer(power + 1)}) {
      const uint128 value = static_cast<uint128>(static_cast<std::uint64_t>(a >> 64)) << 64 |
                            static_cast<std::uint64_t>(a & ~std::uint64_t{0});
      REQUIRE(to_decimal(value) == a.str());
      REQUIRE(to_decimal(sum_of(a).limbs) == a.str());
    }
  }
  CHECK(to_decimal(uint128{0}) == "0");
  CHECK(to_decimal(~uint128{0}) == Integer(power_of_two_of(128) - 1).str());
  CHECK(to_decimal(std::span<const std::uint64_t>{}) == "0");
}

}  // namespace
}  // namespace binade::test::exact_sum_test
