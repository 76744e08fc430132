// SPDX-License-Identifier: Apache-2.0
//
// A product's operands on their way to its kernel: who it is, lines taken apart, groups of them packed, and what infinities
// and NaNs that a kernel drops make of a tile's sums.
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

/// Lines of a group, at most.
inline constexpr auto group_rows = static_cast<std::size_t>(tile_rows);
inline constexpr auto group_columns = static_cast<std::size_t>(tile_columns);

/// Who multiplies a model's operands, and how it takes them. Equal readings share DecodedOperands.
struct OperandReading {
  const ProductKernel* kernel = nullptr;
  Packing packing{};
  Format a{}, b{};

  friend bool operator==(const OperandReading&, const OperandReading&) = default;
};
OperandReading reading_of(const GemmModel& model, const Kernels& kernels = fastest_kernels());

/// Rows of a or columns of b, taken apart; one with a NaN or an infinity may be not usable.
struct DecodedLines {
  std::vector<std::byte> operands;
  std::vector<std::uint8_t> usable;
};
struct DecodedOperands {
  DecodedLines a, b;
};
/// Lines of k codes each.
DecodedOperands decoded(const OperandReading& reading, std::span<const std::uint64_t> a,
                        std::span<const std::uint64_t> b, std::size_t k);

/// Lines of k operands, as encodings, line after line, or as numbers.
struct OperandLines {
  const std::uint64_t* codes = nullptr;
  ValueLines values{};
  std::size_t count = 0, k = 0;

  bool are_values() const { return values.values != nullptr; }
  float value(std::size_t line, std::size_t at, const Format& f) const {
    return are_values() ? values.at(line, at) : value_of<float>(codes[line * k + at], f);
  }
};

/// Groups of lines as the kernel wants them, and which lines have infinities or NaNs: all of those, where the kernel
/// drops them.
struct PackedGroups {
  struct Special {
    std::size_t line, k;  ///< the line in its group
    float value;
  };
  std::unique_ptr<std::byte[]> bytes;
  std::size_t group_bytes = 0;
  MagnitudeRange range;  ///< of numbers
  std::vector<std::uint32_t> unusable;
  std::vector<std::vector<Special>> specials;
};

/// The i-th packed operand of a line is number places[i]; +0 where that is -1.
PackedGroups packed_groups(const OperandReading& reading, std::span<const std::int32_t> places,
                           const OperandLines& lines, bool are_columns);

/// One of the groups of all lines.
struct GroupOf {
  const OperandLines& lines;
  const PackedGroups& groups;
  std::size_t number;
};
/// Of the tile of a group of rows and one of columns.
TileSpecials tile_specials(const OperandReading& reading, const GroupOf& rows,
                           const GroupOf& columns);

}  // namespace binade
