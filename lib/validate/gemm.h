// SPDX-License-Identifier: Apache-2.0
//
// A kernel's D held against the emulated product: how many elements are equal; of the others how far
// they are, where they lie, and whether rounding in another order could explain them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "lib/gemm/bound.h"
#include "lib/gemm/gemm.h"

namespace binade {

struct GemmDifference {
  std::size_t row = 0, column = 0;
  std::uint64_t given = 0;
  std::uint64_t emulated = 0;
  Agreement agreement = Agreement::equal;
};

/// Counts in a grid of cells of `cell_rows` × `cell_columns` elements.
struct DifferenceMap {
  std::size_t cell_rows = 1, cell_columns = 1;
  std::size_t rows = 0, columns = 0;  ///< of the grid
  std::vector<std::uint64_t> counts;  ///< row after row
};

/// Some of the elements: how many, where, and the first of them, row after row.
struct GemmDifferences {
  std::uint64_t count = 0;
  std::vector<std::uint64_t> by_row, by_column;
  DifferenceMap map;
  std::vector<GemmDifference> first;
};

struct GemmCheck {
  std::size_t m = 0, n = 0;
  GemmDifferences different;
  /// Those of them that no order of rounding explains: beyond every bound, or a NaN or an infinity on
  /// one side.
  GemmDifferences wrong;
  /// Of the different ones: number i is 2^i to 2^(i+1) - 1 ulp away; NaNs have no distance.
  std::array<std::uint64_t, 64> distances{};
  std::uint64_t without_distance = 0;
  std::array<std::uint64_t, std::size(agreement_names)> agreements{};  ///< of all elements
  std::optional<GemmDifference> farthest;  ///< the most ulps away, or nothing has a distance

  std::uint64_t elements() const { return static_cast<std::uint64_t>(m) * n; }
  std::uint64_t equal() const { return elements() - different.count; }
};

/// `given` is m × n. Keeps the first `keep` elements of each kind; maps have at most `map_rows` ×
/// `map_columns` cells, whose sides are powers of two.
GemmCheck check_gemm(const GemmModel& model, const GemmOperands& operands,
                     const std::vector<std::uint64_t>& given, std::size_t keep,
                     std::size_t map_rows, std::size_t map_columns,
                     const GemmProgress& progress = {});

}  // namespace binade
