// SPDX-License-Identifier: Apache-2.0
//
// Describes a mismatch of a test stream: the operands' values, the exact result, how it rounds, and
// both results.
#pragma once

#include <string>

#include "lib/testfloat/test_stream.h"

namespace binade {

/// Returns a few aligned lines that end with a newline.
std::string explained(const Mismatch& mismatch, const TestFunction& function,
                      const TestSettings& settings, const Comparing& comparing);

}  // namespace binade
