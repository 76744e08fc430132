// SPDX-License-Identifier: Apache-2.0
//
// An owned MPFR number of a given precision, and a guard that narrows MPFR's exponent range. MPFR
// writes a number as a significand in [1/2, 1) times a power of two, so its exponents are one above
// IEEE 754's.
#pragma once

#include <cstdint>

#include <mpfr.h>  // after <cstdint>, which brings its intmax_t functions

namespace mpfr_oracle {

class Number {
 public:
  explicit Number(mpfr_prec_t precision) { mpfr_init2(value_, precision); }
  Number(mpfr_prec_t precision, double value) : Number(precision) {
    mpfr_set_d(value_, value, MPFR_RNDN);
  }
  Number(const Number& other) : Number(mpfr_get_prec(other.value_)) {
    mpfr_set(value_, other.value_, MPFR_RNDN);
  }
  Number& operator=(const Number& other) {
    if (this != &other) {
      mpfr_set_prec(value_, mpfr_get_prec(other.value_));
      mpfr_set(value_, other.value_, MPFR_RNDN);
    }
    return *this;
  }
  ~Number() { mpfr_clear(value_); }

  mpfr_ptr get() { return value_; }
  mpfr_srcptr get() const { return value_; }

 private:
  mpfr_t value_;
};

class ExponentRange {
 public:
  ExponentRange(mpfr_exp_t least, mpfr_exp_t greatest)
      : old_least_(mpfr_get_emin()), old_greatest_(mpfr_get_emax()) {
    mpfr_set_emin(least);
    mpfr_set_emax(greatest);
  }
  ~ExponentRange() {
    mpfr_set_emin(old_least_);
    mpfr_set_emax(old_greatest_);
  }
  ExponentRange(const ExponentRange&) = delete;
  ExponentRange& operator=(const ExponentRange&) = delete;

 private:
  mpfr_exp_t old_least_;
  mpfr_exp_t old_greatest_;
};

}  // namespace mpfr_oracle
