// SPDX-License-Identifier: Apache-2.0
//
// A recording of a Tensor Core instruction: a .safetensors file with what it gave on one GPU.
//
//     d        (rows,)     unsigned integers of d's width
//     a, b     (rows, k)   unsigned integers of a's and b's width
//     c        (rows,)     unsigned integers of c's width
//     a_scale, b_scale (rows, scales of a row)
//              unsigned integers of 8 bits, of an instruction with scales of blocks
//              all but d are left out where the generator and the seed make them again
//     __metadata__: gpu driver cuda ptx sass generator seed rows input_hash date instruction
//              architecture, all text; what is not known is "unknown"
#pragma once

#include <cstdint>
#include <string>

#include "emulate/tensor_core.h"
#include "lib/cases/dots.h"
#include "lib/device/recording_file.h"

namespace binade {

struct RecordingInfo : RecordingOrigin {
  /// The text of a plan (row_plan.h), or "unknown" if the file holds the operands.
  std::string generator = "unknown";
  std::uint64_t seed = 0;  ///< seed of the generators; 0 if there are none
  std::uint64_t rows = 0;
  std::string input_hash;  ///< input_hash() of the operands
};

/// The largest number of rows of a recording. Rows are held in memory, where they take several
/// times the space that they take in the file.
inline constexpr std::uint64_t most_recorded_rows = std::uint64_t{1} << 20;

/// Returns the 64-bit FNV-1a hash of a, b, c, and the scales of a and b, in this order, as
/// little-endian integers of their formats' widths, as 16 hexadecimal digits.
std::string input_hash(const Dots& dots, const Instruction& instruction);

/// Writes a recording. The inputs are left out if info's generator and seed make exactly these.
/// info's rows and input_hash are ignored; those of `dots` are written. Throws Error if there are
/// no rows, too many, if their numbers do not fit each other, or if info's generator is no plan of
/// so many rows.
void write_recording(const std::string& path, const RecordingInfo& info,
                     const Instruction& instruction, const Dots& dots);

/// Reads and checks the metadata. Throws Error with the file, what is wrong and what to do if a key
/// is missing or its text is not what it must be.
RecordingInfo read_recording_info(const std::string& path);

/// Reads the rows of a recording of the given instruction, which must be the one that the metadata
/// name. Inputs that are not in the file are made again by the generator. Throws Error if the file
/// is not a recording of this shape or if the inputs do not have the recorded hash.
Dots read_recording(const std::string& path, const Instruction& instruction);

}  // namespace binade
