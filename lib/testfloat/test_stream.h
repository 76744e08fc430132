// SPDX-License-Identifier: Apache-2.0
//
// Test cases as lines of text, in the form that Berkeley TestFloat writes and reads:
//
//     3C00 1000 3C00 01        operands, result, flags, in hexadecimal without prefix
//
// Flags: 01 inexact, 02 underflow, 04 overflow, 08 divide by zero, 10 invalid. PTX instructions raise
// none; their lines end with the result.
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
  Operands operands = {};
  TestResult result = {};
};

/// Error that says what is wrong with the line; the caller adds which line it is.
TestCase parse_test_case(std::string_view line, const TestFunction& function);

/// Appends a line, with its end.
void write_test_case(std::string& out, const TestCase& test, const TestFunction& function);

/// Which parts of a result are held against a stream.
struct Comparing {
  /// NaNs by their bits, not as NaN; and integers after invalid, whose value IEEE 754 leaves open.
  bool nan_bits = false;
};

/// Whether what the stream says is right.
bool agrees(const TestResult& stream, const TestResult& ours, const TestFunction& function,
            const Comparing& comparing);

struct Mismatch {
  std::uint64_t line = 0;  ///< from 1
  TestCase stream = {};
  TestResult ours = {};
};

struct StreamCheck {
  std::uint64_t cases = 0;
  std::uint64_t mismatches = 0;
  std::vector<Mismatch> first = {};  ///< in order of lines
};

/// Fills a part of the span and returns how much; 0 at the end.
using ReadSome = std::function<std::size_t(std::span<char>)>;

/// Holds every line against the emulator, on all threads; keeps the first `keep` mismatches.
/// Error, with the line's number, for a malformed line or a stream without cases.
StreamCheck check_stream(const TestFunction& function, const TestSettings& settings,
                         const Comparing& comparing, const ReadSome& read, std::size_t keep);

}  // namespace binade
