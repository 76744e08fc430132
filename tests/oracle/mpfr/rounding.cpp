// SPDX-License-Identifier: Apache-2.0
//
// Rounding on a grid of numbers, and the results of a format when the rounded number is not one of
// its numbers.
#include "tests/oracle/mpfr/rounding.h"

#include <algorithm>
#include <stdexcept>

namespace mpfr_oracle {
namespace {

// The numbers of one precision with MPFR's exponents from `least` to `greatest`, subnormals
// included: the smallest positive one is 2^(least - 1).
struct Grid {
  mpfr_prec_t precision;
  mpfr_exp_t least;
  mpfr_exp_t greatest;
};

struct Direction {
  mpfr_rnd_t mpfr;
  bool derived;                           // MPFR's result needs a step away from zero in some cases
  bool positive_inward, negative_inward;  // overflow stops at the largest finite number
};

Direction direction_of(Rounding rounding) {
  switch (rounding) {
    case Rounding::near_even: return {MPFR_RNDN, false, false, false};
    case Rounding::min_mag: return {MPFR_RNDZ, false, true, true};
    case Rounding::min: return {MPFR_RNDD, false, true, false};
    case Rounding::max: return {MPFR_RNDU, false, false, true};
    case Rounding::near_max_mag: return {MPFR_RNDZ, true, false, false};
    case Rounding::odd: return {MPFR_RNDZ, true, true, true};
  }
  throw std::logic_error("no such rounding");
}

Grid unbounded_grid(const Format& format) {
  return {format.precision, mpfr_get_emin_min(), mpfr_get_emax_max()};
}

Grid grid_of(const Format& format) {
  return {format.precision, format.quantum_exponent() + 1, format.greatest_exponent() + 1};
}

// Returns the exponent of the distance between `value` and its neighbour away from zero.
mpfr_exp_t quantum_exponent(const Grid& grid, mpfr_srcptr value) {
  if (mpfr_zero_p(value) != 0) return grid.least - 1;
  return std::max(mpfr_get_exp(value) - grid.precision, grid.least - 1);
}

Number multiple_of_quantum(mpfr_exp_t quantum, double factor, mpfr_srcptr sign_of) {
  Number step(2, factor);
  mpfr_mul_2si(step.get(), step.get(), quantum, MPFR_RNDN);
  mpfr_setsign(step.get(), step.get(), mpfr_signbit(sign_of), MPFR_RNDN);
  return step;
}

bool last_bit_is_even(mpfr_srcptr value, mpfr_exp_t quantum) {
  Number units(mpfr_get_prec(value));
  mpfr_mul_2si(units.get(), value, -quantum - 1, MPFR_RNDN);
  return mpfr_integer_p(units.get()) != 0;
}

// Returns whether the exact result reaches the midpoint above `value`, which is its truncation. The
// midpoint has one bit more, so the truncation with one bit more decides.
bool reaches_midpoint(const Grid& grid, mpfr_srcptr value, mpfr_exp_t quantum, const Exact& exact) {
  Number midpoint(grid.precision + 1);
  const Number half = multiple_of_quantum(quantum, 0.5, value);
  if (mpfr_add(midpoint.get(), value, half.get(), MPFR_RNDN) != 0) {
    throw std::logic_error("a midpoint needs more than one further bit");
  }
  Number truncated(grid.precision + 1);
  exact(truncated.get(), MPFR_RNDZ);
  return mpfr_cmpabs(truncated.get(), midpoint.get()) >= 0;
}

// Rounds onto the grid; returns whether `value` differs from the exact result.
bool round_on(const Grid& grid, Rounding rounding, const Exact& exact, mpfr_ptr value) {
  const Direction direction = direction_of(rounding);
  int ternary = exact(value, direction.mpfr);
  {
    const ExponentRange range(grid.least, grid.greatest);
    ternary = mpfr_check_range(value, ternary, direction.mpfr);
    ternary = mpfr_subnormalize(value, ternary, direction.mpfr);
  }
  if (ternary == 0 || !direction.derived) return ternary != 0;
  const mpfr_exp_t quantum = quantum_exponent(grid, value);
  const bool away = rounding == Rounding::odd ? last_bit_is_even(value, quantum)
                                              : reaches_midpoint(grid, value, quantum, exact);
  if (away) {
    const Number step = multiple_of_quantum(quantum, 1, value);
    mpfr_add(value, value, step.get(), MPFR_RNDN);
  }
  return true;
}

bool below_normal(const Format& format, mpfr_srcptr value) {
  return mpfr_get_exp(value) - 1 < format.least_exponent();
}

bool is_tiny(const Format& format, const Environment& environment, const Exact& exact,
             mpfr_srcptr unbounded) {
  if (!environment.tiny_before) return below_normal(format, unbounded);
  Number truncated(format.precision);
  exact(truncated.get(), MPFR_RNDZ);
  return below_normal(format, truncated.get());
}

std::uint64_t sign_and(const Format& format, bool negative, std::uint64_t magnitude) {
  return ((negative ? format.sign_bit() : 0) | magnitude) << format.shift;
}

std::uint64_t infinite_result(const Format& format, bool negative, bool saturate) {
  const bool finite = saturate || format.specials == Specials::none;
  if (finite) return sign_and(format, negative, format.largest_finite());
  if (format.has_infinity()) return sign_and(format, negative, format.infinity());
  return format.nan() << format.shift;
}

std::uint64_t overflow_result(const Format& format, const Environment& environment, bool negative) {
  const Direction direction = direction_of(environment.rounding);
  const bool inward = negative ? direction.negative_inward : direction.positive_inward;
  return infinite_result(format, negative, inward || environment.saturate);
}

// Where a format overflows like those of IEEE 754, checks the overflow against MPFR's own flag.
void check_against_mpfr(const Format& format, const Environment& environment, bool overflow,
                        const Outcome& outcome, mpfr_srcptr bounded) {
  const bool mpfr_knows =
      format.has_infinity() && !environment.saturate && !direction_of(environment.rounding).derived;
  if (mpfr_knows && overflow && encode(format, bounded) != outcome.bits) {
    throw std::logic_error("MPFR overflows to another number");
  }
}

Outcome deliver_finite(const Format& format, const Environment& environment, const Exact& exact,
                       mpfr_srcptr unbounded) {
  const bool overflow = mpfr_cmpabs(unbounded, largest_finite(format).get()) > 0;
  const bool negative = mpfr_signbit(unbounded) != 0;
  Number bounded(format.precision);
  const bool inexact = round_on(grid_of(format), environment.rounding, exact, bounded.get());
  Outcome outcome;
  if (overflow) {
    outcome = {overflow_result(format, environment, negative), flag_overflow | flag_inexact};
  } else {
    const bool underflow = inexact && is_tiny(format, environment, exact, unbounded);
    outcome = {encode(format, bounded.get()),
               (inexact ? flag_inexact : 0) | (underflow ? flag_underflow : 0)};
  }
  check_against_mpfr(format, environment, overflow, outcome, bounded.get());
  return outcome;
}

using ToInteger = int (*)(mpfr_ptr, mpfr_srcptr);

constexpr ToInteger to_integer[] = {mpfr_roundeven, mpfr_trunc, mpfr_floor,
                                    mpfr_ceil,      mpfr_round, mpfr_trunc};

}  // namespace

Outcome deliver(const Format& format, const Environment& environment, const Exact& exact) {
  Number unbounded(format.precision);
  mpfr_clear_flags();
  round_on(unbounded_grid(format), environment.rounding, exact, unbounded.get());
  const int divide_by_zero = mpfr_divby0_p() != 0 ? flag_divide_by_zero : 0;
  mpfr_srcptr value = unbounded.get();
  if (mpfr_nan_p(value) != 0) return deliver_nan(format, true);
  if (mpfr_zero_p(value) != 0) return {encode(format, value), 0};
  if (mpfr_inf_p(value) != 0) {
    return {infinite_result(format, mpfr_signbit(value) != 0, environment.saturate),
            divide_by_zero};
  }
  return deliver_finite(format, environment, exact, value);
}

Outcome deliver_nan(const Format& format, bool invalid) {
  return {format.nan() << format.shift, invalid || !format.has_nan() ? flag_invalid : 0};
}

bool round_to_integer(Rounding rounding, mpfr_srcptr exact, mpfr_ptr value) {
  to_integer[static_cast<std::size_t>(rounding)](value, exact);
  if (mpfr_equal_p(value, exact) != 0) return false;
  if (rounding == Rounding::odd && last_bit_is_even(value, 0)) {
    const Number step = multiple_of_quantum(0, 1, value);
    mpfr_add(value, value, step.get(), MPFR_RNDN);
  }
  return true;
}

}  // namespace mpfr_oracle
