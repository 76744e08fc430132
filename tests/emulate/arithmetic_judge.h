// SPDX-License-Identifier: Apache-2.0
//
// Comparison of one operation of the project with the oracle's, case by case. It counts how often
// each kind of result came up, so that a test can require that its cases meet them all.
#pragma once

#include <array>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

#include "emulate/operation.h"
#include "tests/emulate/oracle_bridge.h"
#include "tests/oracle/operations.h"

namespace binade::test {

inline oracle::Operation oracle_operation(Operation operation) {
  switch (operation) {
    case Operation::add: return oracle::Operation::add;
    case Operation::subtract: return oracle::Operation::subtract;
    case Operation::multiply: return oracle::Operation::multiply;
    case Operation::divide: return oracle::Operation::divide;
    case Operation::remainder: return oracle::Operation::remainder;
    case Operation::square_root: return oracle::Operation::square_root;
    case Operation::multiply_add: return oracle::Operation::multiply_add;
    case Operation::minimum: return oracle::Operation::minimum;
    case Operation::maximum: return oracle::Operation::maximum;
    case Operation::minimum_number: return oracle::Operation::minimum_number;
    case Operation::maximum_number: return oracle::Operation::maximum_number;
  }
  return {};
}

/// Numbers of cases by the kind of result that the oracle expects. exact_zero: exact results of 0
/// though the first operand is not 0; tininess_matters: results that differ between the two
/// tininess rules.
struct Seen {
  std::uint64_t cases = 0, ties = 0, subnormal = 0, exact_zero = 0, nan = 0, tininess_matters = 0,
                inexact = 0, underflow = 0, overflow = 0, divide_by_zero = 0, invalid = 0;
};

/// Compares one operation between formats, as the project and as the oracle compute it.
class OperationJudge {
 public:
  using Method = oracle::Oracle::Method;

  OperationJudge(Operation operation, const OperandFormats& from, const Format& to, Method method)
      : operation_(operation), from_(from), to_(to), oracle_(spec_of(to), method) {
    for (std::size_t i = 0; i < 3; ++i) specs_[i] = spec_of(from[i]);
  }
  OperationJudge(Operation operation, const Format& f, Method method = Method::division)
      : OperationJudge(operation, {f, f, f}, f, method) {}

  /// Compares one case under both tininess rules, whatever `attributes` says.
  void check(const Operands& bits, Attributes attributes, std::uint32_t random = 0) {
    attributes.tininess = Tininess::before_rounding;
    const oracle::Computed exact = computed(bits, attributes);
    const Projected before = expected(exact, attributes, random);
    compare(bits, attributes, random, before);
    attributes.tininess = Tininess::after_rounding;
    // A result that is not tiny before rounding is not tiny after it.
    const bool tiny = (before.flags & Flag::underflow) != 0;
    const Projected after = tiny ? expected(exact, attributes, random) : before;
    compare(bits, attributes, random, after);
    count(bits, exact, after, before == after);
  }

  Projected expected(const Operands& bits, const Attributes& attributes) const {
    return expected(computed(bits, attributes), attributes, 0);
  }
  Projected got(const Operands& bits, const Attributes& attributes,
                std::uint32_t random = 0) const {
    return binade::compute(operation_, bits, from_, to_, attributes, random);
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
  oracle::Computed computed(const Operands& bits, const Attributes& attributes) const {
    return oracle::compute(oracle_operation(operation_), operand(bits[0], 0, attributes),
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
  void compare(const Operands& bits, const Attributes& attributes, std::uint32_t random,
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
  void count(const Operands& bits, const oracle::Computed& exact, const Projected& after,
             bool same) {
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
  OperandFormats from_;
  Format to_;
  oracle::Oracle oracle_;
  oracle::Spec specs_[3];
};

}  // namespace binade::test
