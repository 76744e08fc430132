// SPDX-License-Identifier: Apache-2.0
//
// The operations against exact arithmetic that shares no line with them: small formats
// exhaustively, wide ones by cases that are hard to round; bits and flags under both tininess
// rules.
#include "emulate/arithmetic.h"

#include <doctest/doctest.h>

#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include "tests/emulate/arithmetic_judge.h"
#include "tests/emulate/directions.h"

namespace binade::arithmetic_test {
namespace {

using test::deterministic;
using Judge = test::OperationJudge;

constexpr Format five_bits{2, 3, 1};
constexpr Format four_bits{2, 2, 1};

/// The named formats of so many bits at most, and two that are not named.
std::vector<Format> formats_up_to(int bits) {
  std::vector<Format> out{five_bits, four_bits};
  for (const NamedFormat& row : formats) {
    if (row.format.bits() <= bits) out.push_back(row.format);
  }
  return out;
}

std::uint64_t codes(const Format& f) { return std::uint64_t{1} << f.bits(); }

/// Returns attributes with this rounding. NaN rules alternate with `number`, since they matter to
/// NaNs only.
Attributes rounded(Rounding rounding, std::uint64_t number) {
  return {.rounding = rounding, .nan = static_cast<NanResult>(number % 3)};
}

TEST_CASE(
    "all pairs of formats up to eight bits, in every rounding, give the exact result rounded") {
  for (const Format& f : formats_up_to(8)) {
    if (!f.has_sign || !f.has_zero) continue;
    for (const NamedOperation& row : operations) {
      if (row.operands != 2) continue;
      Judge judge(row.operation, f, Judge::Method::table);
      for (std::uint64_t a = 0; a < codes(f); ++a) {
        for (std::uint64_t b = 0; b < codes(f); ++b) {
          for (const Rounding rounding : deterministic) {
            judge.check({a, b}, rounded(rounding, a + b));
          }
        }
      }
      CHECK(judge.seen.cases == deterministic.size() * codes(f) * codes(f));
      CHECK_MESSAGE(judge.differences == 0, judge.report);
    }
  }
}

TEST_CASE("every encoding up to sixteen bits has the right square root in every rounding") {
  for (const Format& f : formats_up_to(16)) {
    Judge judge(Operation::square_root, f,
                f.bits() > 8 ? Judge::Method::division : Judge::Method::table);
    for (std::uint64_t a = 0; a < codes(f); ++a) {
      for (const Rounding rounding : deterministic) {
        judge.check({a}, rounded(rounding, a));
      }
    }
    CHECK_MESSAGE(judge.differences == 0, judge.report);
  }
}

TEST_CASE("all triples of four-bit and six-bit formats multiply and add with one rounding") {
  for (const Format& f : {e2m1, four_bits, e2m3, e3m2}) {
    Judge judge(Operation::multiply_add, f, Judge::Method::table);
    for (std::uint64_t i = 0; i < codes(f) * codes(f) * codes(f); ++i) {
      const Operands bits{i % codes(f), i / codes(f) % codes(f), i / codes(f) / codes(f)};
      for (const Rounding rounding : deterministic) {
        judge.check(bits, rounded(rounding, i));
      }
    }
    CHECK(judge.seen.cases == deterministic.size() * codes(f) * codes(f) * codes(f));
    CHECK_MESSAGE(judge.differences == 0, judge.report);
  }
}

/// Returns encodings at which a format's arithmetic changes, with both signs.
std::vector<std::uint64_t> edges(const Format& f) {
  const std::uint64_t one = f.fraction_mask() + 1;  // lowest bit of the exponent field
  const auto bias = static_cast<std::uint64_t>(f.bias);
  const auto p = static_cast<std::uint64_t>(f.precision);
  const std::uint64_t unit = bias * one;
  const std::uint64_t infinity = f.exponent_mask() * one;
  const std::vector<std::uint64_t> magnitudes{
      0,                         // zero
      1,                         // the smallest subnormal
      2,                         // twice that: its half is exact
      3,                         //
      one / 2,                   // half the smallest normal
      one - 1,                   // the largest subnormal
      one,                       // the smallest normal
      one + 1,                   //
      2 * one - 1,               // just below twice the smallest normal
      unit / 2,                  // about the root of the smallest: products meet the subnormals
      unit - p * one,            // half an ulp of 1
      unit - (p - 1) * one,      // an ulp of 1
      unit - (p + 1) * one + 1,  // a little more than a quarter of an ulp of 1
      unit - 1,                  // just below 1
      unit - one,                // 1/2
      unit,                      // 1
      unit + 1,                  // just above 1
      unit + one / 2,            // 3/2: ties
      unit + one - 1,            // just below 2
      unit + one + one / 2,      // 3
      unit + p * one,            // its ulp is 2
      infinity / 4 * 3,          // products beyond the largest
      infinity - one,            // the last binade
      infinity - 1,              // the largest finite number
      infinity,                  // Inf
      infinity + 1,              // a signaling NaN
      infinity + one / 2 + 5,    // a quiet NaN with a payload
  };
  std::vector<std::uint64_t> out;
  for (const std::uint64_t bits : magnitudes) {
    out.push_back(bits);
    out.push_back(bits | std::uint64_t{1} << (f.bits() - 1));
  }
  return out;
}

TEST_CASE("the edges of the IEEE formats meet each other in every operation") {
  for (const Format& f : {binary16, bfloat16, binary32, binary64}) {
    const std::vector<std::uint64_t> points = edges(f);
    for (const NamedOperation& row : operations) {
      CAPTURE(row.name);
      Judge judge(row.operation, f);
      std::uint64_t number = 0;
      for (const std::uint64_t a : points) {
        for (const std::uint64_t b : points) {
          for (const std::uint64_t c : points) {
            ++number;
            if (row.operands < 3 && c != 0) break;
            if (row.operands == 3)
              judge.check({a, b, c}, rounded(deterministic[number % deterministic.size()], a));
            for (const Rounding rounding : deterministic) {
              if (row.operands < 3) judge.check({a, b}, rounded(rounding, number));
            }
          }
        }
      }
      CHECK_MESSAGE(judge.differences == 0, judge.report);
    }
  }
}

struct Hard {
  const char* why;
  Operation operation;
  Operands bits;  ///< binary16
  Rounding rounding;
  std::uint64_t result;
  int after, before;  ///< flags under the two tininess rules
};

constexpr Rounding rn = Rounding::ties_to_even, rna = Rounding::ties_to_away,
                   rz = Rounding::toward_zero, rp = Rounding::toward_positive,
                   rm = Rounding::toward_negative, odd = Rounding::to_odd;
constexpr int nx = Flag::inexact, ux = Flag::underflow | nx, ox = Flag::overflow | nx,
              dz = Flag::divide_by_zero, iv = Flag::invalid;

using enum Operation;

// The expected bits are worked out by hand from the values in the first column.
const Hard hard[] = {
    {"1 + 2^-11: a tie, 1 is even", add, {0x3C00, 0x1000}, rn, 0x3C00, nx, nx},
    {"1 + 2^-11 away", add, {0x3C00, 0x1000}, rna, 0x3C01, nx, nx},
    {"(1 + 2^-10) + 2^-11: the upper is even", add, {0x3C01, 0x1000}, rn, 0x3C02, nx, nx},
    {"1 + (2^-11 + 2^-21): above the tie", add, {0x3C00, 0x1001}, rn, 0x3C01, nx, nx},
    {"1 - 2^-24 stays 1", subtract, {0x3C00, 0x0001}, rn, 0x3C00, nx, nx},
    {"1 - 2^-24 down is below 1", subtract, {0x3C00, 0x0001}, rz, 0x3BFF, nx, nx},
    {"1 - 2^-12: a tie below a binade", subtract, {0x3C00, 0x0C00}, rn, 0x3C00, nx, nx},
    {"32768 + 2^-24 to odd", add, {0x7800, 0x0001}, odd, 0x7801, nx, nx},
    {"32768 - 2^-24 to odd", subtract, {0x7800, 0x0001}, odd, 0x77FF, nx, nx},
    {"x - x is +0", subtract, {0x3C01, 0x3C01}, rn, 0x0000, 0, 0},
    {"x - x is -0 toward negative", subtract, {0x3C01, 0x3C01}, rm, 0x8000, 0, 0},
    {"-0 + -0 is -0", add, {0x8000, 0x8000}, rp, 0x8000, 0, 0},
    {"-0 + 0 is +0", add, {0x8000, 0x0000}, rn, 0x0000, 0, 0},
    {"0 + 0 is +0 toward negative", add, {0x0000, 0x0000}, rm, 0x0000, 0, 0},
    {"min normal - min subnormal is exact", subtract, {0x0400, 0x0001}, rn, 0x03FF, 0, 0},
    {"65504 + 16: a tie that overflows", add, {0x7BFF, 0x4C00}, rn, 0x7C00, ox, ox},
    {"65504 + 15.99", add, {0x7BFF, 0x4BFF}, rn, 0x7BFF, nx, nx},
    {"65504 + 16 toward zero stays, no overflow", add, {0x7BFF, 0x4C00}, rz, 0x7BFF, nx, nx},
    {"65504 + 32 toward zero overflows", add, {0x7BFF, 0x5000}, rz, 0x7BFF, ox, ox},
    {"-65504 - 65504 upwards", subtract, {0xFBFF, 0x7BFF}, rp, 0xFBFF, ox, ox},
    {"Inf - Inf", subtract, {0x7C00, 0x7C00}, rn, 0x7E00, iv, iv},
    {"Inf + Inf", add, {0x7C00, 0x7C00}, rn, 0x7C00, 0, 0},
    {"0 Inf", multiply, {0x8000, 0x7C00}, rn, 0x7E00, iv, iv},
    {"-1 0 is -0", multiply, {0xBC00, 0x0000}, rn, 0x8000, 0, 0},
    // (2 - 2^-9)(1 + 2^-10) 2^-15 = 2^-14 (1 - 2^-20)
    {"rounds up to the smallest normal", multiply, {0x3BFE, 0x0401}, rn, 0x0400, nx, ux},
    // 2^-14 (1 - 2^-11) = 0x3FF.8 subnormal ulps: tiny even with unbounded exponent, a tie
    {"a tie between subnormal and normal", multiply, {0x3BFF, 0x0400}, rn, 0x0400, ux, ux},
    {"its toward-zero side", multiply, {0x3BFF, 0x0400}, rz, 0x03FF, ux, ux},
    {"half the smallest subnormal", multiply, {0x0001, 0x3800}, rn, 0x0000, ux, ux},
    {"one and a half of it", multiply, {0x0003, 0x3800}, rn, 0x0002, ux, ux},
    {"far below, upwards", multiply, {0x0001, 0x0001}, rp, 0x0001, ux, ux},
    {"far below, negative, upwards", multiply, {0x8001, 0x0001}, rp, 0x8000, ux, ux},
    {"an exact subnormal product raises nothing", multiply, {0x0400, 0x3800}, rn, 0x0200, 0, 0},
    {"256 256 = 65536", multiply, {0x5C00, 0x5C00}, rn, 0x7C00, ox, ox},
    {"1/3", divide, {0x3C00, 0x4200}, rn, 0x3555, nx, nx},
    {"1/3 to odd", divide, {0x3C00, 0x4200}, odd, 0x3555, nx, nx},
    {"2/3 upwards", divide, {0x4000, 0x4200}, rp, 0x3956, nx, nx},
    {"1/0", divide, {0xBC00, 0x0000}, rz, 0xFC00, dz, dz},
    {"0/0", divide, {0x0000, 0x8000}, rn, 0x7E00, iv, iv},
    {"Inf/Inf", divide, {0x7C00, 0xFC00}, rn, 0x7E00, iv, iv},
    {"Inf/0 is exact", divide, {0x7C00, 0x8000}, rn, 0xFC00, 0, 0},
    {"1/-Inf", divide, {0x3C00, 0xFC00}, rn, 0x8000, 0, 0},
    {"a subnormal tie: 3 ulps / 2", divide, {0x0003, 0x4000}, rn, 0x0002, ux, ux},
    {"1 / min subnormal", divide, {0x3C00, 0x0001}, rn, 0x7C00, ox, ox},
    {"sqrt 2", square_root, {0x4000}, rn, 0x3DA8, nx, nx},
    {"sqrt 4", square_root, {0x4400}, rm, 0x4000, 0, 0},
    {"sqrt 2^-24", square_root, {0x0001}, rn, 0x0C00, 0, 0},
    {"sqrt -0", square_root, {0x8000}, rn, 0x8000, 0, 0},
    {"sqrt -1", square_root, {0xBC00}, rn, 0x7E00, iv, iv},
    {"sqrt -Inf", square_root, {0xFC00}, rn, 0x7E00, iv, iv},
    {"rem 5, 2: n = 2 is even", remainder, {0x4500, 0x4000}, rn, 0x3C00, 0, 0},
    {"rem 3, 2: n = 2, not 1", remainder, {0x4200, 0x4000}, rn, 0xBC00, 0, 0},
    {"rem 1, 2: n = 0", remainder, {0x3C00, 0x4000}, rn, 0x3C00, 0, 0},
    {"rem -4, 2 keeps the sign", remainder, {0xC400, 0x4000}, rn, 0x8000, 0, 0},
    {"rem 65504, 2^-24", remainder, {0x7BFF, 0x0001}, rm, 0x0000, 0, 0},
    {"rem 1, Inf", remainder, {0x3C00, 0xFC00}, rn, 0x3C00, 0, 0},
    {"rem Inf, 1", remainder, {0x7C00, 0x3C00}, rn, 0x7E00, iv, iv},
    {"rem 1, 0", remainder, {0x3C00, 0x0000}, rn, 0x7E00, iv, iv},
    // (1 + 2^-10)^2 - (1 + 2^-9) = 2^-20
    {"fma leaves the low bit", multiply_add, {0x3C01, 0x3C01, 0xBC02}, rn, 0x0010, 0, 0},
    {"fma cancels to +0", multiply_add, {0x4000, 0x4200, 0xC600}, rn, 0x0000, 0, 0},
    {"fma cancels to -0", multiply_add, {0x4000, 0x4200, 0xC600}, rm, 0x8000, 0, 0},
    {"-0 product + 0", multiply_add, {0x8000, 0x3C00, 0x0000}, rn, 0x0000, 0, 0},
    {"-2^-48 + 0 is tiny", multiply_add, {0x8001, 0x0001, 0x0000}, rn, 0x8000, ux, ux},
    {"a product above the range", multiply_add, {0x7800, 0x4000, 0xF800}, rn, 0x7800, 0, 0},
    {"0 Inf + qNaN", multiply_add, {0x0000, 0x7C00, 0x7E00}, rn, 0x7E00, iv, iv},
    {"Inf 1 - Inf", multiply_add, {0x7C00, 0x3C00, 0xFC00}, rn, 0x7E00, iv, iv},
    {"CPFloat: c1be", multiply_add, {0x39C0, 0xC3FE, 0x07FE}, rn, 0xC1BF, nx, nx},
};

TEST_CASE("the cases of binary16 that hurt have the bits and flags worked out by hand") {
  for (const Hard& row : hard) {
    CAPTURE(row.why);
    const Judge judge(row.operation, binary16);
    for (const auto& [tininess, flags] : {std::pair{Tininess::after_rounding, row.after},
                                          std::pair{Tininess::before_rounding, row.before}}) {
      const Attributes attributes{.rounding = row.rounding, .tininess = tininess};
      const Projected want{row.result, static_cast<Flags>(flags)};
      CHECK_MESSAGE(judge.got(row.bits, attributes) == want,
                    test::words(judge.got(row.bits, attributes)));
      CHECK_MESSAGE(judge.expected(row.bits, attributes) == want,
                    test::words(judge.expected(row.bits, attributes)));
    }
  }
}

/// Returns the odd t for which t^2 + c is divisible by 2^bits, where c = 7 mod 8. It is found bit
/// by bit.
std::uint64_t root_of_minus(std::uint64_t c, int bits) {
  std::uint64_t t = 1;
  for (int k = 3; k < bits; ++k) {
    if (((t * t + c) >> k & 1) != 0) t += std::uint64_t{1} << (k - 1);
  }
  return t;
}

// x 2^k = t^2 + c: the root lies c / 2t above the integer t, which is a number of binary64 (k = 52,
// 53) or halfway between two (k = 54, 55): about 2^-106 of it.
TEST_CASE("roots of binary64 that barely pass a number or a tie are seen to pass it") {
  Judge judge(Operation::square_root, binary64);
  for (std::uint64_t c = 7; c < 800; c += 8) {
    for (int k = 52; k <= 55; ++k) {
      const std::uint64_t modulus = std::uint64_t{1} << k;
      const std::uint64_t t = root_of_minus(c, k);
      for (const std::uint64_t other : {t, t + modulus / 2, modulus - t, modulus / 2 - t}) {
        const std::uint64_t root = other % modulus;
        const uint128 square = uint128{root} * root + c;
        REQUIRE(square % modulus == 0);
        const auto x = static_cast<std::uint64_t>(square >> k);
        if (bit_width(x) != 53) continue;
        const auto field = static_cast<std::uint64_t>(1023 + 52 + k % 2);
        const std::uint64_t bits = bits_of({false, field, x & binary64.fraction_mask()}, binary64);
        for (const Rounding rounding : deterministic) judge.check({bits}, {.rounding = rounding});
      }
    }
  }
  CHECK(judge.seen.cases > 1000);
  CHECK_MESSAGE(judge.differences == 0, judge.report);
}

TEST_CASE("of several NaNs the first is kept, and a signaling one anywhere raises invalid") {
  const Attributes keep{.nan = NanResult::propagate};
  const Judge sum(Operation::add, binary16);
  CHECK(sum.got({0x7E01, 0xFE02}, keep) == Projected{0x7E01, 0});
  CHECK(sum.got({0xFE02, 0x7C01}, keep) == Projected{0xFE02, Flag::invalid});
  CHECK(sum.got({0x3C00, 0x7C01}, keep) == Projected{0x7E01, Flag::invalid});
  CHECK(Judge(Operation::subtract, binary16).got({0x3C00, 0x7E05}, keep) == Projected{0x7E05, 0});
  const Judge fma(Operation::multiply_add, binary16);
  CHECK(fma.got({0x3C00, 0x7E02, 0x7E03}, keep) == Projected{0x7E02, 0});
  CHECK(fma.got({0x3C00, 0x7E02, 0x7C03}, keep) == Projected{0x7E02, Flag::invalid});
  CHECK(fma.got({0x3C00, 0x3C00, 0xFE03}, keep) == Projected{0xFE03, 0});
}

}  // namespace
}  // namespace binade::arithmetic_test
