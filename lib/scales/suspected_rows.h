// SPDX-License-Identifier: Apache-2.0
//
// Suspicions of rows: each has the scales, and the codes, of another row of the numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lib/scales/kept_scales.h"

namespace binade {

/// Adds rows that are moved, all by as many, or that are in another order, of reading number
/// `number`.
void try_rows(const Quantized& given, const ScaleReading& reading, std::size_t number,
              std::span<const StoredScales> stored, std::vector<SuspectedScales>& out);

/// Returns the rows of which codes are, where most are in other places than a rule's scales.
std::optional<RowsMoved> rows_of_codes(const ReadingWork& work, const NamedScaleRule& rule);

/// Returns "each row is that of the numbers 1 row before", or "" of rows as they are.
std::string moved_words(std::int64_t rows);

}  // namespace binade
