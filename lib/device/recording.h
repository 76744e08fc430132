// SPDX-License-Identifier: Apache-2.0
//
// A recording: what one instruction on one GPU gave, kept in a .safetensors file.
//
//     d        (rows,)     unsigned integers of d's width
//     a, b, c  (rows, k) twice and (rows,), likewise; left out where generator and seed give them
//              back
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
  /// A plan of row_plan.h; "unknown": the file holds a, b and c.
  std::string generator = "unknown";
  std::uint64_t seed = 0;  ///< of the generators
  std::uint64_t rows = 0;
  std::string input_hash;  ///< of a, b and c
};

/// More rows make no recording: they are held in memory, several times wider than in the file.
inline constexpr std::uint64_t most_recorded_rows = std::uint64_t{1} << 20;

/// FNV-1a of 64 bits over a, b, then c, as little-endian integers of their formats' widths: 16
/// digits.
std::string input_hash(const Dots& dots, const DotTypes& types);

/// Leaves the inputs out where info's generator and seed give exactly these. Fills rows and
/// input_hash itself.
void write_recording(const std::string& path, const RecordingInfo& info,
                     const Instruction& instruction, const Dots& dots);

/// The metadata, each key checked. Error with the file, what is wrong and what to do.
RecordingInfo read_recording_info(const std::string& path);

/// The rows, of the instruction that the metadata name. Inputs from a generator are made again, and
/// must have the hash.
Dots read_recording(const std::string& path, const Instruction& instruction);

}  // namespace binade
