// SPDX-License-Identifier: Apache-2.0
//
// An arithmetic operation on every element of arrays in memory, on all threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "emulate/elementwise.h"
#include "lib/range/quantize_stream.h"

namespace binade {

/// Returns the row of emulate/operation.h with this name; TestFloat's names and the usual ones
/// (fma, min, max) are known, too. Throws Error, which lists the operations, if the name is
/// unknown.
const NamedOperation& parse_operation(std::string_view name);

/// The elements of one operand, whole and little-endian: as many as there are results, or, if
/// `repeated`, a single element that is used for all results.
struct OperandBytes {
  std::span<const std::byte> elements;
  bool repeated = false;
};

/// Computes out[i] = operation(…), rounded once. The operands are encodings of the formats
/// how.from, which must be formats of dtypes; results are values of f32 or f64, whichever `results`
/// says, and that type must hold every number of how.to. `first` and `index` are as for
/// quantize_elements. Returns the counts of what happened to these elements.
EventCounts operate_on_elements(const Elementwise& how, std::span<const OperandBytes> operands,
                                std::uint64_t first, ResultKind results, std::span<std::byte> out,
                                const ElementIndex& index = {});

}  // namespace binade
