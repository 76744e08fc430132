// SPDX-License-Identifier: Apache-2.0
//
// Compares scalar instructions of a device with the emulator, case by case, and recordings of them
// without the device.
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
  std::uint64_t number = 0;  ///< number of the case
  ScalarOperands operands{};
  std::uint64_t hardware = 0, emulated = 0;
};

struct ScalarCheck {
  ScalarInstruction instruction;
  std::string skipped = {};  ///< why nothing was run; empty if it was
  ScalarCases cases = {};
  ScalarTally tally = {};
  /// The mismatches with the lowest case numbers, then the NaN differences with the lowest ones; at
  /// most `keep` of each.
  std::vector<ScalarDifference> first = {};

  /// Returns whether results were compared. Approximate instructions are run and hashed, but the
  /// emulator has nothing to compare them with.
  bool was_compared() const { return tally.cases > 0 && instruction.is_emulated(); }
  bool differs() const { return tally.mismatches + tally.nan_differences > 0; }
};

/// Returns whether at least one instruction was compared, and no bit differs that an instruction
/// defines.
bool all_equal(std::span<const ScalarCheck> checks);

/// Returns the instructions whose name contains one of the words; all if there are no words. Throws
/// Error if a word occurs in no name.
std::vector<ScalarInstruction> scalar_instructions_with(std::span<const std::string> words);

/// Returns how many cases are run of an instruction that has too many for running all: 10^10 of
/// add, sub, mul and fma to nearest without .sat and .relu, 10^9 of the others.
std::uint64_t default_cases(const ScalarOperation& x);

struct ScalarOptions {
  /// At most so many cases of each instruction; empty: all, or default_cases.
  std::optional<std::uint64_t> cases = {};
  std::uint64_t seed = 1;
  std::uint64_t slice = std::uint64_t{1} << 28;  ///< cases of one launch; a multiple of 32
  std::size_t keep = 8;                          ///< differences of each kind that are listed
};

/// Returns the cases of an instruction that are run with these options.
ScalarCases cases_to_check(const ScalarInstruction& instruction, const ScalarOptions& options);

/// Called after each slice with the part of the instruction's cases that is done, above 0 and at
/// most 1.
using CheckProgress = std::function<void(std::string_view instruction, double fraction)>;

/// Runs the cases of an instruction on a device and compares them. Throws Error if options.cases is
/// 0, if the slice is no positive multiple of 32, or if the device ran another number of cases than
/// it was given.
ScalarCheck check_scalar(Device& device, const ScalarInstruction& instruction,
                         const ScalarOptions& options, const CheckProgress& progress);

/// Compares the samples of a recording, and keeps at most `keep` differences of each kind;
/// tally.cases is the number of samples, and case numbers are those of the recorded run.
ScalarCheck check_recording(const ScalarRecording& recording, std::size_t keep);

/// Returns whether the emulator gives the hash of all cases of the recorded run, which takes
/// minutes for 2^32 of them. Throws Error if the emulator cannot run the instruction.
bool has_emulated_hash(const ScalarRecording& recording);

}  // namespace binade
