// SPDX-License-Identifier: Apache-2.0
//
// Literals are read exactly. The oracle computes with Boost.Multiprecision's integers
// and its own rounding; it shares nothing with the code it judges but the list of formats.
#include "lib/explain/literal.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <boost/multiprecision/cpp_int.hpp>
#include <random>
#include <string>
#include <utility>

#include "lib/explain/rounding_words.h"
#include "lib/number/number_text.h"
#include "tests/lib/text/error_of.h"

namespace literal_test {
namespace {

using binade::Attributes;
using binade::Rounding;
using boost::multiprecision::cpp_int;

/// num / den, not reduced.
struct Fraction {
  cpp_int num;
  cpp_int den = 1;
};

cpp_int power(unsigned base, int exponent) {
  return boost::multiprecision::pow(cpp_int(base), static_cast<unsigned>(exponent));
}

Fraction times_power(Fraction x, unsigned base, int exponent) {
  (exponent < 0 ? x.den : x.num) *= power(base, exponent < 0 ? -exponent : exponent);
  return x;
}

/// A format by its own constants; `top`: the largest finite significand.
struct Shape {
  binade::NamedOrCustom format;
  int precision, emin, emax, bias;
  std::uint64_t top;
  std::uint64_t beyond;  ///< the encoding that overflow delivers
};

const std::array<Shape, 5>& shapes() {
  static const std::array<Shape, 5> all{{
      {{"binary16", binade::binary16}, 11, -14, 15, 15, 2047, 0x7C00},
      {{"bfloat16", binade::bfloat16}, 8, -126, 127, 127, 255, 0x7F80},
      {{"e4m3", binade::e4m3}, 4, -6, 8, 7, 14, 0x7F},
      {{"binary32", binade::binary32}, 24, -126, 127, 127, 0xFFFFFF, 0x7F800000},
      {{"binary64", binade::binary64},
       53,
       -1022,
       1023,
       1023,
       (std::uint64_t{1} << 53) - 1,
       0x7FF0000000000000},
  }};
  return all;
}

struct Rounded {
  std::uint64_t bits = 0;
  bool inexact = false;
  bool tie = false;
  bool overflow = false;
  Fraction away;  ///< |result - x|; 0 after an overflow to Inf or NaN
};

/// floor(log2(x))
int exponent_of(const Fraction& x) {
  const int guess = static_cast<int>(msb(x.num)) - static_cast<int>(msb(x.den));
  const Fraction y = times_power(x, 2, -guess);
  return y.num < y.den ? guess - 1 : guess;
}

/// Rounds x > 0 to the format by the definition: floor, remainder, rule.
Rounded oracle(const Fraction& x, const Shape& f, Rounding rounding, std::uint32_t random) {
  const int e = exponent_of(x);
  const int quantum = std::max(e, f.emin) - (f.precision - 1);
  const Fraction units = times_power(x, 2, -quantum);
  cpp_int floor, rest;
  divide_qr(units.num, units.den, floor, rest);
  Rounded out;
  out.inexact = rest != 0;
  out.tie = 2 * rest == units.den;
  bool up = false, stops_at_max = false;
  switch (rounding) {
    case Rounding::ties_to_even: up = 2 * rest > units.den || (out.tie && floor % 2 == 1); break;
    case Rounding::ties_to_away: up = 2 * rest >= units.den; break;
    case Rounding::ties_toward_zero: up = 2 * rest > units.den; break;
    case Rounding::toward_zero:
    case Rounding::toward_negative: stops_at_max = true; break;
    case Rounding::toward_positive: up = out.inexact; break;
    case Rounding::to_odd:
      up = out.inexact && floor % 2 == 0;
      stops_at_max = true;
      break;
    case Rounding::stochastic:
      up = ((rest << 32) / units.den) + random >= (cpp_int(1) << 32);
      break;
  }
  cpp_int significand = floor + (up ? 1 : 0);
  int at = quantum;
  if (significand == power(2, f.precision)) {
    significand /= 2;
    at += 1;
  }
  const int top_quantum = f.emax - (f.precision - 1);
  if (at > top_quantum || (at == top_quantum && significand > f.top)) {
    out.inexact = out.overflow = true;
    if (!stops_at_max) {
      out.bits = f.beyond;
      return out;
    }
    significand = f.top;
    at = top_quantum;
  }
  const auto integer = static_cast<std::uint64_t>(significand);
  const bool normal = integer >> (f.precision - 1) != 0;
  const int field = normal ? at + f.precision - 1 + f.bias : 0;
  const std::uint64_t fraction = integer & ((std::uint64_t{1} << (f.precision - 1)) - 1);
  out.bits = static_cast<std::uint64_t>(field) << (f.precision - 1) | fraction;
  const Fraction result = times_power({significand}, 2, at);
  out.away.num = abs(cpp_int(result.num * x.den - x.num * result.den));
  out.away.den = result.den * x.den;
  return out;
}

/// Returns all digits of a fraction whose denominator divides 10^places, and the exponent of the
/// first digit.
std::pair<std::string, int> oracle_digits(const Fraction& x, int places) {
  if (x.num == 0) return {"0", 0};
  cpp_int integer, rest;
  divide_qr(cpp_int(x.num * power(10, places)), x.den, integer, rest);
  REQUIRE(rest == 0);
  std::string digits = integer.str();
  const int exponent = static_cast<int>(digits.size()) - 1 - places;
  digits.erase(digits.find_last_not_of('0') + 1);
  return {digits, exponent};
}

/// The number digits · 10^exponent, and literals of it in many spellings.
struct Typed {
  std::string digits;
  int exponent = 0;

  Fraction value() const { return times_power({cpp_int(digits.substr(first()))}, 10, exponent); }
  std::size_t first() const { return std::min(digits.find_first_not_of('0'), digits.size() - 1); }

  std::string text(std::mt19937_64& random) const {
    const std::size_t fractional = random() % (digits.size() + 1);
    const std::size_t whole = digits.size() - fractional;
    std::string out = std::string(random() % 3, '0') + digits.substr(0, whole);
    if (fractional > 0 || random() % 4 == 0) out += "." + digits.substr(whole);
    if (out == ".") out = "0";
    const int e = exponent + static_cast<int>(fractional);
    if (e != 0 || random() % 2 == 0) out += (random() % 2 == 0 ? "e" : "E") + std::to_string(e);
    return out;
  }
};

/// Returns all decimal digits of significand · 2^exponent.
Typed expansion(const cpp_int& significand, int exponent) {
  if (exponent >= 0) return {cpp_int(significand * power(2, exponent)).str(), 0};
  return {cpp_int(significand * power(5, -exponent)).str(), exponent};
}

/// Returns a literal halfway between two numbers of the format, or one next to it in the last
/// digit.
Typed near_midpoint(const Shape& f, std::mt19937_64& random) {
  const std::uint64_t end =
      f.top + 1 + (static_cast<std::uint64_t>(f.emax - f.emin) << (f.precision - 1));
  const std::uint64_t hidden = std::uint64_t{1} << (f.precision - 1);
  const std::uint64_t draw = random() % 8;
  const std::uint64_t index = draw == 0   ? end - 1 - random() % 2
                              : draw == 1 ? random() % hidden
                                          : random() % end;
  const bool subnormal = index < hidden;
  const std::uint64_t significand = subnormal ? index : hidden + index % hidden;
  const int e = subnormal ? f.emin : static_cast<int>(index / hidden) - 1 + f.emin;
  Typed tie = expansion(cpp_int(significand) * 2 + 1, e - (f.precision - 1) - 1);
  const auto step = static_cast<int>(random() % 3) - 1;
  const auto further = static_cast<int>(random() % 4 == 0 ? 1 + random() % 60 : 0);
  if (step != 0) {
    tie.digits = cpp_int(cpp_int(tie.digits) * power(10, further) + step).str();
    tie.exponent -= further;
  }
  return tie;
}

Typed any_digits(std::size_t most_digits, int most_exponent, std::mt19937_64& random) {
  std::string digits(1 + random() % most_digits, '0');
  for (char& c : digits) c = static_cast<char>('0' + random() % 10);
  digits.back() = static_cast<char>('1' + random() % 9);
  const auto span = static_cast<std::uint64_t>(2 * most_exponent + 1);
  return {digits, static_cast<int>(random() % span) - most_exponent};
}

struct Seen {
  int values = 0, ties = 0, subnormal = 0, overflow = 0, to_zero = 0, exact = 0;
};

void compare_with_oracle(const Typed& typed, const Shape& f, Rounding rounding,
                         std::mt19937_64& random, Seen& seen) {
  const std::string text = typed.text(random);
  const auto word = static_cast<std::uint32_t>(random());
  const bool negative = random() % 2 == 0;
  const bool inward = negative && rounding == Rounding::toward_positive;
  const Rounded want = oracle(typed.value(), f, inward ? Rounding::toward_zero : rounding, word);
  const bool nan = want.bits == 0x7F && f.format.format == binade::e4m3;
  const std::uint64_t sign = std::uint64_t{negative && !nan} << (f.format.format.bits() - 1);
  const Attributes attributes{.rounding = rounding};
  const binade::RoundedLiteral got = binade::round_literal(
      binade::parse_literal((negative ? "-" : "") + text), f.format, attributes, word);
  INFO(text, " to ", f.format.name, " ", binade::rounding_name(rounding));
  REQUIRE(got.bits == (want.bits | sign));
  REQUIRE(((got.flags & binade::Flag::inexact) != 0) == want.inexact);
  REQUIRE(((got.flags & binade::Flag::overflow) != 0) == want.overflow);
  REQUIRE(got.rounded_away.has_value() == (want.bits != f.beyond));
  if (got.rounded_away) {
    const int places = std::max(0, -typed.exponent) + f.precision - f.emin;
    const binade::Digits away = digits_of(*got.rounded_away);
    const auto [digits, exponent] = oracle_digits(want.away, places);
    REQUIRE(away.digits == digits);
    REQUIRE(away.exponent == exponent);
  }
  seen.values += 1;
  seen.ties += want.tie ? 1 : 0;
  seen.overflow += want.overflow ? 1 : 0;
  seen.exact += want.inexact ? 0 : 1;
  seen.to_zero += want.bits == 0 ? 1 : 0;
  seen.subnormal += binade::is_subnormal(want.bits, f.format.format) ? 1 : 0;
}

/// One of the table's, ties to even more often; in place of toward negative toward positive, which
/// is the same by the sign of a literal.
Rounding draw_rounding(std::mt19937_64& random) {
  const std::size_t at = random() % (binade::roundings.size() + 1);
  if (at == binade::roundings.size()) return Rounding::ties_to_even;
  const Rounding drawn = binade::roundings[at].rounding;
  return drawn == Rounding::toward_negative ? Rounding::toward_positive : drawn;
}

std::string error_of(const std::string& text) {
  return binade::test::error_of([&] { binade::parse_literal(text); });
}

std::string value_of_literal(const std::string& text) {
  const binade::Literal x = binade::parse_literal(text);
  return (x.negative ? "-" : "") + exact_text(x.magnitude);
}

}  // namespace

TEST_CASE(
    "decimal midpoints of narrow formats, exact and one off in the last digit, round as the oracle "
    "says") {
  std::mt19937_64 random(1);
  Seen seen;
  for (int i = 0; i < 60000; ++i) {
    const Shape& f = shapes()[random() % 3];
    compare_with_oracle(near_midpoint(f, random), f, draw_rounding(random), random, seen);
  }
  CHECK(seen.values == 60000);
  CHECK(seen.ties > 15000);
  CHECK(seen.subnormal > 5000);
  CHECK(seen.overflow > 1000);
}

TEST_CASE(
    "random decimals round as the oracle says, and what is rounded away has the oracle's digits") {
  std::mt19937_64 random(2);
  Seen seen;
  for (int i = 0; i < 40000; ++i) {
    const Shape& f = shapes()[random() % 5];
    const int reach = std::array{3, 12, 45, 330}[random() % 4];
    compare_with_oracle(any_digits(40, reach, random), f, draw_rounding(random), random, seen);
  }
  CHECK(seen.to_zero > 1000);
  CHECK(seen.overflow > 1000);
  CHECK(seen.exact > 100);
}

TEST_CASE("decimals with exponents up to 5000 and hundreds of digits are exact") {
  std::mt19937_64 random(3);
  Seen seen;
  for (int i = 0; i < 2000; ++i) {
    const Shape& f = shapes()[random() % 5];
    compare_with_oracle(any_digits(400, 5000, random), f, draw_rounding(random), random, seen);
  }
  for (int i = 0; i < 300; ++i) {
    compare_with_oracle(near_midpoint(shapes()[4], random), shapes()[4], Rounding::ties_to_even,
                        random, seen);
  }
  CHECK(seen.ties > 50);
  CHECK(seen.overflow > 50);
}

TEST_CASE("every form of a number has the value it spells") {
  CHECK(value_of_literal("0.1") == "0.1");
  CHECK(value_of_literal(".5") == "0.5");
  CHECK(value_of_literal("5.") == "5");
  CHECK(value_of_literal("-1e-8") == "-1e-08");
  CHECK(value_of_literal("+2.50E3") == "2500");
  CHECK(value_of_literal("0x1.8p-3") == "0.1875");
  CHECK(value_of_literal("0XFFp4") == "4080");
  CHECK(value_of_literal("-0x.08p0") == "-0.03125");
  CHECK(value_of_literal("2^-5") == "0.03125");
  CHECK(value_of_literal("-2^15") == "-32768");
  CHECK(value_of_literal("3*2^-3") == "0.375");
  CHECK(value_of_literal("1.5 * 2^-2 * 0x1p4") == "6");
  CHECK(value_of_literal("0e5") == "0");
  CHECK(value_of_literal("-0") == "-0");
  CHECK(value_of_literal("binary32:0x3dcccccd") == "0.100000001490116119384765625");
  CHECK(value_of_literal("e4m3:bias=8:0b1_1111_110") == "-224");
}

TEST_CASE("infinities and NaNs keep their sign and whether they signal") {
  using binade::Kind;
  CHECK(binade::parse_literal("inf").kind == Kind::infinite);
  CHECK(binade::parse_literal("-Infinity").negative);
  CHECK(binade::parse_literal("NaN").kind == Kind::nan);
  CHECK_FALSE(binade::operand_of(binade::parse_literal("nan")).signaling);
  CHECK(binade::operand_of(binade::parse_literal("-snan")).signaling);
  CHECK(binade::operand_of(binade::parse_literal("-snan")).negative);
  CHECK(binade::operand_of(binade::parse_literal("binary32:0x7f800001")).signaling);
}

TEST_CASE("an encoding is read in both bases, with separators") {
  CHECK(binade::parse_literal("bits:0x3c00").encoding->bits == 0x3C00);
  CHECK(binade::parse_literal("bits:0b0_01111_0000000001").encoding->bits == 0x3C01);
  CHECK(binade::parse_literal("bits:0xffffffffffffffff").encoding->bits == ~std::uint64_t{0});
}

TEST_CASE("the limits of a literal are generous and have clear errors") {
  const std::string digits(10000, '7');
  CHECK(value_of_literal(digits + "e-9999").substr(0, 5) == "7.777");
  CHECK(error_of(digits + "7").find("more than 10000 digits") != std::string::npos);
  CHECK(error_of("1e10001").find("an exponent beyond 10000") != std::string::npos);
  CHECK(error_of("2^99999999999999999999").find("an exponent beyond 33219") != std::string::npos);
  CHECK(error_of("1e9999*1e9999*1e9999").find("out of reach") != std::string::npos);
  CHECK(error_of("bits:0x10000000000000000").find("more than 64 bits") != std::string::npos);
}

TEST_CASE("what is not a number is refused with the way to write one") {
  CHECK(error_of("abc").find("not a number; write 0.1") != std::string::npos);
  CHECK(error_of("").find("not a number") != std::string::npos);
  CHECK(error_of(".").find("not a number") != std::string::npos);
  CHECK(error_of("0x3c00").find("bits:0x3c00") != std::string::npos);
  CHECK(error_of("1/3").find("quotient") != std::string::npos);
  CHECK(error_of("10^3").find("powers of two") != std::string::npos);
  CHECK(error_of("1.5.2").find("'.2' is left over") != std::string::npos);
  CHECK(error_of("1e").find("whole number") != std::string::npos);
  CHECK(error_of("2^").find("whole number") != std::string::npos);
  CHECK(error_of("3*").find("not a number") != std::string::npos);
  CHECK(error_of("bits:12").find("0x3c00 or 0b") != std::string::npos);
  CHECK(error_of("bits:0b12").find("'2' is no digit of base 2") != std::string::npos);
  CHECK(error_of("bits:0x").find("no digits after 0x") != std::string::npos);
  CHECK(error_of("e4m3:0x1ff").find("more than the 8 bits of e4m3") != std::string::npos);
  CHECK(error_of("binary99:0x1").find("unknown format 'binary99'") != std::string::npos);
}
}  // namespace literal_test
