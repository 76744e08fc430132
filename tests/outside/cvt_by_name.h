// SPDX-License-Identifier: Apache-2.0
//
// The emulator's part of comparisons over 32-bit patterns (patterns.h): a PTX conversion whose name
// is known at compile time. The tests against NVIDIA's headers share it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "emulate/cvt.h"

namespace binade::outside {

/// A PTX name as a template argument.
struct CvtName {
  char text[40] = {};

  template <std::size_t n>
  consteval CvtName(const char (&name)[n]) {  // NOLINT(google-explicit-constructor): a literal
    std::copy_n(name, n, text);
  }
};

template <CvtName name>
inline constexpr PtxCvt cvt_named = find_ptx_cvt(name.text).value();

/// Converts with the pattern as the last operand; an operand before it is zero.
template <CvtName name>
void cvt(const std::uint32_t* patterns, std::uint64_t* bits, std::size_t n) {
  constexpr PtxCvt instruction = cvt_named<name>;
  constexpr auto last = static_cast<std::size_t>(instruction.operand_count() - 1);
  for (std::size_t i = 0; i < n; ++i) {
    CvtOperands operands{};
    operands[last] = patterns[i];
    bits[i] = compute(instruction, operands);
  }
}

/// Returns a second operand for a pattern. When the first runs through all patterns, so does the
/// second.
constexpr std::uint32_t partner(std::uint32_t pattern) { return pattern * 0x9E3779B1 + 0x85EBCA6B; }

/// Converts with the pattern as a and its partner as b.
template <CvtName name>
void cvt_pair(const std::uint32_t* patterns, std::uint64_t* bits, std::size_t n) {
  constexpr PtxCvt instruction = cvt_named<name>;
  for (std::size_t i = 0; i < n; ++i) {
    bits[i] = compute(instruction, {patterns[i], partner(patterns[i])});
  }
}

/// Returns a double whose upper half is the pattern. The lower half is often all zeros, so that
/// ties of narrow formats come up, or all ones.
constexpr std::uint64_t double_of(std::uint32_t pattern) {
  const std::uint32_t lower[4] = {0, partner(pattern), 1, 0xFFFFFFFF};
  return std::uint64_t{pattern} << 32 | lower[partner(pattern) >> 30];
}

template <CvtName name>
void cvt_double(const std::uint32_t* patterns, std::uint64_t* bits, std::size_t n) {
  constexpr PtxCvt instruction = cvt_named<name>;
  for (std::size_t i = 0; i < n; ++i) bits[i] = compute(instruction, {double_of(patterns[i])});
}

}  // namespace binade::outside
