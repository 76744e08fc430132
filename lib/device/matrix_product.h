// SPDX-License-Identifier: Apache-2.0
//
// A product of matrices as a device gets it. Each element is a chain of one instruction, which the
// function `chain` defines.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "emulate/tensor_core.h"

namespace binade {

/// The operands and sums of a product, all as encodings: a is m × k, row after row; b is k × n,
/// column after column (as mma's .col); sums are m × n, row after row.
struct MatrixProduct {
  Instruction how{};  ///< sm is 0 for chains of rounded operations, which no architecture owns
  int m = 0, n = 0;
  int k = 0;  ///< a multiple of the instruction's k
  std::span<const std::uint64_t> a = {}, b = {};
  std::span<std::uint64_t> sums = {};  ///< of type d: initial values, then results
};

/// How a device computed a product.
enum class ProductWay : std::uint8_t {
  emulated,     ///< by the emulator's arithmetic
  instruction,  ///< by the instruction itself
};

/// Returns a sum converted to the type of c, as the next instruction of a chain takes it.
constexpr std::uint64_t next_c(const DotTypes& types, std::uint64_t sum) {
  if (types.c == types.d) return sum;
  return convert(sum, types.d, types.c, {.nan = NanResult::nvidia}).bits;
}

/// Returns one element: the result of adding k products to `sum`, instruction after instruction.
/// This is the definition. k is a multiple of the instruction's k.
constexpr std::uint64_t chain(const Instruction& how, const std::uint64_t* a,
                              const std::uint64_t* b, int k, std::uint64_t sum) {
  for (int at = 0; at < k; at += how.k) {
    sum = dot(how.model, how.types, a + at, b + at, how.k, next_c(how.types, sum));
  }
  return sum;
}

}  // namespace binade
