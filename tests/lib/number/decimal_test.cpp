// SPDX-License-Identifier: Apache-2.0
//
// Exact numbers: their arithmetic against the integers of Boost.Multiprecision.
#include "lib/number/decimal.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <boost/multiprecision/cpp_int.hpp>
#include <random>
#include <string>

namespace decimal_test {
namespace {

using boost::multiprecision::cpp_int;

struct Pair {
  binade::Decimal ours;
  cpp_int integer;
  int exponent;  ///< power of ten
};

Pair draw(std::mt19937_64& random) {
  std::string digits(1 + random() % 60, '0');
  for (char& c : digits) c = static_cast<char>('0' + random() % 10);
  const int exponent = static_cast<int>(random() % 100) - 50;
  return {binade::decimal_of(digits, exponent),
          cpp_int(digits.substr(std::min(digits.find_first_not_of('0'), digits.size() - 1))),
          exponent};
}

cpp_int power_of_ten(int k) {
  return boost::multiprecision::pow(cpp_int(10), static_cast<unsigned>(k));
}

void check_same(const binade::Decimal& ours, const cpp_int& integer, int exponent) {
  const binade::Digits d = digits_of(ours);
  if (integer == 0) {
    REQUIRE(d.digits == "0");
    return;
  }
  std::string digits = integer.str();
  const int first = exponent + static_cast<int>(digits.size()) - 1;
  digits.erase(digits.find_last_not_of('0') + 1);
  REQUIRE(d.digits == digits);
  REQUIRE(d.exponent == first);
}

}  // namespace

TEST_CASE("products, distances and order are those of exact integers") {
  std::mt19937_64 random(11);
  for (int i = 0; i < 5000; ++i) {
    const Pair a = draw(random);
    const Pair b = random() % 16 == 0 ? a : draw(random);
    const int low = std::min(a.exponent, b.exponent);
    const cpp_int x = a.integer * power_of_ten(a.exponent - low);
    const cpp_int y = b.integer * power_of_ten(b.exponent - low);
    check_same(a.ours * b.ours, a.integer * b.integer, a.exponent + b.exponent);
    check_same(distance(a.ours, b.ours), abs(cpp_int(x - y)), low);
    REQUIRE((a.ours < b.ours) == (x < y));
    REQUIRE((a.ours == b.ours) == (x == y));
  }
}

TEST_CASE("scaling by a power of two is exact in both directions") {
  const binade::Decimal x = binade::decimal_of("3", 0);
  check_same(scaled(x, 100), cpp_int(3) << 100, 0);
  check_same(scaled(x, -3), 375, -3);
}

TEST_CASE(
    "the 128-bit window holds the leading bits, and the sticky bit whether anything is below") {
  std::mt19937_64 random(12);
  int sticky = 0;
  for (int i = 0; i < 5000; ++i) {
    const Pair a = draw(random);
    const binade::Exact x = to_exact(a.ours, false);
    if (a.integer == 0) {
      REQUIRE(x.kind == binade::Kind::zero);
      continue;
    }
    cpp_int num = a.integer * power_of_ten(std::max(0, a.exponent));
    cpp_int den = power_of_ten(std::max(0, -a.exponent));
    (x.exponent < 0 ? num : den) <<= x.exponent < 0 ? -x.exponent : x.exponent;
    cpp_int significand = static_cast<std::uint64_t>(x.significand >> 64);
    significand = (significand << 64) + static_cast<std::uint64_t>(x.significand);
    REQUIRE(significand == num / den);
    REQUIRE(x.sticky == (num % den != 0));
    if (x.sticky) REQUIRE(binade::bit_width(x.significand) >= 127);
    sticky += x.sticky ? 1 : 0;
  }
  CHECK(sticky > 1000);
}
}  // namespace decimal_test
