// SPDX-License-Identifier: Apache-2.0
//
// Matrices of floats as the operands of a product, and its D as numbers.
//
//     const binade::NamedGemm kernel = binade::parse_gemm("mma.m16n8k16.f32.f16.f16.f32", 90);
//     const auto operands = binade::rounded_operands(kernel.model, {.m = m, .n = n, .k = k, .a = a, .b = b});
//     const std::vector<double> d = binade::result_values(kernel.model, binade::gemm(kernel.model, operands));
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "emulate/gemm_model.h"
#include "lib/gemm/operands.h"

namespace binade {

/// The matrices of a product, row after row: a is m × k, b is k × n, c is m × n or empty, bias has
/// n elements or is empty.
struct FloatMatrices {
  std::size_t m = 0, n = 0, k = 0;
  std::span<const float> a, b, c = {}, bias = {};
};

/// Rounds each element to its operand's format (model.types.a, model.types.b, model.c, model.bias),
/// to nearest with ties to even; elements that are numbers of the format stay what they are. Throws
/// Error if a size does not fit m, n and k, if one of these is 0, k is above 2^30 or m or n above
/// 2^31, or if the instruction takes integers.
GemmOperands rounded_operands(const GemmModel& model, const FloatMatrices& matrices);

/// Returns the values of D's encodings, which gemm() gives in the epilogue's output format. Throws
/// Error if that is a format of integers.
std::vector<double> result_values(const GemmModel& model, std::span<const std::uint64_t> d);

}  // namespace binade
