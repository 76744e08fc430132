// SPDX-License-Identifier: Apache-2.0
//
// A table of generators of operands for Tensor Core instructions. They are chosen so that two
// models that differ anywhere give different bits in some row. Row i is a pure function of
// (generator, types, scales, k and sparsity, seed, i), but for c of a row that continues a chain,
// which is d of the row before. So a recording needs to hold only the results, and rows can be made
// in any order.
//
// A row for a sparse instruction is a row for a dense instruction of half its k: its elements of a
// are spread over the groups, with +0 between them, and b has random finite numbers at those zeros.
// Scales of blocks are those of the dense instruction.
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

/// One row: the encodings of a and of b, of which the first k count, of c, and of the scales, of
/// which the first scales_of_row() count.
struct DotCase {
  std::array<std::uint64_t, longest_dot> a{}, b{};
  std::uint64_t c = 0;
  std::array<std::uint64_t, most_scales_of_row> a_scales{}, b_scales{};
};

/// The row that a generator has to make.
struct DotRow {
  const Instruction& how;
  std::uint64_t seed, index;
};

struct DotGenerator {
  std::string_view name;
  std::string_view purpose;
  std::uint64_t rows;  ///< number of rows of a full recording; 0: k², of half the k if sparse
  bool chained;        ///< whether most rows take d of the row before as c (continues_chain)
  bool (*suits)(const Instruction& x);  ///< whether it has rows for this instruction
  void (*make)(DotCase& out, Draw& draw, const DotRow& row);
  /// Makes the scales of a row that `make` has made; null: `make` does it itself, or there are
  /// none.
  void (*scale)(DotCase& out, Draw& draw, const DotRow& row) = nullptr;
};

std::span<const DotGenerator> dot_generators();

/// Throws Error with the nearest name and the list of all if no generator has this name.
const DotGenerator& parse_dot_generator(std::string_view name);

/// Returns the number of rows that a full recording of the instruction has of this generator.
std::uint64_t full_rows(const DotGenerator& generator, const Instruction& instruction);

/// Returns whether row `index` takes as c what the device gave as d for the row before. The
/// generator leaves +0 as c of such a row.
bool continues_chain(const DotGenerator& generator, std::uint64_t index);

DotCase make_dot_case(const DotGenerator& generator, const Instruction& instruction,
                      std::uint64_t seed, std::uint64_t index);

/// Makes the rows first … first + rows - 1 on all threads. Each d is 0.
Dots make_dots(const DotGenerator& generator, const Instruction& instruction, std::uint64_t seed,
               std::uint64_t first, std::uint64_t rows);

}  // namespace binade
