// SPDX-License-Identifier: Apache-2.0
//
// A mismatch, told: the operands' values, the exact result, how it rounds, and what either side says.
#pragma once

#include <string>

#include "lib/testfloat/test_stream.h"

namespace binade {

/// A few aligned lines; ends with a newline.
std::string explained(const Mismatch& mismatch, const TestFunction& function,
                      const TestSettings& settings, const Comparing& comparing);

}  // namespace binade
