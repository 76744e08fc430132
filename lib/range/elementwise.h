// SPDX-License-Identifier: Apache-2.0
//
// An arithmetic operation on every element of arrays as files hold them, on all threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "emulate/elementwise.h"

namespace binade {

/// Whole little-endian elements of one operand, as many as there are results; or one that all results take.
struct OperandBytes {
  std::span<const std::byte> elements;
  bool repeated = false;
};

/// results[i] = operation(…), rounded once: values of value_dtype(how.to), which fits in binary64. The operands are
/// encodings of how.from, of dtypes; `first` is the first element's number in its stream. Returns the counts of these.
EventCounts operate_on_elements(const Elementwise& how, std::span<const OperandBytes> operands,
                                std::uint64_t first, std::span<std::byte> results);

}  // namespace binade
