// SPDX-License-Identifier: Apache-2.0
//
// A product of matrices as a device gets it: each element the chain of one instruction. What an element
// must be is `chain`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "emulate/tensor_core.h"

namespace binade {

/// All as encodings: a is m × k, row after row; b is k × n, column after column (as mma's .col); sums are
/// m × n, row after row.
struct MatrixProduct {
  Instruction how{};  ///< sm 0: rounded operations that no architecture owns
  int m = 0, n = 0;
  int k = 0;  ///< of whole instructions
  std::span<const std::uint64_t> a = {}, b = {};
  std::span<std::uint64_t> sums = {};  ///< of type d: where they begin, then what they became
};

/// How a device came by a product.
enum class ProductWay : std::uint8_t {
  emulated,     ///< by the emulator's arithmetic
  instruction,  ///< by the instruction itself
};

/// A sum as the next instruction's c.
constexpr std::uint64_t next_c(const DotTypes& types, std::uint64_t sum) {
  if (types.c == types.d) return sum;
  return convert(sum, types.d, types.c, {.nan = NanResult::nvidia}).bits;
}

/// An element: `k` products, instruction after instruction, on top of `sum`. This is the definition.
constexpr std::uint64_t chain(const Instruction& how, const std::uint64_t* a,
                              const std::uint64_t* b, int k, std::uint64_t sum) {
  for (int at = 0; at < k; at += how.k) {
    sum = dot(how.model, how.types, a + at, b + at, how.k, next_c(how.types, sum));
  }
  return sum;
}

}  // namespace binade
