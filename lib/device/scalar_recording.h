// SPDX-License-Identifier: Apache-2.0
//
// A recording of a scalar instruction: what it gave on one GPU, some cases kept and all of them
// hashed, in a .safetensors file.
//
//     d   (samples,)   unsigned integers of the result's width: of case sample_case(i), all lanes
//     __metadata__: gpu driver cuda ptx sass date instruction architecture
//              kind          scalar
//              cases         exhaustive, or seeded
//              seed          of seeded cases, and of the samples
//              samples       how many
//              hashed_cases  how many cases there were
//              hash          ScalarTally::hash of all
//
// The numbers of cases and samples mean what scalar_cases.h says: changing that makes recordings
// worthless, and its test holds hashes of its own that say so.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lib/cases/scalar_cases.h"
#include "lib/device/device.h"
#include "lib/device/recording_file.h"
#include "lib/device/scalar_tally.h"
#include "lib/instruction/scalar_instruction.h"

namespace binade {

struct ScalarRecording {
  RecordingOrigin origin;
  ScalarInstruction instruction;
  ScalarCases cases;
  std::uint64_t hash = 0;
  std::vector<std::uint64_t> d;

  /// The case that d[i] is the result of.
  std::uint64_t number_of(std::uint64_t i) const {
    return sample_case(instruction.operation, cases, d.size(), i);
  }
};

/// So few that all recordings of sm_90 stay below 15 MB: binade record --emulated sm_90 adds them up.
inline constexpr std::uint64_t default_samples = 1536;
inline constexpr std::uint64_t most_samples = std::uint64_t{1} << 20;
/// An approximation of at most so many cases keeps them all, for nothing else gives them back; but one
/// with .ftz differs from the one without in subnormal numbers only, and keeps samples.
inline constexpr std::uint64_t kept_cases = std::uint64_t{1} << 17;

/// Of the device that ran all cases into the tally: runs the samples again. The date is the caller's.
ScalarRecording record_scalar(Device& device, const ScalarInstruction& instruction,
                              const ScalarCases& cases, const ScalarTally& tally,
                              std::uint64_t samples = default_samples);

void write_scalar_recording(const std::string& path, const ScalarRecording& recording);

/// Whether the file says that it is one: its kind is scalar.
bool is_scalar_recording(const std::string& path);

/// Every key and tensor checked; where d holds all cases, the hash too.
ScalarRecording read_scalar_recording(const std::string& path);

}  // namespace binade
