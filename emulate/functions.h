// SPDX-License-Identifier: Apache-2.0
//
// exp, log, tanh, erf and 1/sqrt of binary32, correctly rounded, ties to even, for all 2^32
// arguments. There is one implementation for the host and the device, so that both give the same
// bits.
//
// Each function is evaluated in binary64 as y, with a relative error below a bound. Ziv's test (ACM
// TOMS 17, 1991) follows: if y·(1 - bound) and y·(1 + bound) round to the same float, then so does
// everything between them, the exact value too, since rounding is monotone. Otherwise
// refined_functions.h decides. Each bound is more than twice the truncation and rounding errors of
// y that are derived beside it, and more than four times the errors that random arguments show
// (tests/emulate/functions_accuracy_test.cpp). That leaves room for the roundings of Ziv's test.
//
//     two floats      f --------------------- | --------------------- f'     | the midpoint
//     decided                  [----y----]                                   both ends round to f
//     undecided                            [----y----]                       f or f'
//
// Special arguments follow IEEE 754-2019 9.2: exp(-Inf) = +0; log(±0) = -Inf; rsqrt(±0) = ±Inf and
// rsqrt(+Inf) = +0; tanh and erf keep ±0. Every NaN result is the positive quiet NaN 0x7FC00000,
// whatever the argument's payload (NanResult::quiet). No flags are returned.
#pragma once

#include <limits>

#include "emulate/format.h"
#include "emulate/refined_functions.h"

namespace binade {
namespace detail {

inline constexpr float float_infinity = std::numeric_limits<float>::infinity();

constexpr float quiet_nan() { return std::bit_cast<float>(std::uint32_t{0x7FC00000}); }

/// Ziv's test: returns whether all values with a relative distance from y up to the bound round to
/// the same float.
constexpr bool is_decided(double y, double bound) {
  return static_cast<float>(y - y * bound) == static_cast<float>(y + y * bound);
}

/// Returns Σ c[n]·x^n by two Horner chains, one over the even powers and one over the odd powers,
/// which a processor can compute at the same time.
template <int size>
constexpr double polynomial(const double (&c)[size], double x) {
  static_assert(size % 2 == 0);
  const double square = x * x;
  double even = c[size - 2];
  double odd = c[size - 1];
  for (int n = size - 4; n >= 0; n -= 2) {
    even = even * square + c[n];
    odd = odd * square + c[n + 1];
  }
  return even + odd * x;
}

/// The parts of e^x = 2^k·(1 + minus_one).
struct NarrowExpParts {
  int k = 0;
  double minus_one = 0;
};

/// Returns the parts of e^x for |x| < 128, where r = x - k·ln 2 has an error below 2^-53. Twelve
/// terms of the series of (e^r - 1)/r, |r| <= ln(2)/2, leave out less than 2^-50.
constexpr NarrowExpParts narrow_exp_parts(double x) {
  constexpr LogTwo ln2;
  constexpr double c[12]{1.0,          1.0 / 2,       1.0 / 6,        1.0 / 24,
                         1.0 / 120,    1.0 / 720,     1.0 / 5040,     1.0 / 40320,
                         1.0 / 362880, 1.0 / 3628800, 1.0 / 39916800, 1.0 / 479001600};
  const double k = nearest_integer(x * log_2e);
  const double r = (x - k * ln2.high) - k * ln2.middle;
  return {static_cast<int>(k), r * polynomial(c, r)};
}

/// The truncation error of narrow_exp is 2^-50 of e^r - 1, which is 2^-51 of e^x; its rounding
/// errors sum to 2^-51.
inline constexpr double exp_bound = 0x1p-48;
/// Returns e^x for |x| < 128, with a relative error below exp_bound.
constexpr double narrow_exp(double x) {
  const NarrowExpParts e = narrow_exp_parts(x);
  const double scale = power_of_two(e.k);
  return scale + scale * e.minus_one;
}

/// narrow_log splits x = 2^k·m with sqrt(1/2) <= m < sqrt(2). With s = (m - 1)/(m + 1), log m is
/// 2·atanh(s), whose series leaves out less than 2^-54 after ten terms, since s² < 0.0295. Rounding
/// errors sum to 2^-51, and to twice that where the terms cancel (k = -1).
///
///     x = 6         4018000000000000     bits of binary64
///     sqrt(1/2)     3FE6A09E667F3BCD
///     difference    00315F619980C433     >> 52 is k = 3, so m = 6/8
inline constexpr double log_bound = 0x1p-48;
/// Returns log x for a normal double x > 0 (every positive float is one), with a relative error
/// below log_bound.
constexpr double narrow_log(double x) {
  constexpr LogTwo ln2;
  constexpr double c[10]{2.0,      2.0 / 3,  2.0 / 5,  2.0 / 7,  2.0 / 9,
                         2.0 / 11, 2.0 / 13, 2.0 / 15, 2.0 / 17, 2.0 / 19};
  constexpr std::uint64_t root_half = 0x3FE6A09E667F3BCD;
  const auto bits = std::bit_cast<std::uint64_t>(x);
  const std::int64_t exponent = static_cast<std::int64_t>(bits - root_half) >> 52;
  const double m = std::bit_cast<double>(bits - (static_cast<std::uint64_t>(exponent) << 52));
  const double s = (m - 1) / (m + 1);
  const auto k = static_cast<double>(exponent);
  return k * ln2.high + (k * ln2.middle + s * polynomial(c, s * s));
}

/// tanh x = E/(E + 2) with E = e^(2x) - 1 = 2^k·minus_one + (2^k - 1). Where these two terms
/// cancel, the error is at most 3.5 times that of e^(2x).
inline constexpr double tanh_bound = 0x1p-47;
/// Returns tanh x for a normal double x (every positive float is one), 0 < x <= 10, with a relative
/// error below tanh_bound.
constexpr double narrow_tanh(double x) {
  const NarrowExpParts e = narrow_exp_parts(2 * x);
  const double scale = power_of_two(e.k);
  const double minus_one = scale * e.minus_one + (scale - 1);
  return minus_one / (minus_one + 2);
}

/// erf at the centres j/4, 0 <= j <= 16, and the coefficients of h to h^12 of Taylor's series
/// there.
struct ErfPolynomials {
  double value[17];
  double c[17][12];
};

/// Returns the table. The coefficients follow from the derivative g by (n + 1)·g_{n+1} =
/// -2·(j/4·g_n + g_{n-1}), since g' = -2·x·g (refined_functions.h).
constexpr ErfPolynomials erf_polynomials() {
  ErfPolynomials out{};
  for (int j = 0; j < 17; ++j) {
    out.value[j] = erf_centres().rows[j].value.high;
    double before = 0;
    double g = erf_centres().rows[j].slope.high;
    for (int n = 0; n < 12; ++n) {
      out.c[j][n] = g / (n + 1);
      const double next = -2 * (0.25 * j * g + before) / (n + 1);
      before = g;
      g = next;
    }
  }
  return out;
}

BINADE_CONSTANT ErfPolynomials erf_table = erf_polynomials();

/// narrow_erf sums Taylor's series around the nearest c = j/4, so |h| <= 1/8. Its 13th term is
/// below 2/sqrt(π)·1.09·sqrt(2^12·12!)/13!/8^13 < 2^-50 (Cramér's bound of Hermite functions), and
/// erf(1/8) > 2^-3. Around c = 0 the series is odd, and the relative error is as small.
inline constexpr double erf_bound = 0x1p-46;
/// Returns erf x for a normal double x (every positive float is one), 0 < x < 4, with a relative
/// error below erf_bound.
constexpr double narrow_erf(double x) {
  const double j = nearest_integer(4 * x);
  const double h = x - j / 4;
  const int row = static_cast<int>(j);
  return erf_table.value[row] + h * polynomial(erf_table.c[row], h);
}

/// narrow_rsqrt begins with a guess that halves and negates the exponent by integer arithmetic,
/// with an error of 2^-4.8. With e = 1 - x·y², two steps of third order (errors 2^-13, 2^-38) and
/// one step of second order (Newton's) follow. Rounding errors sum to 2^-52.
inline constexpr double rsqrt_bound = 0x1p-49;
/// Returns 1/sqrt(x) for a normal double x > 0 (every positive float is one), with a relative error
/// below rsqrt_bound.
constexpr double narrow_rsqrt(double x) {
  double y = std::bit_cast<double>(0x5FE6EB50C7B537A9 - (std::bit_cast<std::uint64_t>(x) >> 1));
  for (int i = 0; i < 2; ++i) {
    const double e = 1 - x * y * y;
    y += y * e * (0.5 + 0.375 * e);
  }
  return y + 0.5 * y * (1 - x * y * y);
}

}  // namespace detail

/// Returns e^x: Inf above the range, +0 below it.
constexpr float rounded_exp(float x) {
  if (x != x) return detail::quiet_nan();
  if (x > 0x1.62e42ep6F) return detail::float_infinity;  // overflow, from 88.7228394 on
  if (x < -104) return 0;                                // e^x is below 2^-150
  const double y = detail::narrow_exp(x);
  return detail::is_decided(y, detail::exp_bound) ? static_cast<float>(y)
                                                  : rounded_to_float(detail::wide_exp(x));
}

/// Returns the natural logarithm: -Inf of ±0, NaN of a negative number.
constexpr float rounded_log(float x) {
  if (x == 0) return -detail::float_infinity;
  if (!(x > 0)) return detail::quiet_nan();
  if (x == detail::float_infinity) return x;
  const double y = detail::narrow_log(x);
  return detail::is_decided(y, detail::log_bound) ? static_cast<float>(y)
                                                  : rounded_to_float(detail::wide_log(x, y));
}

/// Returns the hyperbolic tangent.
constexpr float rounded_tanh(float x) {
  if (x != x) return detail::quiet_nan();
  if (x == 0) return x;
  const double magnitude = x < 0 ? -x : x;
  if (magnitude > 10) return x < 0 ? -1.0F : 1.0F;  // beyond 1 - 2^-27
  const double y = detail::narrow_tanh(magnitude);
  const float rounded = detail::is_decided(y, detail::tanh_bound)
                            ? static_cast<float>(y)
                            : rounded_to_float(detail::wide_tanh(magnitude));
  return x < 0 ? -rounded : rounded;
}

/// Returns the error function 2/sqrt(π)·∫ e^(-t²) dt from 0 to x.
constexpr float rounded_erf(float x) {
  if (x != x) return detail::quiet_nan();
  if (x == 0) return x;
  const double magnitude = x < 0 ? -x : x;
  if (magnitude >= 4) return x < 0 ? -1.0F : 1.0F;  // beyond 1 - 2^-25.9
  const double y = detail::narrow_erf(magnitude);
  const float rounded = detail::is_decided(y, detail::erf_bound)
                            ? static_cast<float>(y)
                            : rounded_to_float(detail::wide_erf(magnitude));
  return x < 0 ? -rounded : rounded;
}

/// Returns 1/sqrt(x): ±Inf of ±0, NaN of a negative number.
constexpr float rounded_rsqrt(float x) {
  if (x == 0) {
    const bool negative = std::bit_cast<std::uint32_t>(x) != 0;
    return negative ? -detail::float_infinity : detail::float_infinity;
  }
  if (!(x > 0)) return detail::quiet_nan();
  if (x == detail::float_infinity) return 0;
  const double y = detail::narrow_rsqrt(x);
  return detail::is_decided(y, detail::rsqrt_bound) ? static_cast<float>(y)
                                                    : rounded_to_float(detail::wide_rsqrt(x, y));
}

}  // namespace binade
