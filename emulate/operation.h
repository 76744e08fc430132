// SPDX-License-Identifier: Apache-2.0
//
// The arithmetic operations, and minimum and maximum, as values of one table, so that kernels,
// instructions and test streams can choose one at run time; and `compute`, which applies one to
// encodings:
//
//     multiply_add in binary16     a = 39C0, b = C3FE, c = 07FE
//     decode      0.71875          -3.99609375          0.00012195110321044922
//     exact       a·b + c = -48185346 · 2^-24           (arithmetic.h)
//     project     C1BF, inexact                         (project.h)
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "emulate/compare.h"

namespace binade {

/// Operations of IEEE 754-2019: 5.4.1, remainder of 5.3.1, minimum and maximum of 9.6.
enum class Operation : std::uint8_t {
  add,
  subtract,
  multiply,
  divide,
  remainder,
  square_root,
  multiply_add,
  minimum,
  maximum,
  minimum_number,
  maximum_number,
};

/// A row of the table of operations.
struct NamedOperation {
  std::string_view name;
  Operation operation;
  int operands;                ///< how many operands it has
  std::string_view testfloat;  ///< Berkeley TestFloat's name, or empty: f16_mulAdd
};

inline constexpr std::array<NamedOperation, 11> operations{{
    {"add", Operation::add, 2, "add"},
    {"subtract", Operation::subtract, 2, "sub"},
    {"multiply", Operation::multiply, 2, "mul"},
    {"divide", Operation::divide, 2, "div"},
    {"remainder", Operation::remainder, 2, "rem"},
    {"square_root", Operation::square_root, 1, "sqrt"},
    {"multiply_add", Operation::multiply_add, 3, "mulAdd"},
    {"minimum", Operation::minimum, 2, ""},
    {"maximum", Operation::maximum, 2, ""},
    {"minimum_number", Operation::minimum_number, 2, ""},
    {"maximum_number", Operation::maximum_number, 2, ""},
}};

/// Returns whether the result of an operation is one of its operands (IEEE 754-2019 9.6).
constexpr bool selects(Operation operation) {
  return operation == Operation::minimum || operation == Operation::maximum ||
         operation == Operation::minimum_number || operation == Operation::maximum_number;
}

/// Returns how many operands an operation has.
constexpr int operand_count(Operation operation) {
  return operations[static_cast<std::size_t>(operation)].operands;
}

/// Returns the exact result. Operands that the operation does not have are ignored. `rounding`
/// decides only the sign of a zero sum.
constexpr Exact compute(Operation operation, const Exact& a, const Exact& b, const Exact& c,
                        Rounding rounding) {
  switch (operation) {
    case Operation::add: return add(a, b, rounding);
    case Operation::subtract: return subtract(a, b, rounding);
    case Operation::multiply: return multiply(a, b);
    case Operation::divide: return divide(a, b);
    case Operation::remainder: return remainder(a, b);
    case Operation::square_root: return square_root(a);
    case Operation::multiply_add: return multiply_add(a, b, c, rounding);
    case Operation::minimum: return extremum({{}, false, false, false}, a, b);
    case Operation::maximum: return extremum({{}, true, false, false}, a, b);
    case Operation::minimum_number: return extremum({{}, false, true, false}, a, b);
    case Operation::maximum_number: return extremum({{}, true, true, false}, a, b);
  }
  return {};
}

/// Three encodings, and the format of each.
using Operands = std::array<std::uint64_t, 3>;
using OperandFormats = std::array<Format, 3>;

/// Returns the result of an operation, rounded once, as an encoding of `to`. Operands can have any
/// formats; those that the operation does not have are ignored. `random` is for stochastic
/// rounding.
constexpr Projected compute(Operation operation, const Operands& bits, const OperandFormats& from,
                            const Format& to, const Attributes& attributes,
                            std::uint32_t random = 0) {
  const int count = operand_count(operation);
  const auto operand = [&](int i) {
    const auto at = static_cast<std::size_t>(i);
    return i < count ? decode_operand(bits[at], from[at], attributes) : Exact{};
  };
  const Exact exact = compute(operation, operand(0), operand(1), operand(2), attributes.rounding);
  return project(exact, to, attributes, random);
}

}  // namespace binade
