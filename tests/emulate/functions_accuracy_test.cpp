// SPDX-License-Identifier: Apache-2.0
//
// The errors of the evaluations behind the rounded functions, against MPFR's values. Those in
// binary64 may be at most a quarter of the bound with which the rounding test works, those in
// double-double 2^-95, and for log around 1, where terms cancel, 2^-80. The rounded results would
// not show this: only one argument in 2^20 needs more than a double.
#include <doctest/doctest.h>
#include <mpfr.h>

#include <cmath>
#include <random>

#include "emulate/functions.h"

namespace binade::functions_accuracy_test {
namespace {

/// An MPFR number of 300 bits with its memory.
class Number {
 public:
  Number() { mpfr_init2(value_, 300); }
  ~Number() { mpfr_clear(value_); }
  Number(const Number&) = delete;
  Number& operator=(const Number&) = delete;
  mpfr_ptr get() { return value_; }

 private:
  mpfr_t value_;
};

using ByMpfr = int (*)(mpfr_ptr, mpfr_srcptr, mpfr_rnd_t);

/// Returns |high + low - f(x)| / |f(x)|.
double error_of(DoubleDouble y, ByMpfr f, double x) {
  Number argument, exact, difference;
  mpfr_set_d(argument.get(), x, MPFR_RNDN);
  f(exact.get(), argument.get(), MPFR_RNDN);
  mpfr_d_sub(difference.get(), y.high, exact.get(), MPFR_RNDN);
  mpfr_add_d(difference.get(), difference.get(), y.low, MPFR_RNDN);
  mpfr_div(difference.get(), difference.get(), exact.get(), MPFR_RNDN);
  return std::abs(mpfr_get_d(difference.get(), MPFR_RNDN));
}

/// The largest errors over floats of [low, high], half of them of all magnitudes.
struct Errors {
  double narrow = 0, wide = 0;
};
template <class Narrow, class Wide>
Errors errors_of(ByMpfr f, double low, double high, const Narrow& narrow, const Wide& wide) {
  std::mt19937 random(31);
  Errors out;
  for (int i = 0; i < 20000; ++i) {
    const double share = static_cast<double>(random()) * 0x1p-32;
    const double spread = low + (high - low) * share;
    const double scaled = std::ldexp(high, -static_cast<int>(40 * share)) * (0.5 + share / 2);
    const auto x = static_cast<double>(static_cast<float>(i % 2 == 0 ? spread : scaled));
    if (x <= low || x == 1) continue;
    const double y = narrow(x);
    out.narrow = std::max(out.narrow, error_of({y}, f, x));
    out.wide = std::max(out.wide, error_of(wide(x, y), f, x));
  }
  return out;
}

/// Checks that both errors are within their bounds, and not so small that nothing can have been
/// compared.
void check(const Errors& errors, double bound, double wide_bound = 0x1p-95) {
  CHECK(errors.narrow < bound / 4);
  CHECK(errors.narrow > 0x1p-56);
  CHECK(errors.wide < wide_bound);
  CHECK(errors.wide > 0x1p-120);
}

TEST_CASE("exp keeps its bounds") {
  const auto wide = [](double x, double) { return detail::wide_exp(x); };
  check(errors_of(&mpfr_exp, -104, 88.7, detail::narrow_exp, wide), detail::exp_bound);
}

TEST_CASE("log keeps its bounds, around 1 as well") {
  check(errors_of(&mpfr_log, 0, 0x1p127, detail::narrow_log, detail::wide_log), detail::log_bound);
  check(errors_of(&mpfr_log, 0, 0x1p-100, detail::narrow_log, detail::wide_log), detail::log_bound);
  check(errors_of(&mpfr_log, 0.4, 2.1, detail::narrow_log, detail::wide_log), detail::log_bound,
        0x1p-80);
  check(errors_of(&mpfr_log, 0.999, 1.001, detail::narrow_log, detail::wide_log), detail::log_bound,
        0x1p-80);
  for (const double x : {1 - 0x1p-24, 1 - 0x1p-23, 1 + 0x1p-23, 1 + 0x1p-22}) {
    const double y = detail::narrow_log(x);
    CHECK(error_of({y}, &mpfr_log, x) < detail::log_bound / 4);
    CHECK(error_of(detail::wide_log(x, y), &mpfr_log, x) < 0x1p-80);
  }
}

TEST_CASE("tanh keeps its bounds") {
  const auto wide = [](double x, double) { return detail::wide_tanh(x); };
  check(errors_of(&mpfr_tanh, 0, 10, detail::narrow_tanh, wide), detail::tanh_bound);
  check(errors_of(&mpfr_tanh, 0, 1, detail::narrow_tanh, wide), detail::tanh_bound);
}

TEST_CASE("erf keeps its bounds") {
  const auto wide = [](double x, double) { return detail::wide_erf(x); };
  check(errors_of(&mpfr_erf, 0, 3.999, detail::narrow_erf, wide), detail::erf_bound);
  check(errors_of(&mpfr_erf, 0, 0.5, detail::narrow_erf, wide), detail::erf_bound);
}

TEST_CASE("rsqrt keeps its bounds") {
  const auto narrow = detail::narrow_rsqrt;
  check(errors_of(&mpfr_rec_sqrt, 0, 0x1p127, narrow, detail::wide_rsqrt), detail::rsqrt_bound);
  check(errors_of(&mpfr_rec_sqrt, 0, 4, narrow, detail::wide_rsqrt), detail::rsqrt_bound);
}

}  // namespace
}  // namespace binade::functions_accuracy_test
