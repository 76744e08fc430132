// SPDX-License-Identifier: Apache-2.0
//
// The operations on seeded random operands, drawn so that ties, subnormal results, overflows and
// cancellations really come up; between formats; under stochastic rounding; and against the
// machine's own arithmetic.
#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <random>
#include <utility>
#include <vector>

#include "tests/emulate/arithmetic_judge.h"

namespace binade {
namespace {

using oracle::Operation;
using test::Bits3;
using test::NamedOperation;
using test::operations;
using test::Seen;
using Judge = test::OperationJudge;
using Random = std::mt19937_64;
using Formats3 = std::array<Format, 3>;

int between(Random& random, int low, int high) {
  return low + static_cast<int>(random() % static_cast<unsigned>(high - low + 1));
}

/// Any bits, nearly all ones, nearly all zeros, few leading bits.
std::uint64_t draw_fraction(Random& random, const Format& f) {
  switch (random() % 4) {
    case 0: return random() & f.fraction_mask();
    case 1: return f.fraction_mask() & ~(random() % 4);
    case 2: return f.fraction_mask() & random() % 4;
    default: return f.fraction_mask() & random() % 8 << std::max(0, f.fraction_bits() - 3);
  }
}

/// An encoding with this exponent, or the nearest field: of the subnormals, of the specials.
std::uint64_t draw_at(Random& random, const Format& f, int exponent) {
  const int field = std::clamp(exponent + f.bias, 0, static_cast<int>(f.exponent_mask()));
  return bits_of({random() % 2 == 0, static_cast<std::uint64_t>(field), draw_fraction(random, f)},
                 f);
}

int exponent_of(std::uint64_t bits, const Format& f) {
  return static_cast<int>(fields_of(bits, f).exponent) - f.bias;
}

/// An exponent for the result: about the subnormals, about the largest, anywhere.
int draw_target(Random& random, const Format& to) {
  switch (random() % 3) {
    case 0: return to.emin() + between(random, -to.precision - 2, 1);
    case 1: return to.emax() + between(random, -1, 1);
    default: return between(random, to.emin() - 1, to.emax() + 1);
  }
}

/// The second operand, which steers the result of the first two.
std::uint64_t draw_second(Random& random, Operation operation, std::uint64_t a,
                          const Formats3& from, const Format& to) {
  const int e = exponent_of(a, from[0]);
  const int p = to.precision;
  const bool same_format = from[0] == from[1];
  switch (operation) {
    case Operation::add:
    case Operation::subtract:
      if (same_format && random() % 8 == 0) return a;
      if (same_format && random() % 8 == 0) return zero_bits(from[0], true) ^ a;
      return draw_at(random, from[1], e + between(random, -p - 3, p + 3));
    case Operation::divide: return draw_at(random, from[1], e - draw_target(random, to));
    case Operation::remainder: return draw_at(random, from[1], e - between(random, -3, 70));
    default: return draw_at(random, from[1], draw_target(random, to) - e);
  }
}

/// (2 - 2u)(1 + u) = 2 - 2u^2, u the ulp of 1: the product lies so little below the smallest normal
/// number that it rounds up to it, whether the exponent is bounded or not.
Bits3 draw_almost_normal(Random& random, const Formats3& from, const Format& to) {
  const int e = between(random, -5, 5);
  const auto code = [&](std::size_t i, int exponent, std::uint64_t fraction) {
    const auto field = static_cast<std::uint64_t>(
        std::clamp(exponent + from[i].bias, 0, static_cast<int>(from[i].exponent_mask())));
    return bits_of({random() % 2 == 0, field, fraction & from[i].fraction_mask()}, from[i]);
  };
  return {code(0, e, from[0].fraction_mask() - 1), code(1, to.emin() - 1 - e, 1),
          code(2, -from[2].bias, 0)};
}

Bits3 draw_operands(Random& random, Operation operation, const Formats3& from, const Format& to) {
  Bits3 bits{};
  const bool multiplies = operation == Operation::multiply || operation == Operation::multiply_add;
  if (multiplies && random() % 64 == 0) return draw_almost_normal(random, from, to);
  for (std::size_t i = 0; i < 3; ++i) {
    const Format& f = from[i];
    bits[i] =
        draw_at(random, f, between(random, f.emin() - 1, f.emax() + (random() % 16 == 0 ? 1 : 0)));
  }
  if (random() % 8 == 0) return bits;
  if (operation == Operation::add || operation == Operation::subtract) {
    bits[0] = draw_at(random, from[0], draw_target(random, to));
  }
  bits[1] = draw_second(random, operation, bits[0], from, to);
  if (operation == Operation::multiply_add && random() % 8 != 0) {
    const int e = exponent_of(bits[0], from[0]) + exponent_of(bits[1], from[1]);
    bits[2] =
        draw_at(random, from[2], e + between(random, -2 * to.precision - 3, to.precision + 3));
    // Nearly or wholly the negative product.
    const Exact product = negated(multiply(decode(bits[0], from[0]), decode(bits[1], from[1])));
    if (random() % 4 == 0) bits[2] = project(product, from[2]).bits;
  }
  return bits;
}

Attributes draw_attributes(Random& random) {
  return {.rounding = static_cast<Rounding>(random() % 7),
          .saturation = random() % 4 == 0 ? Saturation::finite : Saturation::none,
          .flush_results = random() % 8 == 0,
          .flush_operands = random() % 8 == 0,
          .nan = static_cast<NanResult>(random() % 3),
          .random_bits = between(random, 1, 32)};
}

using Kinds = std::vector<std::uint64_t Seen::*>;

/// What has to come up. Square roots and remainders cannot overflow or lie halfway; a quotient is
/// halfway among the subnormals only, and never rounds up to the smallest normal number.
Kinds kinds_of(Operation operation) {
  switch (operation) {
    case Operation::add:
    case Operation::subtract:
      return {&Seen::ties,    &Seen::subnormal, &Seen::exact_zero, &Seen::nan,
              &Seen::inexact, &Seen::overflow,  &Seen::invalid};
    case Operation::multiply:
      return {&Seen::ties,      &Seen::subnormal, &Seen::nan,     &Seen::tininess_matters,
              &Seen::underflow, &Seen::overflow,  &Seen::invalid, &Seen::inexact};
    case Operation::divide:
      return {&Seen::ties,      &Seen::subnormal, &Seen::nan,     &Seen::divide_by_zero,
              &Seen::underflow, &Seen::overflow,  &Seen::invalid, &Seen::inexact};
    case Operation::remainder: return {&Seen::subnormal, &Seen::exact_zero, &Seen::invalid};
    case Operation::square_root: return {&Seen::inexact, &Seen::invalid, &Seen::nan};
    case Operation::multiply_add:
      return {&Seen::ties,      &Seen::subnormal, &Seen::nan,     &Seen::tininess_matters,
              &Seen::underflow, &Seen::overflow,  &Seen::invalid, &Seen::exact_zero};
  }
  return {};
}

TEST_CASE("random operands of the IEEE formats give the exact result rounded, whatever its kind") {
  Random random(20);
  // At least so many of each kind.
  constexpr std::uint64_t enough = 20;
  for (const Format& f : {binary16, bfloat16, binary32, binary64}) {
    for (const NamedOperation& row : operations) {
      Judge judge(row.operation, f);
      for (int i = 0; i < 100000; ++i) {
        const Bits3 bits = draw_operands(random, row.operation, {f, f, f}, f);
        judge.check(bits, draw_attributes(random), static_cast<std::uint32_t>(random()));
      }
      CAPTURE(row.name);
      CAPTURE(test::words(f));
      CHECK_MESSAGE(judge.differences == 0, judge.report);
      for (std::size_t kind = 0; kind < kinds_of(row.operation).size(); ++kind) {
        CAPTURE(kind);
        CHECK(judge.seen.*kinds_of(row.operation)[kind] >= enough);
      }
    }
  }
}

Format draw_format(Random& random) {
  if (random() % 2 == 0) return formats[random() % formats.size()].format;
  for (;;) {
    Format f{between(random, 2, 11), between(random, 1, 53)};
    f.bias = (1 << (f.exponent_bits - 1)) - 1 + (random() % 2 == 0 ? 0 : between(random, -30, 30));
    f.specials = static_cast<Specials>(random() % 4);
    f.has_zero = random() % 8 != 0;
    f.has_sign = random() % 8 != 0;
    // The oracle counts codes in 63 bits.
    if (is_valid(f) && (f.bits() < 64 || f.specials == Specials::ieee)) return f;
  }
}

TEST_CASE("operands of two or three formats, named or user-made, give a result in another one") {
  Random random(30);
  std::uint64_t cases = 0;
  for (int i = 0; i < 10000; ++i) {
    const NamedOperation& row = operations[random() % operations.size()];
    const Formats3 from{draw_format(random), draw_format(random), draw_format(random)};
    const Format to = draw_format(random);
    Judge judge(row.operation, from, to, Judge::Method::division);
    for (int k = 0; k < 100; ++k) {
      const Bits3 bits = draw_operands(random, row.operation, from, to);
      judge.check(bits, draw_attributes(random), static_cast<std::uint32_t>(random()));
    }
    REQUIRE_MESSAGE(judge.differences == 0, judge.report);
    cases += judge.seen.cases;
  }
  CHECK(cases == 1000000);
}

/// What the machine computes, rounding to nearest.
template <typename Real>
Real by_machine(Operation operation, Real a, Real b, Real c) {
  switch (operation) {
    case Operation::add: return a + b;
    case Operation::subtract: return a - b;
    case Operation::multiply: return a * b;
    case Operation::divide: return a / b;
    case Operation::remainder: return std::remainder(a, b);
    case Operation::square_root: return std::sqrt(a);
    case Operation::multiply_add: return std::fma(a, b, c);
  }
  return 0;
}

template <typename Real, typename Word>
void check_by_machine(const Format& f, Random& random) {
  for (const NamedOperation& row : operations) {
    const Judge judge(row.operation, f);
    std::uint64_t different = 0;
    for (int i = 0; i < 100000; ++i) {
      const Bits3 bits = draw_operands(random, row.operation, {f, f, f}, f);
      Real x[3];
      for (std::size_t k = 0; k < 3; ++k) x[k] = std::bit_cast<Real>(static_cast<Word>(bits[k]));
      const Real want = by_machine(row.operation, x[0], x[1], x[2]);
      const std::uint64_t is = judge.got(bits, {}).bits;
      const std::uint64_t wanted = std::bit_cast<Word>(want);
      // glibc's remainder of binary64 loses the sign of some zeros (5.3.1: it is a's).
      const bool any_zero = row.operation == Operation::remainder && want == 0;
      const bool same = std::isnan(want) ? decode(is, f).kind == Kind::nan
                        : any_zero       ? decode(is, f).kind == Kind::zero
                                         : is == wanted;
      different += same ? 0 : 1;
    }
    CAPTURE(row.name);
    CHECK(different == 0);
  }
}

TEST_CASE("to nearest, binary32 and binary64 give the bits that this machine computes") {
  Random random(40);
  check_by_machine<float, std::uint32_t>(binary32, random);
  check_by_machine<double, std::uint64_t>(binary64, random);
}

/// Non-negative e3m2 and e2m3 numbers in sixteenths.
std::int64_t sixteenths(std::uint64_t bits, const Format& f) {
  const Exact x = decode(bits, f);
  return static_cast<std::int64_t>(x.significand) << (x.exponent + 4);
}

/// The exact result n/d, in sixteenths: of the 256 words those with floor(256 f) + r >= 256 go up.
void check_law(const Judge& judge, const Format& f, const Bits3& operands, std::int64_t n,
               std::int64_t d, std::uint64_t& fractions, std::uint64_t& different) {
  std::uint64_t below = 0;
  while (below < max_bits(f, false) && sixteenths(below + 1, f) * d <= n) ++below;
  if (below == max_bits(f, false)) return;
  const std::int64_t low = sixteenths(below, f);
  const std::int64_t ulp = sixteenths(below + 1, f) - low;
  const std::int64_t law = 256 * (n - low * d) / (ulp * d);
  fractions += law > 0 && law < 255 ? 1 : 0;
  const Attributes attributes{.rounding = Rounding::stochastic, .random_bits = 8};
  for (std::uint32_t r = 0; r < 256; ++r) {
    const std::uint64_t want = below + (law + r >= 256 ? 1 : 0);
    different += judge.got(operands, attributes, 0xABCDEF00 | r).bits == want ? 0 : 1;
  }
}

TEST_CASE("sums and quotients go up for exactly floor(256 f) of the 256 words of eight bits") {
  for (const Format& f : {e2m3, e3m2}) {
    for (const Format& to : {e2m1, e2m3, e3m2}) {
      const Judge sum(Operation::add, {f, f, f}, to, Judge::Method::table);
      const Judge quotient(Operation::divide, {f, f, f}, to, Judge::Method::table);
      std::uint64_t of_sums = 0;
      std::uint64_t of_quotients = 0;
      std::uint64_t different = 0;
      for (std::uint64_t a = 0; a < 32; ++a) {
        for (std::uint64_t b = 1; b < 32; ++b) {
          const std::int64_t x = sixteenths(a, f);
          const std::int64_t y = sixteenths(b, f);
          check_law(sum, to, {a, b}, x + y, 1, of_sums, different);
          check_law(quotient, to, {a, b}, 16 * x, y, of_quotients, different);
        }
      }
      CHECK(of_sums > 50);
      CHECK(of_quotients > 200);
      CHECK(different == 0);
    }
  }
}

}  // namespace
}  // namespace binade
