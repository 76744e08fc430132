// SPDX-License-Identifier: Apache-2.0
//
// MPFR holds 0.1xxx 2^E with emin <= E <= emax, so its bounds are those of 1.xxx 2^e plus one, and
// the lowest subnormal bit is 2^(emin - 1). MPFR rounds neither ties away with subnormals nor to
// odd; these results are chosen from its two directed ones.
#include "tests/oracle/mpfr_oracle.h"

#include <mpfr.h>

namespace oracle {
namespace {

class Number {
 public:
  explicit Number(int precision) { mpfr_init2(x_, precision); }
  ~Number() { mpfr_clear(x_); }
  Number(const Number&) = delete;
  Number& operator=(const Number&) = delete;
  // NOLINTNEXTLINE(google-explicit-constructor): stands in for mpfr_t in MPFR's calls
  operator mpfr_ptr() { return x_; }

 private:
  mpfr_t x_;
};

constexpr int wide = 400;

void set(mpfr_ptr out, const Value& value) {
  mpfr_set_ui(out, 0, MPFR_RNDN);
  for (const std::uint64_t word : {value.high, value.low, value.rest}) {
    mpfr_mul_2ui(out, out, 64, MPFR_RNDN);
    mpfr_add_ui(out, out, word, MPFR_RNDN);
  }
  mpfr_mul_2si(out, out, value.exponent - 64, MPFR_RNDN);
  if (value.negative) mpfr_neg(out, out, MPFR_RNDN);
}

bool narrow(mpfr_ptr out, mpfr_srcptr x, const Spec& spec, mpfr_rnd_t mode) {
  const mpfr_exp_t emin = mpfr_get_emin();
  const mpfr_exp_t emax = mpfr_get_emax();
  int ternary = mpfr_set(out, x, mode);
  mpfr_set_emin(1 - spec.bias - spec.precision + 2);
  mpfr_set_emax(spec.bias + 1);
  ternary = mpfr_check_range(out, ternary, mode);
  ternary = mpfr_subnormalize(out, ternary, mode);
  mpfr_set_emin(emin);
  mpfr_set_emax(emax);
  return ternary != 0;
}

/// Returns whether the last significand bit of a finite number is odd, on the grid of the format.
bool is_odd(mpfr_srcptr x, const Spec& spec) {
  if (mpfr_zero_p(x)) return false;
  const mpfr_exp_t emin = 1 - spec.bias;
  const mpfr_exp_t e = mpfr_get_exp(x) - 1 < emin ? emin : mpfr_get_exp(x) - 1;
  Number scaled(wide);
  mpfr_mul_2si(scaled, x, spec.precision - 1 - e, MPFR_RNDN);
  return mpfr_get_si(scaled, MPFR_RNDN) % 2 != 0;
}

}  // namespace

MpfrResult round_by_mpfr(const Value& value, const Spec& spec, Way way) {
  Number x(wide), out(spec.precision), low(spec.precision), high(spec.precision);
  set(x, value);
  bool inexact = false;
  switch (way) {
    case Way::nearest_even: inexact = narrow(out, x, spec, MPFR_RNDN); break;
    case Way::to_zero: inexact = narrow(out, x, spec, MPFR_RNDZ); break;
    case Way::up: inexact = narrow(out, x, spec, MPFR_RNDU); break;
    case Way::down: inexact = narrow(out, x, spec, MPFR_RNDD); break;
    case Way::odd: {
      inexact = narrow(low, x, spec, MPFR_RNDZ);
      narrow(high, x, spec, MPFR_RNDA);
      const bool keep = !inexact || is_odd(low, spec) || mpfr_inf_p(high);
      mpfr_set(out, keep ? low : high, MPFR_RNDN);
      break;
    }
    case Way::nearest_away:
    case Way::nearest_zero: {
      inexact = narrow(low, x, spec, MPFR_RNDZ);
      narrow(high, x, spec, MPFR_RNDA);
      if (mpfr_inf_p(high)) {  // 7.4 counts distance as if the next number were there
        mpfr_set_ui_2exp(high, 1, spec.bias + 1, MPFR_RNDN);
        mpfr_setsign(high, high, value.negative, MPFR_RNDN);
      }
      Number to_low(wide), to_high(wide);
      mpfr_sub(to_low, x, low, MPFR_RNDN);
      mpfr_sub(to_high, high, x, MPFR_RNDN);
      const int side = mpfr_cmpabs(to_low, to_high);
      const bool away =
          side > 0 || (side == 0 && way == Way::nearest_away) || mpfr_cmpabs(x, high) >= 0;
      mpfr_set(out, inexact && away ? high : low, MPFR_RNDN);
      if (mpfr_get_exp(out) > spec.bias + 1) mpfr_set_inf(out, value.negative ? -1 : 1);
      break;
    }
    case Way::random: break;
  }
  return {mpfr_get_d(out, MPFR_RNDN), inexact};
}

}  // namespace oracle
