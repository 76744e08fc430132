// SPDX-License-Identifier: Apache-2.0
//
// The arrays of the benchmarks, which all rows share. Each begins a cache line and is written once, so that its pages
// exist.
#pragma once

#include <cstddef>

#include "emulate/format.h"

namespace binade::bench {

/// Elements of an array: with its results it stays in the L2 cache, or comes from DRAM.
inline constexpr std::size_t in_l2 = std::size_t{1} << 14, from_dram = std::size_t{1} << 26;
/// Of each of the arrays of an operation that has several.
inline constexpr std::size_t several_from_dram = std::size_t{1} << 24;

/// from_dram floats of both signs, log-uniform over 2^-24..2^13: normal, subnormal and lost values in binary16. The
/// first 2^20 over and over.
const float* input();
/// Room for from_dram results of up to 4 bytes.
std::byte* output();
/// Up to several_from_dram floats on the grid of a format, saturated: operand 0, 1 or 2 of an operation, no two alike.
const float* operand(const Format& f, std::size_t which);
/// `input` as encodings of a format.
const std::byte* codes(const Format& f);

}  // namespace binade::bench
