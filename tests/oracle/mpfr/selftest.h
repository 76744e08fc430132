// SPDX-License-Identifier: Apache-2.0
//
// Known answers, worked out by hand, that the program checks itself against.
#pragma once

namespace mpfr_oracle {

// Prints what differs to stderr; returns how many did.
int selftest();

}  // namespace mpfr_oracle
