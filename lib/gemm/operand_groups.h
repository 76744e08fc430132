// SPDX-License-Identifier: Apache-2.0
//
// Brings a product's operands to its kernel: which kernel multiplies, operands decoded line after
// line, lines packed in groups, and the effect on a tile's sums of infinities and NaNs that a
// kernel drops.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "emulate/gemm_model.h"
#include "lib/gemm/operands.h"
#include "lib/gemm/special_terms.h"
#include "lib/parallel/parallel.h"

namespace binade {

/// The largest number of lines in a group of rows and in a group of columns.
inline constexpr auto group_rows = static_cast<std::size_t>(tile_rows);
inline constexpr auto group_columns = static_cast<std::size_t>(tile_columns);

/// The kernel that multiplies a model's operands, and how it takes them. Models of equal readings
/// share DecodedOperands.
struct OperandReading {
  const ProductKernel* kernel = nullptr;
  Packing packing{};
  Format a{}, b{};

  friend bool operator==(const OperandReading&, const OperandReading&) = default;
};
OperandReading reading_of(const GemmModel& model, const Kernels& kernels = fastest_kernels());

/// Decoded rows of a or columns of b, line after line. A line's `usable` is 0 if the kernel cannot
/// take it, which only a NaN or an infinity can cause.
struct DecodedLines {
  std::vector<std::byte> operands;
  std::vector<std::uint8_t> usable;
};
struct DecodedOperands {
  DecodedLines a, b;
};
/// Decodes a and b, which are lines of k encodings each.
DecodedOperands decoded(const OperandReading& reading, std::span<const std::uint64_t> a,
                        std::span<const std::uint64_t> b, std::size_t k);

/// `count` lines of k operands each: either as encodings, line after line, or as numbers.
struct OperandLines {
  const std::uint64_t* codes = nullptr;
  ValueLines values{};
  std::size_t count = 0, k = 0;

  bool are_values() const { return values.values != nullptr; }
  /// Returns so many of the lines.
  OperandLines some(std::size_t first, std::size_t n) const {
    if (!are_values()) return {codes + first * k, {}, n, k};
    return {nullptr, {values.values, values.starts.subspan(first, n), values.offsets}, n, k};
  }
  float value(std::size_t line, std::size_t at, const Format& f) const {
    return are_values() ? values.at(line, at) : value_of<float>(codes[line * k + at], f);
  }
};

/// Groups of lines, packed as the kernel wants them. Bit i of unusable[g] is set if line i of group
/// g holds an infinity or a NaN that the kernel does not take. If the kernel drops them,
/// specials[g] lists all of them.
struct PackedGroups {
  struct Special {
    std::size_t line, k;  ///< the line's number in its group, and the operand's k
    float value;
  };
  std::unique_ptr<std::byte[]> bytes;
  std::size_t group_bytes = 0;
  /// If the lines are numbers and the kernel does not keep infinities and NaNs: the range of the
  /// magnitudes of all floats in memory from the first operand to the last, those between the lines
  /// included.
  MagnitudeRange range;
  std::vector<std::uint32_t> unusable;
  std::vector<std::vector<Special>> specials;
};

/// Packs lines into groups. The i-th packed operand of a line is number places[i] of the line, and
/// +0 if places[i] is -1.
PackedGroups packed_groups(const OperandReading& reading, std::span<const std::int32_t> places,
                           const OperandLines& lines, bool are_columns);

/// Group number `number` of some lines.
struct GroupOf {
  const OperandLines& lines;
  const PackedGroups& groups;
  std::size_t number;
};
/// Returns what the infinities and NaNs that the kernel drops make of the tile of a group of rows
/// and a group of columns.
TileSpecials tile_specials(const OperandReading& reading, const GroupOf& rows,
                           const GroupOf& columns);

}  // namespace binade
