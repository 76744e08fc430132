// SPDX-License-Identifier: Apache-2.0
//
// Whether the aims at arithmetic make the cases that they should: ties, cancellation, the ends of
// the range and results that are tiny by one rule only, judged by integer arithmetic on binary16
// and by the processor's own float and double, not by the emulator.
#include "lib/cases/aims.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <string>

#include "lib/cases/hard_cases.h"

namespace binade::aims_test {
namespace {

__extension__ typedef __int128 int128;

enum class Which { all, aimed };

/// The hard cases of a function. Those of aims, 256 of each, follow the edges.
std::vector<TestOperands> cases_of(const std::string& name, Which which) {
  const TestFunction function = parse_test_function(name);
  std::vector<TestOperands> all = hard_cases(function, 1);
  if (which == Which::all) return all;
  const auto meant = std::ranges::count_if(aims(), [&](const AimedAt& row) {
    return row.act == function.act && row.operation == function.operation;
  });
  return {all.end() - 256 * meant, all.end()};
}

/// Returns the number of cases of aims for which a predicate holds.
template <class Predicate>
long count(const std::string& name, Predicate&& holds, Which which = Which::aimed) {
  const std::vector<TestOperands> cases = cases_of(name, which);
  return std::ranges::count_if(cases, holds);
}

template <class Predicate>
long count_all(const std::string& name, Predicate&& holds) {
  return count(name, holds, Which::all);
}

bool finite16(std::uint64_t bits) { return (bits & 0x7C00) != 0x7C00; }
bool nan16(std::uint64_t bits) { return (bits & 0x7FFF) > 0x7C00; }

/// Returns a finite binary16 number in units of 2^-24, the ulp of its subnormals.
std::int64_t units16(std::uint64_t bits) {
  const int field = static_cast<int>(bits >> 10 & 31);
  const auto fraction = static_cast<std::int64_t>(bits & 0x3FF);
  const std::int64_t magnitude = field == 0 ? fraction : (fraction | 0x400) << (field - 1);
  return (bits & 0x8000) != 0 ? -magnitude : magnitude;
}

int128 absolute(int128 x) { return x < 0 ? -x : x; }

/// Returns the ulp of binary16 at |n| · 2^-48, in units of 2^-48.
int128 ulp16(int128 n) {
  int128 ulp = int128{1} << 24;
  while (absolute(n) >= ulp << 11) ulp <<= 1;
  return ulp;
}

bool tie16(int128 n) { return absolute(n) % ulp16(n) == ulp16(n) / 2; }
bool near_tie16(int128 n) {  // off by less than a thousandth of an ulp
  const int128 off = absolute(absolute(n) % ulp16(n) - ulp16(n) / 2);
  return off > 0 && off * 1000 < ulp16(n);
}
bool subnormal16(int128 n) { return n != 0 && absolute(n) < int128{1} << 34; }
/// Returns whether x is tiny before rounding but not after it: 2^-14 - 2^-26 <= |x| < 2^-14.
bool tiny_before_only16(int128 n) {
  return absolute(n) >= (int128{1} << 34) - (int128{1} << 22) && subnormal16(n);
}
constexpr int128 overflow16 = int128{65520} << 48;  ///< the tie above the largest finite number
bool at_overflow16(int128 n) { return absolute(n) == overflow16; }
bool about_overflow16(int128 n, bool above) {
  const int128 off = absolute(n) - overflow16;
  return above ? off > 0 && off < int128{32} << 48 : off < 0 && -off < int128{32} << 48;
}

/// The exact results, in units of 2^-48, of the cases whose operands are finite.
struct Results16 {
  std::vector<int128> all = {}, aimed = {};
};

template <class Exactly>
Results16 results16(const std::string& name, std::size_t operands, Exactly&& exactly) {
  const auto of = [&](Which which) {
    std::vector<int128> out;
    for (const TestOperands& x : cases_of(name, which)) {
      if (!std::all_of(x.begin(), x.begin() + static_cast<int>(operands), finite16)) continue;
      out.push_back(exactly(int128{units16(x[0])}, int128{units16(x[1])}, int128{units16(x[2])}));
    }
    return out;
  };
  return {of(Which::all), of(Which::aimed)};
}

template <class Predicate>
long among(const std::vector<int128>& results, Predicate&& holds) {
  return std::ranges::count_if(results, holds);
}

/// Counts ties and results near ties, except those near the end of the range, which other aims
/// make.
bool inner16(int128 n) { return absolute(n) < int128{32768} << 48; }
bool inner_tie16(int128 n) { return inner16(n) && tie16(n); }
bool inner_near_tie16(int128 n) { return inner16(n) && near_tie16(n); }
bool zero16(int128 n) { return n == 0; }
bool below_overflow16(int128 n) { return about_overflow16(n, false); }
bool above_overflow16(int128 n) { return about_overflow16(n, true); }
bool beyond_range16(int128 n) { return absolute(n) > int128{65536} << 48; }

float float_of(std::uint64_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits));
}

/// Returns whether x, which a double holds exactly, lies halfway between two floats. 2^128 counts
/// as the float after the largest.
bool tie32(double x) {
  const double magnitude = std::fabs(x);
  if (!(magnitude < 0x1p128) || magnitude == 0) return false;
  const double ulp = std::ldexp(1.0, std::max(std::ilogb(magnitude), -126) - 23);
  return std::fmod(magnitude, ulp) == ulp / 2;
}

/// Returns a + b if a double holds it exactly, else NaN.
double exact_sum(double a, double b) {
  const double sum = a + b;
  const double part = sum - a;
  const double error = (a - (sum - part)) + (b - part);
  return error == 0 ? sum : std::numeric_limits<double>::quiet_NaN();
}

}  // namespace

TEST_CASE(
    "sums: ties of both kinds, cancellation, far operands, subnormals, the end of the range") {
  for (const bool subtract : {false, true}) {
    CAPTURE(subtract);
    const auto [all, aimed] =
        results16(subtract ? "f16_sub" : "f16_add", 2,
                  [&](int128 a, int128 b, int128) { return (subtract ? a - b : a + b) << 24; });
    CHECK(among(aimed, inner_tie16) > 150);
    CHECK(among(aimed, [](int128 n) { return tie16(n) && n / ulp16(n) % 2 == 0; }) > 50);
    CHECK(among(aimed, [](int128 n) { return tie16(n) && n / ulp16(n) % 2 != 0; }) > 50);
    CHECK(among(aimed, inner_near_tie16) > 60);
    CHECK(among(aimed, zero16) > 10);
    CHECK(among(aimed, [](int128 n) { return n != 0 && absolute(n) <= int128{2} << 24; }) > 2);
    CHECK(among(aimed, subnormal16) > 40);
    CHECK(among(aimed, beyond_range16) > 8);
    CHECK(among(all, below_overflow16) > 0);
    CHECK(among(all, above_overflow16) > 0);
    CHECK(among(all, at_overflow16) > 0);
  }
  CHECK(count("f32_add", [](const TestOperands& x) {
          return tie32(exact_sum(float_of(x[0]), float_of(x[1])));
        }) > 100);
  CHECK(count("f32_add", [](const TestOperands& x) {  // far below the last bit, and yet not nothing
          const float a = float_of(x[0]), b = float_of(x[1]);
          return a != 0 && b != 0 && std::isfinite(a + b) &&
                 std::abs(std::ilogb(a) - std::ilogb(b)) > 60;
        }) > 40);
}

TEST_CASE("products: ties, underflow by one rule of tininess alone, the end of the range") {
  const auto [all, aimed] =
      results16("f16_mul", 2, [](int128 a, int128 b, int128) { return a * b; });
  CHECK(among(aimed, [](int128 n) { return tie16(n) && !subnormal16(n); }) > 80);
  CHECK(among(aimed, [](int128 n) { return tie16(n) && subnormal16(n); }) > 10);
  CHECK(among(aimed, near_tie16) > 20);
  CHECK(among(aimed, subnormal16) > 200);
  CHECK(among(aimed, tiny_before_only16) > 4);
  CHECK(among(all, [](int128 n) { return n == int128{1} << 34; }) > 0);
  CHECK(among(aimed, [](int128 n) { return n != 0 && absolute(n) < int128{1} << 23; }) > 15);
  CHECK(among(aimed, beyond_range16) > 80);
  CHECK(among(all, below_overflow16) > 0);
  CHECK(among(all, above_overflow16) > 0);
  CHECK(count("f32_mul", [](const TestOperands& x) {
          return tie32(double{float_of(x[0])} * double{float_of(x[1])});
        }) > 100);
  CHECK(count("f32_mul", [](const TestOperands& x) {
          const double product = std::fabs(double{float_of(x[0])} * double{float_of(x[1])});
          return product >= 0x1p-126 - 0x1p-151 && product < 0x1p-126;
        }) > 4);
}

TEST_CASE("quotients: exact ones, ties among the subnormals, the end of the range, poles") {
  const auto quotients = [](auto&& holds, Which which = Which::aimed) {
    const auto asked = [&](const TestOperands& x) {
      if (!finite16(x[0]) || !finite16(x[1]) || units16(x[1]) == 0) return false;
      return holds(absolute(units16(x[0])), absolute(units16(x[1])));
    };
    return count("f16_div", asked, which);
  };
  const auto inexact = [](int128 a, int128 b) { return (a << 25) % b != 0; };
  CHECK(quotients([](int128 a, int128 b) { return a != 0 && (a << 20) % b == 0; }) > 70);
  CHECK(quotients(inexact) > 500);
  CHECK(quotients([&](int128 a, int128 b) { return inexact(a, b) && a << 14 < b; }) > 300);
  CHECK(quotients([](int128 a, int128 b) {  // (n + 1/2) 2^-24
          return (a << 25) % b == 0 && (a << 25) / b % 2 == 1 && (a << 25) / b < 2048;
        }) > 8);
  CHECK(quotients([](int128 a, int128 b) {  // within 2^-21 of 2^-14
          return absolute((a << 14) - b) << 7 < b;
        }) > 150);
  CHECK(quotients([](int128 a, int128 b) { return a >= 65536 * b; }) > 60);
  CHECK(quotients([](int128 a, int128 b) { return a >= 65504 * b && a < 65536 * b; }, Which::all) >
        0);
  CHECK(count_all("f16_div", [](const TestOperands& x) { return (x[1] & 0x7FFF) == 0; }) > 50);
  CHECK(count_all("f16_div", [](const TestOperands& x) { return ((x[0] | x[1]) & 0x7FFF) == 0; }) ==
        4);
  CHECK(count_all("f16_div", [](const TestOperands& x) {
          return (x[0] & 0x7FFF) == 0x7C00 && (x[1] & 0x7FFF) == 0x7C00;
        }) == 4);
}

TEST_CASE("remainders: halfway quotients both ways, zeros of both signs, quotients of many bits") {
  const auto remainders = [](auto&& holds, Which which = Which::aimed) {
    const auto asked = [&](const TestOperands& x) {
      if (!finite16(x[0]) || !finite16(x[1]) || units16(x[1]) == 0) return false;
      return holds(units16(x[0]), units16(x[1]));
    };
    return count("f16_rem", asked, which);
  };
  using Units = std::int64_t;
  const auto half = [](Units a, Units b) { return 2 * a % b == 0 && 2 * a / b % 2 != 0; };
  CHECK(remainders([&](Units a, Units b) { return half(a, b) && a / b % 2 == 0; }) > 4);
  CHECK(remainders([&](Units a, Units b) { return half(a, b) && a / b % 2 != 0; }) > 4);
  CHECK(remainders([](Units a, Units b) { return a > 0 && a % b == 0; }) > 50);
  CHECK(remainders([](Units a, Units b) { return a < 0 && a % b == 0; }) > 50);
  CHECK(remainders([](Units a, Units b) { return std::abs(2 * a) < std::abs(b); }) > 100);
  CHECK(remainders([](Units a, Units b) {  // neighbours
          return a != b && std::abs(std::abs(a) - std::abs(b)) * 1000 < std::abs(b);
        }) > 100);
  CHECK(remainders([](Units a, Units b) { return std::abs(a / b) > 1 << 20; }, Which::all) > 50);
}

TEST_CASE("square roots: of squares, of their neighbours, and of what has none") {
  const auto is_square = [](std::uint64_t bits) {
    const double x = float_of(bits), root = std::sqrt(x);
    return x > 0 && std::isfinite(x) && double{static_cast<float>(root)} == root &&
           root * root == x;
  };
  CHECK(count("f32_sqrt", [&](const TestOperands& x) { return is_square(x[0]); }) > 30);
  CHECK(count("f32_sqrt", [&](const TestOperands& x) {
          return !is_square(x[0]) && (is_square(x[0] - 1) || is_square(x[0] + 1));
        }) > 50);
  CHECK(count_all("f32_sqrt", [](const TestOperands& x) { return float_of(x[0]) < 0; }) > 10);
  CHECK(count_all("f32_sqrt", [](const TestOperands& x) { return x[0] == 0x80000000; }) > 0);
}

TEST_CASE(
    "fused sums: ties with a bit far below, cancellation to nothing, both ends of the range") {
  const auto [all, aimed] =
      results16("f16_mulAdd", 3, [](int128 a, int128 b, int128 c) { return a * b + (c << 24); });
  const auto product_of = [](const TestOperands& x) {
    return int128{units16(x[0])} * units16(x[1]);
  };
  const auto finite = [](const TestOperands& x) { return std::ranges::all_of(x, finite16); };
  const auto sum_of = [&](const TestOperands& x) {
    return product_of(x) + (int128{units16(x[2])} << 24);
  };
  CHECK(among(aimed, inner_tie16) > 120);
  CHECK(among(aimed, inner_near_tie16) > 20);
  CHECK(among(aimed, [](int128 n) { return subnormal16(n) && n % (int128{1} << 24) != 0; }) > 100);
  CHECK(among(aimed, beyond_range16) > 20);
  CHECK(among(all, zero16) > 20);
  CHECK(among(all, tiny_before_only16) > 10);
  CHECK(among(all, below_overflow16) > 0);
  CHECK(among(all, above_overflow16) > 0);
  CHECK(among(all, at_overflow16) > 0);
  CHECK(count("f16_mulAdd", [&](const TestOperands& x) {  // far smaller than its two terms
          return finite(x) && absolute(sum_of(x)) << 9 < absolute(product_of(x));
        }) > 30);
  CHECK(count("f16_mulAdd", [&](const TestOperands& x) {  // the product overflows, the sum does not
          return finite(x) && absolute(product_of(x)) > overflow16 &&
                 absolute(sum_of(x)) < overflow16;
        }) > 1);
  CHECK(count("f16_mulAdd", [&](const TestOperands& x) {  // a tie of the product, nothing added
          return finite(x) && (x[2] & 0x7FFF) == 0 && tie16(product_of(x));
        }) > 100);
  CHECK(count_all("f16_mulAdd", [](const TestOperands& x) {  // 0 · Inf + NaN
          return (x[0] & 0x7FFF) == 0 && (x[1] & 0x7FFF) == 0x7C00 && nan16(x[2]);
        }) > 0);
}

}  // namespace binade::aims_test
