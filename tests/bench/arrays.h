// SPDX-License-Identifier: Apache-2.0
//
// The arrays of the benchmarks, which all rows share. Each begins at a cache line and is written
// once, so that its pages exist.
#pragma once

#include <cstddef>

#include "emulate/format.h"

namespace binade::bench {

/// Numbers of elements of an array that stays in the L2 cache together with its results, and of one
/// that is read from DRAM.
inline constexpr std::size_t in_l2 = std::size_t{1} << 14, from_dram = std::size_t{1} << 26;
/// Number of elements of each array that is read from DRAM by an operation with several arrays.
inline constexpr std::size_t several_from_dram = std::size_t{1} << 24;

/// Returns from_dram floats of both signs, log-uniform over 2^-24..2^13, which are normal,
/// subnormal or zero in binary16. The first 2^20 are repeated.
const float* input();
/// Returns memory for from_dram results of up to 4 bytes.
std::byte* output();
/// Returns several_from_dram floats that are numbers of a format, saturated, as operand 0, 1 or 2
/// of an operation. No two operands are the same array.
const float* operand(const Format& f, std::size_t which);
/// Returns `input` as encodings of a format.
const std::byte* codes(const Format& f);

}  // namespace binade::bench
