// SPDX-License-Identifier: Apache-2.0
//
// Test cases as lines of text, in the form that Berkeley TestFloat writes and reads:
//
//     3C00 1000 3C00 01        operands, result, flags, in hexadecimal without prefix
//
// The flags are the sum of 01 inexact, 02 underflow, 04 overflow, 08 divide by zero and 10 invalid.
// Lines may end with the result, as those of converters that have no flags do; PTX instructions
// raise none, and their lines always end there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lib/testfloat/test_function.h"

namespace binade {

struct TestCase {
  TestOperands operands = {};
  TestResult result = {};
  bool has_flags = true;  ///< whether the line has a column of flags
};

/// Returns the case in a line. Blanks and tabs separate the numbers, and digits may be small
/// letters. Throws Error with what is wrong if the line is no case of the function, as an empty
/// line is none, or is longer than 256 characters; the caller adds the line's number.
TestCase parse_test_case(std::string_view line, const TestFunction& function);

/// Appends the case as a line with a newline.
void write_test_case(std::string& out, const TestCase& test, const TestFunction& function);

/// How strictly results are compared with a stream.
struct Comparing {
  /// Whether the bits of NaNs must be equal, and those of integers after an invalid conversion,
  /// whose value IEEE 754 does not define. Otherwise any NaN equals any NaN, and such integers are
  /// equal.
  bool nan_bits = false;
};

/// Returns whether the value of a stream's result agrees with the emulator's, whatever the flags.
bool values_agree(const TestResult& stream, const TestResult& ours, const TestFunction& function,
                  const Comparing& comparing);

/// Returns whether a result of a stream agrees with the emulator's, flags included.
bool agrees(const TestResult& stream, const TestResult& ours, const TestFunction& function,
            const Comparing& comparing);

struct Mismatch {
  std::uint64_t line = 0;  ///< number of the line, from 1
  TestCase stream = {};
  TestResult ours = {};
};

struct StreamCheck {
  std::uint64_t cases = 0;
  std::uint64_t without_flags = 0;  ///< lines without a column of flags, of those that may have it
  std::uint64_t wrong_values = 0;
  std::uint64_t wrong_flags = 0;  ///< lines whose value agrees, but not their flags
  /// The first mismatches: those of wrong values in the order of lines, then those of flags alone.
  std::vector<Mismatch> first = {};

  std::uint64_t mismatches() const { return wrong_values + wrong_flags; }
};

/// A function that reads into the span and returns how many characters it has read; 0 at the end.
using ReadSome = std::function<std::size_t(std::span<char>)>;

/// Compares every line of a stream with the emulator, on all threads, and keeps the first `keep`
/// mismatches. Throws Error with the line's number if a line is malformed, or if there are no
/// cases.
StreamCheck check_stream(const TestFunction& function, const TestSettings& settings,
                         const Comparing& comparing, const ReadSome& read, std::size_t keep);

}  // namespace binade
