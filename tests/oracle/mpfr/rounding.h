// SPDX-License-Identifier: Apache-2.0
//
// One rounding of an exact result into a format, with IEEE 754's flags: MPFR rounds, first with an
// unbounded exponent and then in the format's own range; ties away and round to odd are derived
// from its rounding toward zero.
#pragma once

#include <cstdint>
#include <functional>

#include "tests/oracle/mpfr/format.h"

namespace mpfr_oracle {

enum class Rounding { near_even, min_mag, min, max, near_max_mag, odd };

struct Environment {
  Rounding rounding = Rounding::near_even;
  bool tiny_before = false;  // tininess detected before rounding
  bool exact = false;        // rounding to an integer raises inexact
  bool saturate = false;     // infinite results become the largest finite
};

constexpr int flag_inexact = 1;
constexpr int flag_underflow = 2;
constexpr int flag_overflow = 4;
constexpr int flag_divide_by_zero = 8;
constexpr int flag_invalid = 16;

struct Outcome {
  std::uint64_t bits = 0;
  int flags = 0;
};

// Sets its first argument to the exact result rounded to that argument's precision in an MPFR
// direction, and returns MPFR's ternary value: the sign of rounded minus exact.
using Exact = std::function<int(mpfr_ptr, mpfr_rnd_t)>;

// Returns the exact result, which may be infinite or NaN, rounded to `format`, with its flags.
Outcome deliver(const Format& format, const Environment& environment, const Exact& exact);

// Returns the result NaN in `format`, with its flags.
Outcome deliver_nan(const Format& format, bool invalid);

// Sets `value`, whose precision must suffice, to `exact` rounded to an integer. Returns whether
// they differ.
bool round_to_integer(Rounding rounding, mpfr_srcptr exact, mpfr_ptr value);

}  // namespace mpfr_oracle
