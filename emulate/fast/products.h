// SPDX-License-Identifier: Apache-2.0
//
// What a kernel for sums of products is: how it decodes operands and packs them, and how it
// continues the sums of a tile of 4 × 32 elements of a matrix product. The definition, `dot` of
// emulate/dot.h, is one of them: it knows every model and takes codes as they are. A line is a row
// of a or a column of b; a group (a panel) is the lines of a tile:
//
//     rows of a        4 lines    ├─ length: operands in the order in which the sum takes k ─┤
//     columns of b     32 lines   ├──────────────────────────────────────────────────────────┤  layout: the kernel's
//
//                         columns 0 … 31
//     tile    row 0    s s s s … s    sums: accumulators between two instructions
//             row 3    s s s s … s    mask: bits 0 … 31 of word 3
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

/// The sums of a tile, as encodings.
using TileSums = std::array<std::array<std::uint64_t, tile_columns>, tile_rows>;
/// The sums of a tile as floats, infinities and NaNs included.
struct alignas(64) TileValues {
  std::array<std::array<float, tile_columns>, tile_rows> rows;
};
/// A set of elements of a tile: bit j of word i stands for row i, column j.
using TileMask = std::array<std::uint32_t, tile_rows>;

/// What a kernel does with an infinity or a NaN among the operands.
enum class SpecialOperands : std::uint8_t {
  left,     ///< only the definition computes its line's elements
  dropped,  ///< it is packed as a zero, and the caller adds its products to the finished sum
  kept,     ///< it is multiplied as it is
};

/// How a kernel takes the operands of a model. Models of equal packings and equal types of a and b
/// share decoded operands.
struct Packing {
  bool known = false;             ///< false: the model is not for this kernel
  Format a{}, b{};                ///< formats that operands are converted to, exactly
  std::size_t operand_bytes = 0;  ///< size of a decoded operand
  /// Bytes of a packed operand. A group has a multiple of `step` lines; bytes of lines that do not
  /// exist are 0.
  std::size_t row_bytes = 0, column_bytes = 0;
  std::size_t row_step = 1, column_step = 1;
  /// Decoded operands are floats, and the kernel has `sum`; else it has `run`.
  bool in_values = false;
  SpecialOperands specials = SpecialOperands::left;
  int sparse_group = 0;  ///< the model's: operands of a row that are left out are packed as zeros

  friend constexpr bool operator==(const Packing&, const Packing&) = default;
};

/// Lines of decoded operands, to be packed into a group of rows or of columns.
struct PackedLines {
  const std::byte* operands = nullptr;  ///< the first line's first operand
  std::size_t line_bytes = 0;           ///< distance from a line to the next
  /// Unless null: line i begins starts[i] operands (not bytes) after `operands`.
  const std::int64_t* starts = nullptr;
  std::size_t count = 0;  ///< number of lines, at most tile_rows or tile_columns
  std::size_t lines = 1;  ///< lines of the group: count, rounded up to the step
  /// The i-th packed operand is number places[i] of the line, and +0 where places[i] is -1.
  const std::int32_t* places = nullptr;
  std::size_t length = 0;
  const Packing* packing = nullptr;
  bool are_columns = false;

  /// Returns the format that the operands were converted to.
  const Format& format() const { return are_columns ? packing->b : packing->a; }
  template <class Operand>
  const Operand* line(std::size_t i) const {
    if (starts != nullptr) return reinterpret_cast<const Operand*>(operands) + starts[i];
    return reinterpret_cast<const Operand*>(operands + i * line_bytes);
  }
};

/// Numbers of multiply-adds that vectors did in a slower way than usual.
struct VectorDetours {
  /// Multiply-adds in blocks whose exponents have no room in bytes, or a c of which is nonzero and
  /// below 2^-100 in magnitude.
  std::uint64_t wide = 0;
  /// Multiply-adds of sums that have no room in 32 bits, each of which is computed by itself.
  std::uint64_t alone = 0;
};

/// Bounds of the magnitudes of all operands that are not zero, as bits of binary32.
struct MagnitudeRange {
  std::uint32_t least = 1, most = 0x7FFFFFFF;
};

/// Scales of runs of K of a tile's lines, as encodings: [run][line], lines that do not exist
/// included. Null: all are 1. An instruction that multiplies by scales counts runs of packed
/// operands, a promotion those of K.
struct TileScales {
  const std::uint32_t *rows = nullptr, *columns = nullptr;
};

/// Instructions that run one after the other on the accumulators of a tile.
struct ProductTile {
  const std::byte *rows = nullptr, *columns = nullptr;  ///< packed groups
  std::size_t length = 0;                               ///< operands of a packed line
  std::size_t first = 0;                                ///< operand of the first product
  int instructions = 0;  ///< more than one only where c and d are of one type
  int row_count = 0, column_count = 0;
  VectorDetours* detours = nullptr;  ///< null: they are not counted
  MagnitudeRange of_rows{}, of_columns{};
  TileScales scales{};
};

/// A kernel as a table of functions. A model whose packing is `in_values` is summed by `sum`, on
/// floats, every other one by `run`, on encodings; `sum` is null where the kernel has no such
/// packing.
struct ProductKernel {
  /// Gives how the kernel takes a model's operands; one that it does not know has `known` false.
  Packing (*packing)(const GemmModel& g);
  /// Gives which of an instruction's k operands, numbered from 0 in the order in which the sum
  /// takes them, is its i-th packed one.
  int (*place)(const GemmModel& g, int i);
  /// Decodes n codes of format f into numbers of `as`, a or b of the packing. Returns false where
  /// one is a NaN or an infinity.
  bool (*decode)(const Packing& packing, const Format& f, const Format& as,
                 const std::uint64_t* codes, std::size_t n, std::byte* out);
  /// Copies lines into their group, lines · length · row_bytes (or column_bytes) of the caller's
  /// memory, which is 0 where a line does not exist.
  void (*pack)(const PackedLines& lines, std::byte* group);
  /// Replaces sums in types.c by sums in types.d after x.instructions instructions. Elements set in
  /// `left` are not changed; an element that only the definition can do is not changed either, and
  /// is set there.
  void (*run)(const GemmModel& g, const ProductTile& x, TileSums& sums, TileMask& left);
  /// Does all steps of a sum on a stack of accumulators; a step's products are counted from
  /// x.first. `c` is the tile's part of C, on the grid of g.c. stack[0] becomes the sums; a NaN is
  /// some NaN, and rows and columns that do not exist hold anything.
  void (*sum)(const GemmModel& g, std::span<const SumStep> steps, const ProductTile& x,
              const TileValues& c, TileValues* stack);
};

namespace detail {

/// The packing of operands of one type, line after line, and the function that copies lines so.
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

/// The definition, which knows every model.
extern const ProductKernel defined_dots;

namespace fast {

extern const ProductKernel dot_blocks;  ///< dot_blocks.h
extern const ProductKernel dot_groups;  ///< dot_groups.h
extern const ProductKernel chains;      ///< chains.h
extern const ProductKernel integers;    ///< integers.h

}  // namespace fast
}  // namespace binade
