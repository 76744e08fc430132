// SPDX-License-Identifier: Apache-2.0
//
// A generator's rows on a device: all at once, or in chains, where c of a row is what the device gave
// for the row before.
#pragma once

#include <cstdint>

#include "lib/record/device.h"
#include "lib/record/dot_cases.h"

namespace binade {

/// Fills d, and c of the rows that continue a chain. Row 0 is the generator's first.
CannotRun run_rows(Device& device, const DotGenerator& generator, const Instruction& instruction,
                   Dots& dots);

}  // namespace binade
