// SPDX-License-Identifier: Apache-2.0
//
// A recording of a scalar instruction: a .safetensors file with the results of some cases on one
// GPU, and a hash of the results of all cases.
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
// scalar_cases.h says which operands case n and sample i have. Changing that makes all recordings
// worthless; its test holds hashes that would notice.
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

  /// Returns the number of the case whose result is d[i].
  std::uint64_t number_of(std::uint64_t i) const {
    return sample_case(instruction.operation, cases, d.size(), i);
  }
};

/// The number of samples of a recording, with which all recordings of sm_90 stay below 15 MB
/// (binade record --emulated sm_90 prints the sum).
inline constexpr std::uint64_t default_samples = 1536;
/// The largest number of samples of a recording.
inline constexpr std::uint64_t most_samples = std::uint64_t{1} << 20;
/// An approximation with at most this many cases keeps the results of all, since no emulation could
/// compute them again. One with .ftz keeps samples, since it differs from the one without in
/// subnormal numbers only.
inline constexpr std::uint64_t kept_cases = std::uint64_t{1} << 17;

/// Returns the recording of an instruction on a device before it has run: without hash and results,
/// with zeros in d. The caller sets the date. Throws Error if `samples` is 0 or above most_samples.
ScalarRecording unrecorded_scalar(const DeviceInfo& device, const ScalarInstruction& instruction,
                                  const ScalarCases& cases, std::uint64_t samples);

/// Returns the recording of an instruction on a device that has run all cases into `tally`. The
/// samples are run again. The caller sets the date. Throws Error if `samples` is 0 or above
/// most_samples, if the tally has not all cases, or if the device cannot run the instruction.
ScalarRecording record_scalar(Device& device, const ScalarInstruction& instruction,
                              const ScalarCases& cases, const ScalarTally& tally,
                              std::uint64_t samples = default_samples);

void write_scalar_recording(const std::string& path, const ScalarRecording& recording);

/// Returns whether the file's metadata say that it is a scalar recording.
bool is_scalar_recording(const std::string& path);

/// Reads a recording. Throws Error if a key or the tensor is not what it must be, or if d holds the
/// results of all cases and these do not have the recorded hash.
ScalarRecording read_scalar_recording(const std::string& path);

}  // namespace binade
