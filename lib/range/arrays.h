// SPDX-License-Identifier: Apache-2.0
//
// The emulator's functions of arrays (emulate/quantize.h, emulate/elementwise.h) under the same
// names, and range_summary, which counts as range_count does (emulate/range_count.h), on all
// threads and with the fastest kernels of the machine. They give the same bits and counts:
//
//     std::vector<float> x = …;
//     const binade::EventCounts counts = binade::quantize(x, x, {.format = binade::e4m3});
//
// Each throws Error if spans that go together differ in size, if T does not hold a format whose
// numbers it carries, if a format is not one that the emulator computes with (is_valid), or if an
// attribute is none of its enumeration.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

#include "emulate/elementwise.h"
#include "emulate/quantize.h"
#include "lib/range/summary.h"

namespace binade {

// Each function has an overload for float and one for double, which is T here; its arguments
// choose. Results may be written over operands of the same type.

/// Rounds each value to to.format. The index of in[0] in the stream of random words is `first`.
EventCounts quantize(std::span<const float> in, std::span<float> out, const Quantizer& to,
                     std::uint64_t first = 0);
EventCounts quantize(std::span<const double> in, std::span<double> out, const Quantizer& to,
                     std::uint64_t first = 0);

/// Rounds each value to to.format and writes its encoding, code_bytes(to.format) bytes each,
/// little-endian.
EventCounts quantize_to_codes(std::span<const float> in, std::span<std::byte> out,
                              const Quantizer& to, std::uint64_t first = 0);
EventCounts quantize_to_codes(std::span<const double> in, std::span<std::byte> out,
                              const Quantizer& to, std::uint64_t first = 0);

/// Decodes encodings of code_bytes(format) bytes each.
void values_of_codes(std::span<const std::byte> in, std::span<float> out, const Format& format);
void values_of_codes(std::span<const std::byte> in, std::span<double> out, const Format& format);

/// Computes out[i] = operation(a[i], b[i], c[i]), rounded once. Operands that the operation does
/// not have are empty.
EventCounts elementwise(std::span<const float> a, std::span<const float> b,
                        std::span<const float> c, std::span<float> out, const Elementwise& how,
                        std::uint64_t first = 0);
EventCounts elementwise(std::span<const double> a, std::span<const double> b,
                        std::span<const double> c, std::span<double> out, const Elementwise& how,
                        std::uint64_t first = 0);

/// Counts the values. `columns` are the formats and scales whose squared errors are summed: at most
/// max_error_columns, none of them twice, with scales from 2^-126 to 2^127.
RangeSummary range_summary(std::span<const float> values,
                           const std::vector<ErrorColumn>& columns = {});
RangeSummary range_summary(std::span<const double> values,
                           const std::vector<ErrorColumn>& columns = {});

}  // namespace binade
