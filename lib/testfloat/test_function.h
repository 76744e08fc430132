// SPDX-License-Identifier: Apache-2.0
//
// The functions of test streams: Berkeley TestFloat's by their names (f16_mulAdd, f32_to_i64,
// f64_le_quiet), the same for every format binade knows (bf16_add, e4m3_div, e5m7_sqrt), and PTX's
// scalar instructions by theirs (fma.rn.relu.f16x2).
//
//     FORMAT_OPERATION                 f16_add, e4m3_sqrt, bf16_minimumNumber, f32_eq
//     FORMAT,FORMAT…_OPERATION_to_FORMAT   operands of different formats: e4m3,e5m2_mul_to_f16
//     TYPE_to_TYPE                     f32_to_e4m3, f16_to_ui32, i64_to_f32
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "emulate/compare.h"
#include "emulate/integer.h"
#include "emulate/ptx_scalar.h"

namespace binade {

/// What an operand or a result is: `lanes` numbers side by side, an integer, or 0 or 1.
struct ValueType {
  enum class Kind { number, integer, truth };
  Kind kind = Kind::number;
  Format format = {};
  int lanes = 1;
  IntegerType integer = {};

  /// Bits that may be set; with the padding of a format.
  int bits() const;
  /// Hexadecimal digits in a stream: those of the container.
  int digits() const;
};

enum class Act {
  arithmetic,
  round_to_integral,
  compare,
  extremum,
  convert,
  to_integer,
  from_integer,
  ptx,
};

struct TestFunction {
  std::string name;
  Act act = Act::arithmetic;
  Operation operation = Operation::add;
  Predicate predicate = {};
  Extremum extremum = {};
  PtxScalar ptx = {};
  std::vector<ValueType> operands = {};
  ValueType result = {};

  /// A GPU's instruction raises no flags: its streams have no such column, and its rounding stands
  /// in its name.
  bool has_flags() const { return act != Act::ptx; }
};

/// How a function is run, besides what its name says.
struct TestSettings {
  Attributes attributes = {};
  bool exact = false;  ///< raise inexact when rounding to an integer
};

struct TestResult {
  std::uint64_t bits = 0;
  Flags flags = 0;
};

/// Error with what is wrong, what there is, and the nearest name.
TestFunction parse_test_function(std::string_view name);

/// The exact result before rounding, of all but comparisons, integer results and PTX.
Exact exact_result(const TestFunction& function, const Operands& operands,
                   const TestSettings& settings);

TestResult evaluate(const TestFunction& function, const Operands& operands,
                    const TestSettings& settings);

/// The names of operations after a format, for help and for suggestions.
std::vector<std::string> test_operations();

extern const char* const test_function_help;

}  // namespace binade
