// SPDX-License-Identifier: Apache-2.0
//
// Numbers as text: digits are exact or rounded from exact ones, never computed with floats.
#include "lib/number/number_text.h"

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <random>
#include <string>

namespace number_text_test {
using binade::decimal_of;
using binade::Dyadic;

namespace {

std::string printed(const char* format, int digits, double x) {
  char out[64];
  (void)std::snprintf(out, sizeof out, format, digits, x);
  return out;
}

/// Returns a number with digits and exponent as C's %e writes them, from exact digits.
std::string in_c_style(const Dyadic& x, std::size_t digits) {
  std::string text = short_text(decimal_of(x), digits);
  if (text.find('e') == std::string::npos) return "positional";
  return text;
}

}  // namespace

TEST_CASE("rounded digits are those of C's printf, which is exact in glibc") {
  std::mt19937_64 random(7);
  int compared = 0;
  for (int i = 0; i < 20000; ++i) {
    const Dyadic x{(random() >> 11) | 1, static_cast<int>(random() % 2000) - 1070};
    const auto digits = 1 + random() % 20;
    const double value = std::ldexp(static_cast<double>(x.significand), x.exponent);
    if (std::isinf(value) || value < 0x1p-1000) continue;
    const std::string ours = in_c_style(x, digits);
    if (ours == "positional") continue;
    REQUIRE(ours == printed("%.*e", static_cast<int>(digits) - 1, value));
    ++compared;
  }
  CHECK(compared > 10000);
}

TEST_CASE("all digits appear, as a plain number where that is readable") {
  CHECK(exact_text(decimal_of(Dyadic{0, 5})) == "0");
  CHECK(exact_text(decimal_of(Dyadic{1, -1})) == "0.5");
  CHECK(exact_text(decimal_of(Dyadic{1, -13})) == "0.0001220703125");
  CHECK(exact_text(decimal_of(Dyadic{1, -14})) == "6.103515625e-05");
  CHECK(exact_text(decimal_of(Dyadic{65504, 0})) == "65504");
  CHECK(exact_text(decimal_of(Dyadic{1, 66})) == "73786976294838206464");
  CHECK(exact_text(decimal_of(Dyadic{1, 70})) == "1.180591620717411303424e+21");
  CHECK(exact_text(decimal_of("1000", 100)) == "1e+103");
}

TEST_CASE("rounding to few digits breaks ties to even and carries") {
  CHECK(short_text(decimal_of("12345", 10), 4) == "123400000000000");
  CHECK(short_text(decimal_of("12355", 30), 4) == "1.236e+34");
  CHECK(short_text(decimal_of("123450000001", 30), 4) == "1.235e+41");
  CHECK(short_text(decimal_of("99996", -30), 4) == "1.000e-25");
  CHECK(short_text(decimal_of("5", -8), 4) == "5.000e-08");
}

TEST_CASE("formulas name powers of two and all-ones significands") {
  CHECK(binade::formula_text({1, -14}) == "2^-14");
  CHECK(binade::formula_text({4096, -14}) == "2^-2");
  CHECK(binade::formula_text({255, 120}) == "(2-2^-7)*2^127");
  CHECK(binade::formula_text({3, 126}) == "3*2^126");
  CHECK(binade::formula_text({0, 9}) == "0");
}

TEST_CASE("hexadecimal is C's, normalised") {
  CHECK(binade::hex_text({1638, -14}) == "0x1.998p-4");
  CHECK(binade::hex_text({1, 0}) == "0x1p+0");
  CHECK(binade::hex_text({3, -24}) == "0x1.8p-23");
  std::mt19937_64 random(8);
  for (int i = 0; i < 1000; ++i) {
    const Dyadic x{(random() >> 11) | std::uint64_t{1} << 52,
                   static_cast<int>(random() % 1800) - 900};
    char out[64];
    (void)std::snprintf(out, sizeof out, "%a",
                        std::ldexp(static_cast<double>(x.significand), x.exponent));
    REQUIRE(binade::hex_text(x) == out);
  }
}

TEST_CASE("ulps never round to a half or a whole that they are not") {
  CHECK(ulps_text(decimal_of("4", -1)) == "0.4");
  CHECK(ulps_text(decimal_of("5", -1)) == "0.5");
  CHECK(ulps_text(decimal_of("333333333", -9)) == "about 0.3333");
  CHECK(ulps_text(decimal_of("4999999999", -10)) == "just below 0.5");
  CHECK(ulps_text(decimal_of("5000000001", -10)) == "just above 0.5");
  CHECK(ulps_text(decimal_of("9999999999", -10)) == "just below 1");
}
}  // namespace number_text_test
