// SPDX-License-Identifier: Apache-2.0
//
// An arithmetic operation on every element of arrays as files hold them, on all threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "emulate/elementwise.h"
#include "lib/range/quantize_stream.h"

namespace binade {

/// A row of emulate/operation.h by its name, TestFloat's, or a usual one (fma, min, max). Error with what there is.
const NamedOperation& parse_operation(std::string_view name);

/// Whole little-endian elements of one operand, as many as there are results; or one that all results take.
struct OperandBytes {
  std::span<const std::byte> elements;
  bool repeated = false;
};

/// out[i] = operation(…), rounded once: values of f32 or f64, which holds how.to. The operands are encodings of how.from,
/// of dtypes; `first` is the first element's number in its stream. Returns the counts of these.
EventCounts operate_on_elements(const Elementwise& how, std::span<const OperandBytes> operands,
                                std::uint64_t first, ResultKind results, std::span<std::byte> out);

}  // namespace binade
