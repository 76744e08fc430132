// SPDX-License-Identifier: Apache-2.0
//
// A matrix product by the cuBLAS of the machine, which is opened at run time and not linked.
#pragma once

#include <cstdint>
#include <functional>

namespace binade {

/// Starts d = a·b of f16 with f32 sums. a is m × k, row after row, b is k × n, column after column,
/// both with two f16 in a word; d is m × n, column after column. All are in the device's memory.
/// Throws Error if cuBLAS reports a failure.
using CublasProduct = std::function<void(const std::uint32_t* a, const std::uint32_t* b, float* d,
                                         int m, int n, int k)>;

/// Returns an empty function if there is no libcublas.so.13 or libcublas.so.12 that can be used.
CublasProduct find_cublas();

}  // namespace binade
