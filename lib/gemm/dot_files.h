// SPDX-License-Identifier: Apache-2.0
//
// Rows of dot products in files: row i of a and b, with the scales of their blocks where the
// instruction has such, and element i of c give element i of d. And how users name them together
// with their instruction.
#pragma once

#include <optional>
#include <string>

#include "emulate/tensor_core.h"
#include "lib/cases/dots.h"

namespace binade {

/// Files of arrays: a and b of shape (rows, K), c and d of shape (rows,) or (rows, 1), either as
/// bits (integers of the format's width) or in a floating-point dtype whose elements are numbers of
/// the format (read_array, lib/gemm/files.h). A K below the instruction's is padded with +0.
/// Without c, every c is +0. Scales of a and of b are of shape (rows, scales of a row), or (rows,)
/// where a row has one; without them, all are 1.
struct DotFiles {
  std::string a, b;
  std::string d = {};  ///< empty: nothing was recorded, and d is zeros
  std::optional<std::string> c = {};
  std::string a_scale = {}, b_scale = {};  ///< empty: none
};
/// Reads the rows. Throws Error with the file, its shape, dtype or number of rows, and what that
/// should be; also if there are no rows.
Dots read_dots(const DotFiles& files, const Instruction& instruction);

/// How a user names an instruction and its rows, by options or arguments.
struct DotOptions {
  std::string architecture, instruction;
  DotFiles files;
  std::string c;  ///< file of c; empty if it was not given
};

/// Throws Error if scales are given (their names, or empty) for an instruction that has none.
void check_has_scales(const Instruction& instruction, const std::string& a_scale,
                      const std::string& b_scale);
/// Returns the code of a scale of 1 of an instruction that multiplies by scales of blocks.
std::uint64_t scale_of_one(const Instruction& instruction);

/// The instruction that the options name. Throws Error if the architecture is unknown or has no
/// such instruction.
Instruction instruction_of(const DotOptions& options);
/// The files of a, b, c and d that the options name.
DotFiles files_of(const DotOptions& options);

}  // namespace binade
