// SPDX-License-Identifier: Apache-2.0
//
// One operation, asked of the project and of the oracle, case by case; and how often each kind of
// result was met, so that a test can say that its cases were worth asking.
#pragma once

#include <array>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

#include "emulate/arithmetic.h"
#include "tests/emulate/oracle_bridge.h"
#include "tests/oracle/operations.h"

namespace binade::test {

using oracle::Operation;
using Bits3 = std::array<std::uint64_t, 3>;

struct NamedOperation {
  std::string_view name;
  Operation operation;
  int operands;
};

inline constexpr std::array<NamedOperation, 7> operations{
    {{"add", Operation::add, 2},
     {"subtract", Operation::subtract, 2},
     {"multiply", Operation::multiply, 2},
     {"divide", Operation::divide, 2},
     {"remainder", Operation::remainder, 2},
     {"square_root", Operation::square_root, 1},
     {"multiply_add", Operation::multiply_add, 3}}};

inline constexpr std::array deterministic{Rounding::ties_to_even,    Rounding::ties_to_away,
                                          Rounding::toward_zero,     Rounding::toward_positive,
                                          Rounding::toward_negative, Rounding::to_odd};

inline Exact apply(Operation operation, const Exact& a, const Exact& b, const Exact& c,
                   Rounding rounding) {
  switch (operation) {
    case Operation::add: return add(a, b, rounding);
    case Operation::subtract: return subtract(a, b, rounding);
    case Operation::multiply: return multiply(a, b);
    case Operation::divide: return divide(a, b);
    case Operation::remainder: return remainder(a, b);
    case Operation::square_root: return square_root(a);
    case Operation::multiply_add: return multiply_add(a, b, c, rounding);
  }
  return {};
}

/// How often each kind of result was expected.
struct Seen {
  std::uint64_t cases = 0, ties = 0, subnormal = 0, exact_zero = 0, nan = 0, tininess_matters = 0,
                inexact = 0, underflow = 0, overflow = 0, divide_by_zero = 0, invalid = 0;
};

/// One operation between formats, asked of both sides.
class OperationJudge {
 public:
  using Method = oracle::Oracle::Method;

  OperationJudge(Operation operation, const std::array<Format, 3>& from, const Format& to,
                 Method method)
      : operation_(operation), from_(from), to_(to), oracle_(spec_of(to), method) {
    for (std::size_t i = 0; i < 3; ++i) specs_[i] = spec_of(from[i]);
  }
  OperationJudge(Operation operation, const Format& f, Method method = Method::division)
      : OperationJudge(operation, {f, f, f}, f, method) {}

  /// Under both tininess rules, whatever `attributes` says.
  void check(const Bits3& bits, Attributes attributes, std::uint32_t random = 0) {
    attributes.tininess = Tininess::before_rounding;
    const oracle::Computed exact = computed(bits, attributes);
    const Projected before = expected(exact, attributes, random);
    compare(bits, attributes, random, before);
    attributes.tininess = Tininess::after_rounding;
    // What is not tiny before rounding is not tiny after it.
    const bool tiny = (before.flags & Flag::underflow) != 0;
    const Projected after = tiny ? expected(exact, attributes, random) : before;
    compare(bits, attributes, random, after);
    count(bits, exact, after, before == after);
  }

  Projected expected(const Bits3& bits, const Attributes& attributes) const {
    return expected(computed(bits, attributes), attributes, 0);
  }
  Projected got(const Bits3& bits, const Attributes& attributes, std::uint32_t random = 0) const {
    Exact x[3];
    for (std::size_t i = 0; i < 3; ++i) x[i] = decode_operand(bits[i], from_[i], attributes);
    return project(apply(operation_, x[0], x[1], x[2], attributes.rounding), to_, attributes,
                   random);
  }

  Seen seen;
  std::uint64_t differences = 0;
  std::string report;

 private:
  oracle::Value operand(std::uint64_t bits, std::size_t i, const Attributes& attributes) const {
    oracle::Value value = oracle::value_of(bits, specs_[i]);
    // The one NaN of formats without Inf has no payload.
    if (value.kind == oracle::Kind::nan && specs_[i].codes != oracle::Codes::ieee) value.low = 0;
    if (attributes.flush_operands && oracle::is_subnormal(bits, specs_[i])) value.low = 0;
    return value;
  }
  oracle::Computed computed(const Bits3& bits, const Attributes& attributes) const {
    return oracle::compute(operation_, operand(bits[0], 0, attributes),
                           operand(bits[1], 1, attributes), operand(bits[2], 2, attributes),
                           rules_of(attributes).way);
  }
  Projected expected(const oracle::Computed& exact, const Attributes& attributes,
                     std::uint32_t random) const {
    Projected out = projected(oracle_.round(exact.value, rules_of(attributes), random));
    if (exact.invalid) out.flags |= Flag::invalid;
    if (exact.divide_by_zero) out.flags |= Flag::divide_by_zero;
    return out;
  }
  void compare(const Bits3& bits, const Attributes& attributes, std::uint32_t random,
               const Projected& want) {
    const Projected is = got(bits, attributes, random);
    if (is == want || ++differences > 5) return;
    char text[96];
    std::snprintf(
        text, sizeof text, "%llx %llx %llx, random %x: ", static_cast<unsigned long long>(bits[0]),
        static_cast<unsigned long long>(bits[1]), static_cast<unsigned long long>(bits[2]), random);
    report += std::string(operations[static_cast<std::size_t>(operation_)].name) + " " +
              words(from_[0]) + ", " + words(from_[1]) + ", " + words(from_[2]) + " to " +
              words(to_) + ", " + words(attributes) + ": " + text + "got " + words(is) + ", want " +
              words(want) + "\n";
  }
  void count(const Bits3& bits, const oracle::Computed& exact, const Projected& after, bool same) {
    const oracle::Spec& spec = oracle_.spec();
    ++seen.cases;
    seen.ties += oracle::halfway(exact.value, spec) ? 1 : 0;
    seen.subnormal += oracle::is_subnormal(after.bits, spec) ? 1 : 0;
    seen.exact_zero +=
        oracle::is_zero(exact.value) && !oracle::is_zero(oracle::value_of(bits[0], specs_[0]));
    seen.nan += exact.value.kind == oracle::Kind::nan ? 1 : 0;
    seen.tininess_matters += same ? 0 : 1;
    seen.inexact += (after.flags & Flag::inexact) != 0;
    seen.underflow += (after.flags & Flag::underflow) != 0;
    seen.overflow += (after.flags & Flag::overflow) != 0;
    seen.divide_by_zero += (after.flags & Flag::divide_by_zero) != 0;
    seen.invalid += (after.flags & Flag::invalid) != 0;
  }

  Operation operation_;
  std::array<Format, 3> from_;
  Format to_;
  oracle::Oracle oracle_;
  oracle::Spec specs_[3];
};

}  // namespace binade::test
