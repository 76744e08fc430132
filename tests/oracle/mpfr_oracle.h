// SPDX-License-Identifier: Apache-2.0
//
// A second opinion for the oracle itself: GNU MPFR with its exponent range narrowed to an IEEE format.
#pragma once

#include "tests/oracle/oracle.h"

namespace oracle {

struct MpfrResult {
  double value = 0;  ///< signed; the format must fit in binary64
  bool inexact = false;
};

/// Rounds a finite number to an IEEE format; every Way but random.
MpfrResult round_by_mpfr(const Value& value, const Spec& spec, Way way);

}  // namespace oracle
