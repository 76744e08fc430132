// SPDX-License-Identifier: Apache-2.0
//
// The functions that streams of test cases can be about: Berkeley TestFloat's, by their names
// (f16_mulAdd, f32_to_i64, f64_le_quiet), the same functions of every format that binade knows
// (bf16_add, e4m3_div, e5m7_sqrt), and PTX's scalar instructions (fma.rn.relu.f16x2,
// cvt.rn.satfinite.e4m3x2.f32).
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
#include "emulate/cvt.h"
#include "emulate/integer.h"
#include "emulate/ptx_scalar.h"

namespace binade {

/// The type of an operand or a result: `lanes` numbers side by side, an integer, or a truth value,
/// 0 or 1.
struct ValueType {
  enum class Kind { number, integer, truth };
  Kind kind = Kind::number;
  Format format = {};
  int lanes = 1;
  IntegerType integer = {};

  /// Returns the distance from lane to lane in bits: two e2m1 share a byte.
  int lane_bits() const { return lanes > 1 ? PtxCvt::lane_bits(format) : format.storage_bits(); }

  /// Returns the width in bits of all lanes, with the padding of a format; 1 for a truth value.
  int bits() const;
  /// Returns the number of hexadecimal digits that a stream has for it: those of its container.
  int digits() const;
};

/// The kind of a function.
enum class Act {
  arithmetic,
  round_to_integral,
  compare,
  extremum,
  convert,
  to_integer,
  from_integer,
  ptx,  ///< PTX's arithmetic
  cvt,  ///< PTX's conversions between floating-point types
};

/// The operands of a case. PTX's cvt.rs to four lanes has the most: a, b, e, f and rbits.
using TestOperands = std::array<std::uint64_t, 5>;

struct TestFunction {
  std::string name;
  Act act = Act::arithmetic;
  Operation operation = Operation::add;
  Predicate predicate = {};
  Extremum extremum = {};
  PtxScalar ptx = {};
  PtxCvt cvt = {};
  std::vector<ValueType> operands = {};
  ValueType result = {};

  bool is_ptx() const { return act == Act::ptx || act == Act::cvt; }
  /// Returns whether cases may have a column of flags. PTX's instructions raise none (and their
  /// rounding is part of their name).
  bool has_flags() const { return !is_ptx(); }
};

/// The settings of a function that its name does not say.
struct TestSettings {
  Attributes attributes = {};
  bool exact = false;  ///< whether rounding to an integer raises inexact
};

struct TestResult {
  std::uint64_t bits = 0;
  Flags flags = 0;
};

/// Throws Error with what is wrong, what there is, and the nearest name if no function has this
/// name.
TestFunction parse_test_function(std::string_view name);

/// Returns the name of an operand: "a", "b", "c"; of PTX's cvt also "e", "f", "rbits".
std::string operand_name(const TestFunction& function, std::size_t i);

/// Returns the exact result before rounding. The function must not be a comparison, a conversion to
/// integers or a PTX instruction.
Exact exact_result(const TestFunction& function, const TestOperands& operands,
                   const TestSettings& settings);

/// Returns the emulator's result and flags.
TestResult evaluate(const TestFunction& function, const TestOperands& operands,
                    const TestSettings& settings);

/// Returns the names of operations that may follow a format, for help and for suggestions.
std::vector<std::string> test_operations();

/// The help text on names of functions.
extern const char* const test_function_help;

}  // namespace binade
