// SPDX-License-Identifier: Apache-2.0
//
// A check of the oracle itself: rounding by GNU MPFR, with its exponent range narrowed to an IEEE
// format.
#pragma once

#include "tests/oracle/oracle.h"

namespace oracle {

struct MpfrResult {
  double value = 0;  ///< signed; the format must fit in binary64
  bool inexact = false;
};

/// Rounds a finite number to an IEEE format. `way` may be every Way except random.
MpfrResult round_by_mpfr(const Value& value, const Spec& spec, Way way);

}  // namespace oracle
