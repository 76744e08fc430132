// SPDX-License-Identifier: Apache-2.0
//
// Compares a kernel's D with the emulated product: how many elements are equal, how far the others
// are, where they lie, and whether rounding in another order could explain them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "lib/gemm/bound.h"
#include "lib/gemm/gemm.h"

namespace binade {

/// An element of D whose given bits are not the emulated ones, and what explains them.
struct GemmDifference {
  std::size_t row = 0, column = 0;
  std::uint64_t given = 0;
  std::uint64_t emulated = 0;
  Agreement agreement = Agreement::equal;
};

/// Counts of elements in a grid of cells, each of cell_rows × cell_columns elements of D.
struct DifferenceMap {
  std::size_t cell_rows = 1, cell_columns = 1;
  std::size_t rows = 0, columns = 0;  ///< size of the grid
  std::vector<std::uint64_t> counts;  ///< row after row
};

/// A subset of the elements: their number, where they lie, and the first of them, row after row.
struct GemmDifferences {
  std::uint64_t count = 0;
  std::vector<std::uint64_t> by_row, by_column;  ///< counts for each row and column of D
  DifferenceMap map;
  std::vector<GemmDifference> first;
};

/// The outcome of a comparison.
struct GemmCheck {
  std::size_t m = 0, n = 0;
  std::size_t rows = 0;       ///< that are compared: all, or those in groups
  GemmDifferences different;  ///< elements whose bits are not the emulated ones
  /// The different elements that no order of rounding explains: those beyond every bound, and those
  /// for which one side is a NaN or an infinity.
  GemmDifferences wrong;
  /// Of the different elements, distances[i] are 2^i to 2^(i+1) - 1 ulp away; distances[0] also
  /// counts +0 in place of -0. Elements with a NaN on one side have no distance.
  std::array<std::uint64_t, 64> distances{};
  std::uint64_t without_distance = 0;
  /// Number of elements of each Agreement.
  std::array<std::uint64_t, std::size(agreement_names)> agreements{};
  /// The element the most ulps away; empty if none has a distance.
  std::optional<GemmDifference> farthest;

  /// Behind a smooth activation (lib/gemm/activated.h): elements that agree without being decided,
  /// neither equal nor different, and the most ulp by which one is off the exact activation.
  std::uint64_t undecided = 0, undecided_ulp = 0;

  std::uint64_t elements() const { return static_cast<std::uint64_t>(rows) * n; }
  std::uint64_t equal() const { return elements() - different.count - undecided; }
};

/// Returns whether all elements agree, and enough of them are decided for a conclusion.
bool is_equal(const GemmCheck& x);

/// Compares `given`, m × n, with the product; of rows in groups those that are in one. It keeps the
/// first `keep` elements of each subset. Maps have at most map_rows × map_columns cells, whose
/// sides are powers of two. Throws Error if an operand or `given` has another size than m, n and k
/// say, if a map has no row or no column, or if the model does not pass check() (model_check.h).
GemmCheck check_gemm(const GemmModel& model, const GemmOperands& operands,
                     const std::vector<std::uint64_t>& given, std::size_t keep,
                     std::size_t map_rows, std::size_t map_columns,
                     const GemmProgress& progress = {});

}  // namespace binade
