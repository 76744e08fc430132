// SPDX-License-Identifier: Apache-2.0
//
// The operations on seeded random operands, drawn so that ties, subnormal results, overflows and
// cancellations are frequent: within a format (slow/operations_test has those between formats),
// under stochastic rounding, and against the processor's own arithmetic.
#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <vector>

#include "tests/emulate/arithmetic_judge.h"
#include "tests/emulate/operand_draw.h"

namespace binade::arithmetic_random_test {
namespace {

using test::draw_attributes;
using test::draw_operands;
using test::Seen;
using Judge = test::OperationJudge;
using test::Random;
using Kinds = std::vector<std::uint64_t Seen::*>;

/// Returns the kinds of results that must come up. Square roots and remainders cannot overflow or
/// lie halfway; a quotient is halfway among the subnormals only, and never rounds up to the
/// smallest normal number.
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
    case Operation::minimum:
    case Operation::maximum: return {&Seen::subnormal, &Seen::nan, &Seen::invalid};
    case Operation::minimum_number:  // a NaN of two
    case Operation::maximum_number: return {&Seen::subnormal, &Seen::invalid};
  }
  return {};
}

TEST_CASE("random operands of the IEEE formats give the exact result rounded, whatever its kind") {
  Random random(20);
  // At least this many results of each kind must come up.
  constexpr std::uint64_t enough = 20;
  for (const Format& f : {binary16, bfloat16, binary32, binary64}) {
    for (const NamedOperation& row : operations) {
      Judge judge(row.operation, f);
      for (int i = 0; i < 100000; ++i) {
        const Operands bits = draw_operands(random, row.operation, {f, f, f}, f);
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

template <typename Real>
Real least_number(Real a, Real b) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) ? b : a;
  return a < b || (a == b && std::signbit(a)) ? a : b;
}

/// Returns the processor's result, rounded to nearest.
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
    case Operation::minimum: return std::isnan(a) ? a : std::isnan(b) ? b : least_number(a, b);
    case Operation::maximum: return std::isnan(a) ? a : std::isnan(b) ? b : -least_number(-a, -b);
    case Operation::minimum_number: return least_number(a, b);
    case Operation::maximum_number: return -least_number(-a, -b);
  }
  return 0;
}

template <typename Real, typename Word>
void check_by_machine(const Format& f, Random& random) {
  for (const NamedOperation& row : operations) {
    const Judge judge(row.operation, f);
    std::uint64_t different = 0;
    for (int i = 0; i < 100000; ++i) {
      const Operands bits = draw_operands(random, row.operation, {f, f, f}, f);
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

/// Returns a non-negative e3m2 or e2m3 number in sixteenths.
std::int64_t sixteenths(std::uint64_t bits, const Format& f) {
  const Exact x = decode(bits, f);
  return static_cast<std::int64_t>(x.significand) << (x.exponent + 4);
}

/// Checks stochastic rounding with 8 random bits of the exact result n/d, in sixteenths: of the 256
/// words r, those with floor(256 f) + r >= 256 round up, where f is the part that is cut off.
void check_law(const Judge& judge, const Format& f, const Operands& operands, std::int64_t n,
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
}  // namespace binade::arithmetic_random_test
