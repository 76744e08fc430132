// SPDX-License-Identifier: Apache-2.0
//
// exp, log, tanh, erf and 1/sqrt of binary32, correctly rounded, ties to even, for all 2^32 arguments: one
// implementation for the host and the device, so that both give the same bits.
//
// Each is evaluated in binary64 with a relative error below a bound, then Ziv's test (ACM TOMS 17, 1991): if
// y·(1 - bound) and y·(1 + bound) round to one float, so does all between them, the exact value too, since
// rounding is monotone; else refined_functions.h decides. Each bound is at least four times what was
// left out and rounded away (tests/emulate/functions_accuracy_test.cpp), which covers the test's own roundings.
//
// Special arguments as IEEE 754-2019 9.2: exp(-Inf) = +0; log(±0) = -Inf; rsqrt(±0) = ±Inf, rsqrt(+Inf) = +0;
// tanh and erf keep ±0. Every NaN result is the positive quiet NaN 0x7FC00000, whatever the argument's
// payload (NanResult::quiet). No flags.
#pragma once

#include <limits>

#include "emulate/format.h"
#include "emulate/refined_functions.h"

namespace binade {
namespace detail {

inline constexpr float float_infinity = std::numeric_limits<float>::infinity();

constexpr float quiet_nan() { return std::bit_cast<float>(std::uint32_t{0x7FC00000}); }

constexpr bool is_decided(double y, double bound) {
  return static_cast<float>(y - y * bound) == static_cast<float>(y + y * bound);
}

/// Σ c[n]·x^n, even and odd powers side by side.
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

/// e^x = 2^k·(1 + minus_one).
struct NarrowExpParts {
  int k = 0;
  double minus_one = 0;
};

/// |x| < 128. r = x - k·ln 2 is right to 2^-53, and of (e^r - 1)/r, |r| <= ln(2)/2, twelve terms leave
/// out less than 2^-50.
constexpr NarrowExpParts narrow_exp_parts(double x) {
  constexpr LogTwo ln2;
  constexpr double c[12]{1.0,          1.0 / 2,       1.0 / 6,        1.0 / 24,
                         1.0 / 120,    1.0 / 720,     1.0 / 5040,     1.0 / 40320,
                         1.0 / 362880, 1.0 / 3628800, 1.0 / 39916800, 1.0 / 479001600};
  const double k = nearest_integer(x * log_2e);
  const double r = (x - k * ln2.high) - k * ln2.middle;
  return {static_cast<int>(k), r * polynomial(c, r)};
}

/// Left out: 2^-50 of e^r - 1, 2^-51 of e^x; roundings 2^-51.
inline constexpr double exp_bound = 0x1p-48;
constexpr double narrow_exp(double x) {
  const NarrowExpParts e = narrow_exp_parts(x);
  const double scale = power_of_two(e.k);
  return scale + scale * e.minus_one;
}

/// x = 2^k·m, sqrt(1/2) <= m < sqrt(2); log m = 2·atanh(s), s = (m - 1)/(m + 1), z = s² < 0.0295: ten terms
/// leave out less than 2^-54; roundings 2^-51, doubled where k = -1 cancels.
inline constexpr double log_bound = 0x1p-48;
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

/// E/(E + 2), E = e^(2x) - 1 = 2^k·minus_one + (2^k - 1), x > 0: at most 3.5 times the error of e^(2x), where
/// the two terms cancel.
inline constexpr double tanh_bound = 0x1p-47;
constexpr double narrow_tanh(double x) {
  const NarrowExpParts e = narrow_exp_parts(2 * x);
  const double scale = power_of_two(e.k);
  const double minus_one = scale * e.minus_one + (scale - 1);
  return minus_one / (minus_one + 2);
}

/// erf at each centre, and the coefficients of h to h^12 around it.
struct ErfPolynomials {
  double value[17];
  double c[17][12];
};

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

/// Taylor's series around the nearest c = j/4, |h| <= 1/8, 0 < x < 4. Its 13th term is below
/// 2/sqrt(π)·1.09·sqrt(2^12·12!)/13!/8^13 < 2^-50 (Cramér's bound of Hermite functions), erf(1/8) > 2^-3.
/// Around c = 0 the series is odd and the error in relation as small.
inline constexpr double erf_bound = 0x1p-46;
constexpr double narrow_erf(double x) {
  const double j = nearest_integer(4 * x);
  const double h = x - j / 4;
  const int row = static_cast<int>(j);
  return erf_table.value[row] + h * polynomial(erf_table.c[row], h);
}

/// Newton's method from a guess by the exponent, right to 2^-4.8: with e = 1 - x·y² two steps of third
/// order (2^-13, 2^-38) and one of second. Roundings 2^-52.
inline constexpr double rsqrt_bound = 0x1p-49;
constexpr double narrow_rsqrt(double x) {
  double y = std::bit_cast<double>(0x5FE6EB50C7B537A9 - (std::bit_cast<std::uint64_t>(x) >> 1));
  for (int i = 0; i < 2; ++i) {
    const double e = 1 - x * y * y;
    y += y * e * (0.5 + 0.375 * e);
  }
  return y + 0.5 * y * (1 - x * y * y);
}

}  // namespace detail

constexpr float rounded_exp(float x) {
  if (x != x) return detail::quiet_nan();
  if (x > 0x1.62e42ep6F) return detail::float_infinity;  // from 88.7228394 on
  if (x < -104) return 0;                                // below 2^-150
  const double y = detail::narrow_exp(x);
  return detail::is_decided(y, detail::exp_bound) ? static_cast<float>(y)
                                                  : rounded_to_float(detail::wide_exp(x));
}

constexpr float rounded_log(float x) {
  if (x == 0) return -detail::float_infinity;
  if (!(x > 0)) return detail::quiet_nan();
  if (x == detail::float_infinity) return x;
  const double y = detail::narrow_log(x);
  return detail::is_decided(y, detail::log_bound) ? static_cast<float>(y)
                                                  : rounded_to_float(detail::wide_log(x, y));
}

constexpr float rounded_tanh(float x) {
  if (x != x) return detail::quiet_nan();
  if (x == 0) return x;
  const double magnitude = x < 0 ? -x : x;
  if (magnitude > 10) return x < 0 ? -1.0F : 1.0F;  // 1 - 2^-27
  const double y = detail::narrow_tanh(magnitude);
  const float rounded = detail::is_decided(y, detail::tanh_bound)
                            ? static_cast<float>(y)
                            : rounded_to_float(detail::wide_tanh(magnitude));
  return x < 0 ? -rounded : rounded;
}

constexpr float rounded_erf(float x) {
  if (x != x) return detail::quiet_nan();
  if (x == 0) return x;
  const double magnitude = x < 0 ? -x : x;
  if (magnitude >= 4) return x < 0 ? -1.0F : 1.0F;  // 1 - 2^-25.9
  const double y = detail::narrow_erf(magnitude);
  const float rounded = detail::is_decided(y, detail::erf_bound)
                            ? static_cast<float>(y)
                            : rounded_to_float(detail::wide_erf(magnitude));
  return x < 0 ? -rounded : rounded;
}

/// 1/sqrt(x).
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
