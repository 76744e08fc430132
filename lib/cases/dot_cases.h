// SPDX-License-Identifier: Apache-2.0
//
// Operands for Tensor Core instructions, chosen so that models which differ anywhere give different
// bits: a table of generators. Row i is a pure function of (generator, types and k, seed, i), so a
// recording keeps the results alone, and rows can be made in any order.
//
// For a sparse instruction a row is one of a dense instruction of half its k, spread over the groups
// of a; b has numbers where a is +0.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "emulate/tensor_core.h"
#include "lib/cases/aims.h"
#include "lib/cases/dots.h"

namespace binade {

/// The largest k of an instruction.
inline constexpr int longest_dot = 256;

/// One row: k encodings of a and of b, and c.
struct DotCase {
  std::array<std::uint64_t, longest_dot> a{}, b{};
  std::uint64_t c = 0;
};

/// What a generator sees of the row that it makes.
struct DotRow {
  const Instruction& how;
  std::uint64_t seed, index;
};

struct DotGenerator {
  std::string_view name;
  std::string_view purpose;
  std::uint64_t rows;  ///< of a full recording; 0: k squared
  bool chained;        ///< most rows take the d of the row before for c: continues_chain
  bool (*suits)(const DotTypes& types);
  void (*make)(DotCase& out, Draw& draw, const DotRow& row);
};

std::span<const DotGenerator> dot_generators();

/// Error with the nearest name, and all.
const DotGenerator& parse_dot_generator(std::string_view name);

/// Rows of a full recording.
std::uint64_t full_rows(const DotGenerator& generator, const Instruction& instruction);

/// Whether row `index` has no c of its own: its c is d of the row before, whatever the device gave.
/// Its c is made as +0.
bool continues_chain(const DotGenerator& generator, std::uint64_t index);

DotCase make_dot_case(const DotGenerator& generator, const Instruction& instruction,
                      std::uint64_t seed, std::uint64_t index);

/// Rows first, first + 1, …; on all threads; d is zeros.
Dots make_dots(const DotGenerator& generator, const Instruction& instruction, std::uint64_t seed,
               std::uint64_t first, std::uint64_t rows);

}  // namespace binade
