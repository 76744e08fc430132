// SPDX-License-Identifier: Apache-2.0
//
// Operands whose results are hard to round: the edges of a format combined with each other, ties
// and their neighbours, cancellation, results near the least normal number and the overflow
// threshold.
#pragma once

#include <functional>

#include "tests/oracle/mpfr/random_operands.h"

namespace mpfr_oracle {

using Sink = std::function<void(const Operands&)>;

// Calls `sink` for each of the function's hard operands.
void hurting_operands(const Function& function, Engine& engine, const Sink& sink);

}  // namespace mpfr_oracle
