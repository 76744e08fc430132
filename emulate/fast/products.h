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
#include <span>

#include "emulate/dot.h"
#include "emulate/gemm_model.h"
#include "emulate/sum_order.h"

namespace binade {

inline constexpr int tile_rows = 4;
inline constexpr int tile_columns = 32;

/// Sums of a tile, as encodings.
using TileSums = std::array<std::array<std::uint64_t, tile_columns>, tile_rows>;
/// The same as numbers of binary32, of which an infinity or a NaN is one.
struct alignas(64) TileValues {
  std::array<std::array<float, tile_columns>, tile_rows> rows;
};
/// Elements of a tile: bit j of word i.
using TileMask = std::array<std::uint32_t, tile_rows>;

/// What becomes of an infinity or a NaN among the operands.
enum class SpecialOperands : std::uint8_t {
  left,     ///< its line is for the definition
  dropped,  ///< it is a zero: whoever has the sum adds what its products are
  kept,     ///< it is multiplied as what it is
};

/// How a kernel takes the operands of a model. Models of equal packings and equal types of a and b share operands that
/// were taken apart.
struct Packing {
  bool known = false;             ///< else the model is not for this kernel
  Format a{}, b{};                ///< what operands are converted to, exactly
  std::size_t operand_bytes = 0;  ///< of one that was taken apart
  /// Of a packed one. A group has a multiple of `step` lines; bytes of lines that are not there are 0.
  std::size_t row_bytes = 0, column_bytes = 0;
  std::size_t row_step = 1, column_step = 1;
  /// Operands that were taken apart are floats, and the kernel has `sum`; else it has `run`.
  bool in_values = false;
  SpecialOperands specials = SpecialOperands::left;
  int sparse_group = 0;  ///< the model's: of a row's packed operands only those that are kept count

  friend constexpr bool operator==(const Packing&, const Packing&) = default;
};

/// Lines of operands that were taken apart, on their way into a group of rows or of columns.
struct PackedLines {
  const std::byte* operands = nullptr;   ///< of the first line
  std::size_t line_bytes = 0;            ///< from one to the next
  const std::int64_t* starts = nullptr;  ///< or lines begin so many operands from there
  std::size_t count = 0;                 ///< at most tile_rows or tile_columns
  std::size_t lines = 1;                 ///< of the group: count, up to a multiple of the step
  /// The i-th packed operand is number places[i]; +0 where that is -1.
  const std::int32_t* places = nullptr;
  std::size_t length = 0;
  const Packing* packing = nullptr;
  bool are_columns = false;

  /// What they were converted to.
  const Format& format() const { return are_columns ? packing->b : packing->a; }
  template <class Operand>
  const Operand* line(std::size_t i) const {
    if (starts != nullptr) return reinterpret_cast<const Operand*>(operands) + starts[i];
    return reinterpret_cast<const Operand*>(operands + i * line_bytes);
  }
};

/// Multiply-adds of vectors that went another way than the straight one.
struct VectorDetours {
  std::uint64_t wide = 0;   ///< in blocks whose exponents have no room in bytes, or whose c is tiny
  std::uint64_t alone = 0;  ///< of sums that have no room in 32 bits, each done by itself
};

/// Within which the magnitudes of all operands lie that are not zero, as bits of binary32.
struct MagnitudeRange {
  std::uint32_t least = 1, most = 0x7FFFFFFF;
};

/// Instructions, one after the other, on the accumulators of a tile.
struct ProductTile {
  const std::byte *rows = nullptr, *columns = nullptr;  ///< groups
  std::size_t length = 0;                               ///< of the packed lines
  std::size_t first = 0;                                ///< where in them the products begin
  int instructions = 0;  ///< more than one only where c and d are of one type
  int row_count = 0, column_count = 0;
  VectorDetours* detours = nullptr;  ///< null: nobody counts them
  MagnitudeRange of_rows{}, of_columns{};
};

struct ProductKernel {
  Packing (*packing)(const GemmModel& g);
  /// An instruction's i-th packed operand is its place(g, i)-th of the program.
  int (*place)(const GemmModel& g, int i);
  /// Takes n codes of format f apart as numbers of one of the packing's. False where one is a NaN or an infinity.
  bool (*decode)(const Packing& packing, const Format& f, const Format& as,
                 const std::uint64_t* codes, std::size_t n, std::byte* out);
  /// Copies lines into their group, lines · length · bytes of the caller's, all 0 where a line is not there.
  void (*pack)(const PackedLines& lines, std::byte* group);
  /// sums (of types.c) become sums (of types.d). Elements set in `left` are left as they are, and those that are for the
  /// definition are set there.
  void (*run)(const GemmModel& g, const ProductTile& x, TileSums& sums, TileMask& left);
  /// All steps, of products that are number `first` of the tile's and so on; `c` is C's part of the tile, on the grid of
  /// g.c. stack[0] becomes the sums, any NaN a NaN; of rows and columns that are not there anything.
  void (*sum)(const GemmModel& g, std::span<const SumStep> steps, const ProductTile& x,
              const TileValues& c, TileValues* stack);
};

namespace detail {

/// Operands of one type, line after line.
template <class Operand>
constexpr Packing packed_lines(const Format& a, const Format& b) {
  return {true, a, b, sizeof(Operand), sizeof(Operand), sizeof(Operand)};
}
template <class Operand>
void pack_lines(const PackedLines& x, std::byte* group, const Operand& zero) {
  for (std::size_t line = 0; line < x.count; ++line) {
    const auto* from = x.line<Operand>(line);
    auto* to = reinterpret_cast<Operand*>(group) + line * x.length;
    for (std::size_t i = 0; i < x.length; ++i) {
      to[i] = x.places[i] < 0 ? zero : from[x.places[i]];
    }
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
