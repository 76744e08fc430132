// SPDX-License-Identifier: Apache-2.0
//
// Which settings can change a case of a function at all, for some operands: it is told from where
// the exact results of the function lie, before they are rounded, and what the format of the result
// holds.
#pragma once

#include <vector>

#include "lib/testfloat/test_function.h"
#include "lib/text/idle_option.h"

namespace binade {

/// Returns the options of the settings, each with whether it was given, not with its default, and
/// changes neither a result nor a flag of any case. --rounding is idle only if no direction changes
/// one, so that all can be tried in turn; and
/// --saturation finite is taken of formats that have no other end, as FP6 and FP4. The function
/// must not be a PTX instruction.
std::vector<IdleOption> idle_settings(const TestFunction& function, const TestSettings& settings);

}  // namespace binade
