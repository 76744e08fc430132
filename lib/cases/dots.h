// SPDX-License-Identifier: Apache-2.0
//
// Rows of dot products, as a Tensor Core takes and returns them: row i of a and of b, with the
// scales of their blocks where the instruction has such, and element i of c make element i of d.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "emulate/tensor_core.h"

namespace binade {

/// Encodings, each in the lowest bits of its word. a and b hold c.size() rows, one after the other,
/// of as many elements as the instruction's k, padded with +0; c and d hold one element for each
/// row; d may be empty before a device or the emulator has filled it.
struct Dots {
  std::vector<std::uint64_t> a, b, c, d;
  /// Scales of a's and b's rows: scales_of_row() for each row, in the order of k; empty without.
  std::vector<std::uint64_t> a_scales = {}, b_scales = {};
};

/// The parts of Dots.
inline constexpr std::array dot_parts{&Dots::a, &Dots::b,        &Dots::c,
                                      &Dots::d, &Dots::a_scales, &Dots::b_scales};

/// The largest number of scales that a row of an instruction has.
inline constexpr std::size_t most_scales_of_row = 4;

/// Returns how many scales an instruction takes of a row of a, and of one of b; 0: it has none.
constexpr std::size_t scales_of_row(const Instruction& x) {
  return static_cast<std::size_t>(name_of(x.kind).count);
}

/// The operands of one row as `dot` takes them. a and b are those of the rows, which must outlive
/// it.
struct RowOperands {
  const std::uint64_t* a = nullptr;
  const std::uint64_t* b = nullptr;
  std::uint64_t c = 0;
  bool has_scales = false;
  std::array<std::uint8_t, most_scales_of_row> a_scales{}, b_scales{};

  DotScales scales() const {
    return has_scales ? DotScales{a_scales.data(), b_scales.data()} : DotScales{};
  }
};

/// Returns row `a` of a, row `b` of b, each with its scales, and element `c` of c.
RowOperands operands_of_rows(const Dots& rows, std::size_t a, std::size_t b, std::size_t c);
inline RowOperands operands_of_row(const Dots& rows, std::size_t row) {
  return operands_of_rows(rows, row, row, row);
}

/// Returns d of a row of an instruction.
std::uint64_t dot_of_row(const Instruction& x, const RowOperands& row);

/// Returns whether every part but d has what so many rows of an instruction need.
inline bool fit(const Dots& rows, const Instruction& x) {
  const std::size_t values = rows.c.size() * static_cast<std::size_t>(x.k);
  const std::size_t scales = rows.c.size() * scales_of_row(x);
  return rows.a.size() == values && rows.b.size() == values && rows.a_scales.size() == scales &&
         rows.b_scales.size() == scales;
}

/// Returns these rows, in this order.
Dots chosen_rows(const Dots& from, std::span<const std::size_t> rows);

/// Adds rows at the end.
void append(Dots& to, const Dots& rows);

}  // namespace binade
