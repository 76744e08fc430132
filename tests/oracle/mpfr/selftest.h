// SPDX-License-Identifier: Apache-2.0
//
// Known answers, worked out by hand, against which the program checks itself.
#pragma once

namespace mpfr_oracle {

// Prints the answers that differ to stderr, and returns their number.
int selftest();

}  // namespace mpfr_oracle
