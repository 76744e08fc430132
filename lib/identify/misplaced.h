// SPDX-License-Identifier: Apache-2.0
//
// Parts of D that are other than the rest: where they lie, and what the bits there are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "lib/identify/change_fit.h"

namespace binade {

/// Returns some of so many lines as "rows 0..7, 12", or "all rows".
std::string lines_words(std::vector<std::size_t> lines, std::size_t all, const char* noun);

/// Returns where elements of D lie: "rows 64..127, columns 0..63", "where column > row", or "row 7"
/// of dots.
std::string region_words(const KernelRun& run, std::span<const std::size_t> elements);

/// Returns the triangle that elements of D fill, all of it: "where column >= row + 2"; "" if they
/// fill none.
std::string triangle_words(const KernelRun& run, std::span<const std::size_t> elements);

/// Returns the whole rows, or columns, of D that are right while most elements of the others are
/// not: "rows 0..63"; "" if there are none, or too few to tell from chance.
std::string right_lines_words(const KernelRun& run, const std::vector<bool>& right);

/// Returns what a D of one value alone is, where its sums are others: flushed, or never written; ""
/// of another D.
std::string one_value_words(const KernelCase& x, const NearSums& sums);

/// What the bits of some elements are by themselves.
struct MisplacedBits {
  std::string words;         ///< empty: nothing that is known
  std::size_t elements = 0;  ///< how many of them it explains
};

/// Returns what may have happened to elements that are far from the sums: never written, cut off at
/// a limit, written with other elements of D. `emulated` is a model's D.
MisplacedBits misplaced(const KernelCase& x, std::span<const std::size_t> elements,
                        const std::vector<std::uint64_t>& emulated);

}  // namespace binade
