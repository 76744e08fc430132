// SPDX-License-Identifier: Apache-2.0
//
// Operands chosen because they hurt: the edges of a format against each other, ties and their
// neighbours, cancellation, results about the least normal number and the overflow threshold.
#pragma once

#include <functional>

#include "tests/oracle/mpfr/random_operands.h"

namespace mpfr_oracle {

using Sink = std::function<void(const Operands&)>;

void hurting_operands(const Function& function, Engine& engine, const Sink& sink);

}  // namespace mpfr_oracle
