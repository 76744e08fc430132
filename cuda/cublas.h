// SPDX-License-Identifier: Apache-2.0
//
// A matrix product by the machine's own cuBLAS, found at run time: nothing here is linked with it.
#pragma once

#include <cstdint>
#include <functional>

namespace binade {

/// Starts d = a·b of f16 with f32 sums, a m × k row after row, b k × n column after column, d n × m row
/// after row; all on the device.
using CublasProduct = std::function<void(const std::uint32_t* a, const std::uint32_t* b, float* d,
                                         int m, int n, int k)>;

/// Empty where there is no libcublas.so.13 or .12.
CublasProduct find_cublas();

}  // namespace binade
