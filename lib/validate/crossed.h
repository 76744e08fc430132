// SPDX-License-Identifier: Apache-2.0
//
// Validates Tensor Core instructions at scale: the rows of every generator form a pool, and the
// device itself combines them into whole tiles (lib/cases/crossing.h), so that billions of dot
// products are compared in seconds.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "lib/cases/crossing.h"
#include "lib/cases/dots.h"
#include "lib/device/device.h"
#include "lib/validate/dots.h"

namespace binade {

/// The dot product of an instruction with the lowest number (CrossTally) that differs, as a row of
/// its own.
struct CrossedDifference {
  Dots row;  ///< one row; d is what the device gave for this row by itself
  std::uint64_t emulated = 0;
  CrossedRows rows;  ///< the rows of the pool that it is made of
};

/// What came out of one instruction and its pool.
struct CrossedCheck {
  Instruction instruction;
  std::string skipped = {};  ///< why nothing was compared; empty if it was
  CrossTally tally = {};
  std::optional<CrossedDifference> first = {};
};
using CrossedSink = std::function<void(const CrossedCheck& check)>;

struct CrossedWhat {
  /// Number of dot products of all instructions together, at least, if none is skipped.
  std::uint64_t dots = std::uint64_t{1} << 20;
  std::uint64_t seed = 1;
  std::string words = {};  ///< only instructions whose name contains this text; empty: all
};

/// Compares every instruction of the device's architecture whose name contains `words`, in every
/// form that instruction_forms() gives (lib/device/record_dots.h), and calls `sink` for each.
/// Returns the sums of `dots` and `different` over all of them, without `lowest`. Throws Error if
/// the device compared another number of dot products than it was given, if it cannot run the row
/// that differs by itself, if no name contains `words`, or if the architecture is unknown.
CrossTally check_crossed(Device& device, const CrossedWhat& what, const CrossedSink& sink);

}  // namespace binade
