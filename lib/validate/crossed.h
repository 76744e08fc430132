// SPDX-License-Identifier: Apache-2.0
//
// Tensor Core instructions at scale: a pool of every generator's rows, crossed in whole tiles on the
// device itself (lib/cases/crossing.h), so that billions of dots are compared in seconds.
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

/// The first dot of an instruction that differs, as a row of its own.
struct CrossedDifference {
  Dots row;  ///< one row; d is what the device gave for it alone
  std::uint64_t emulated = 0;
  CrossedRows rows;  ///< of the pool
};

/// One instruction over its pool.
struct CrossedCheck {
  Instruction instruction;
  std::string skipped = {};  ///< why nothing was compared; empty: it was
  CrossTally tally = {};
  std::optional<CrossedDifference> first = {};
};
using CrossedSink = std::function<void(const CrossedCheck& check)>;

struct CrossedWhat {
  std::uint64_t dots = std::uint64_t{1} << 20;  ///< at least, of all instructions together
  std::uint64_t seed = 1;
  std::string words = {};  ///< only instructions whose name has this in it; empty: all
};

/// Every instruction of the device's architecture, in every form. Gives the sums; Error where the
/// device compared other than it was asked to, or the architecture is unknown.
CrossTally check_crossed(Device& device, const CrossedWhat& what, const CrossedSink& sink);

}  // namespace binade
