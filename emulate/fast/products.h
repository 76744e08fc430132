// SPDX-License-Identifier: Apache-2.0
//
// What a kernel for sums of products is: how it takes operands apart and packs them, and how it continues the sums of a
// tile. The definition, `dot` of dot.h, is one of them: it knows every model and takes codes as they are.
//
//     rows of a     4 lines    ├─ length: operands in the program's order of k ─┤
//     a panel of b  32 lines   ├────────────────────────────────────────────────┤   layout: the kernel's own
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "emulate/dot.h"
#include "emulate/gemm_model.h"

namespace binade {

inline constexpr int tile_rows = 4;
inline constexpr int tile_columns = 32;

/// Sums of a tile, as encodings.
using TileSums = std::array<std::array<std::uint64_t, tile_columns>, tile_rows>;
/// Elements of a tile: bit j of word i.
using TileMask = std::array<std::uint32_t, tile_rows>;

/// How a kernel takes the operands of a model. Models of equal packings and equal types of a and b share operands that
/// were taken apart.
struct Packing {
  bool known = false;             ///< else the model is not for this kernel
  Format a{}, b{};                ///< what operands are converted to, exactly
  std::size_t operand_bytes = 0;  ///< of one that was taken apart
  /// Of a packed one. A group has a multiple of `step` lines; bytes of lines that are not there are 0.
  std::size_t row_bytes = 0, column_bytes = 0;
  std::size_t row_step = 1, column_step = 1;
  int sparse_group = 0;  ///< the model's: of a row's packed operands only those that are kept count

  friend constexpr bool operator==(const Packing&, const Packing&) = default;
};

/// A line of operands that were taken apart, on its way into a group of rows or of columns.
struct PackedLine {
  const std::byte* operands = nullptr;
  /// The packed operand `first` + i is number places[i]; +0 where that is -1.
  const std::int32_t* places = nullptr;
  std::size_t length = 0;
  const Packing* packing = nullptr;
  bool is_column = false;
  std::size_t number = 0, lines = 1;      ///< of the line in its group, of lines there
  std::size_t first = 0, count = length;  ///< of the packed operands to which `places` belong

  /// What they were converted to.
  const Format& format() const { return is_column ? packing->b : packing->a; }
};

/// Instructions, one after the other, on the accumulators of a tile.
struct ProductTile {
  const std::byte *rows = nullptr, *columns = nullptr;  ///< groups
  std::size_t length = 0;                               ///< of the packed lines
  std::size_t first = 0;                                ///< where in them the products begin
  int instructions = 0;  ///< more than one only where c and d are of one type
  int row_count = 0, column_count = 0;
};

struct ProductKernel {
  Packing (*packing)(const GemmModel& g);
  /// An instruction's i-th packed operand is its place(g, i)-th of the program.
  int (*place)(const GemmModel& g, int i);
  /// Takes n codes of format f apart as numbers of one of the packing's. False where one is a NaN or an infinity that the
  /// kernel does not know.
  bool (*decode)(const Packing& packing, const Format& f, const Format& as,
                 const std::uint64_t* codes, std::size_t n, std::byte* out);
  /// Copies a line into its group, lines · length · bytes of the caller's.
  void (*pack)(const PackedLine& line, std::byte* group);
  /// sums (of types.c) become sums (of types.d). Elements set in `left` are left as they are, and those that are for the
  /// definition are set there.
  void (*run)(const GemmModel& g, const ProductTile& x, TileSums& sums, TileMask& left);
};

namespace detail {

/// Operands of one type, line after line.
template <class Operand>
constexpr Packing packed_lines(const Format& a, const Format& b) {
  return {true, a, b, sizeof(Operand), sizeof(Operand), sizeof(Operand)};
}
template <class Operand>
void pack_line(const PackedLine& line, std::byte* group, const Operand& zero) {
  const auto* from = reinterpret_cast<const Operand*>(line.operands);
  auto* to = reinterpret_cast<Operand*>(group) + line.number * line.length + line.first;
  for (std::size_t i = 0; i < line.count; ++i) {
    to[i] = line.places[i] < 0 ? zero : from[line.places[i]];
  }
}

}  // namespace detail

/// The definition: for every model.
extern const ProductKernel defined_dots;

namespace fast {

extern const ProductKernel dot_blocks;  ///< dot_blocks.h
extern const ProductKernel chains;      ///< chains.h
extern const ProductKernel integers;    ///< integers.h

}  // namespace fast
}  // namespace binade
