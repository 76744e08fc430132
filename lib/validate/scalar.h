// SPDX-License-Identifier: Apache-2.0
//
// Scalar instructions of a device held against the emulator, case by case, and recordings of them
// likewise without the device.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lib/cases/scalar_cases.h"
#include "lib/device/device.h"
#include "lib/device/scalar_recording.h"
#include "lib/device/scalar_tally.h"

namespace binade {

/// One case whose two results differ.
struct ScalarDifference {
  std::uint64_t number = 0;
  ScalarOperands operands{};
  std::uint64_t hardware = 0, emulated = 0;
};

struct ScalarCheck {
  ScalarInstruction instruction;
  std::string skipped = {};  ///< why nothing was run; empty: it was
  ScalarCases cases = {};
  ScalarTally tally = {};
  std::vector<ScalarDifference> first = {};  ///< the lowest mismatches, then NaN differences

  /// Approximations are run and hashed, but there is nothing to compare them with.
  bool was_compared() const { return tally.cases > 0 && instruction.is_emulated(); }
  bool differs() const { return tally.mismatches + tally.nan_differences > 0; }
};

/// Compared at least one instruction, and no bit differs that an instruction defines.
bool all_equal(std::span<const ScalarCheck> checks);

/// Those in whose names one of the words stands; without words all. Error if a word stands in none.
std::vector<ScalarInstruction> scalar_instructions_with(std::span<const std::string> words);

/// How many cases an instruction has that cannot be run on all of them: 10^10 of add, sub, mul and
/// fma to nearest without .sat and .relu, 10^9 of the others.
std::uint64_t default_cases(const ScalarOperation& x);

struct ScalarOptions {
  std::optional<std::uint64_t> cases = {};  ///< at most, of each; without: all or default_cases
  std::uint64_t seed = 1;
  std::uint64_t slice = std::uint64_t{1} << 28;  ///< cases of a launch, a multiple of 32
  std::size_t keep = 8;                          ///< listed differences of each kind
};

/// `fraction` of the instruction's cases is done.
using CheckProgress = std::function<void(std::string_view instruction, double fraction)>;

ScalarCheck check_scalar(Device& device, const ScalarInstruction& instruction,
                         const ScalarOptions& options, const CheckProgress& progress);

/// The samples of a recording; tally.cases is their number, and its case numbers are theirs.
ScalarCheck check_recording(const ScalarRecording& recording, std::size_t keep);

/// Whether the emulator gives the hash of all recorded cases: minutes for 2^32 of them.
bool has_emulated_hash(const ScalarRecording& recording);

}  // namespace binade
