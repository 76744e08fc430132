// SPDX-License-Identifier: Apache-2.0
//
// Activations of binary32: GELU by erf and by tanh, and SiLU, rounded once, ties to even.
//
// Each is x times a share between 0 and 1: Φ(x) = erfc(-x/√2)/2, or 1/(1 + e^-t) with t = x for
// SiLU and t = 2·√(2/π)·(x + 0.044715·x³) for GELU by tanh, since (1 + tanh u)/2 = 1/(1 + e^-2u).
// As in functions.h, a double decides most results by Ziv's test, a double-double the others, with
// a relative error below 2^-65. That no float's exact value comes nearer to a rounding boundary is
// probable (one chance in 2^8 that one does), and not proved.
//
//     x        -15            -5.66                    5.66
//     Φ(x)      | by a fraction |  (1 + erf(x/√2))/2     | 1 to 2^-27
#pragma once

#include <bit>
#include <cstdint>

#include "emulate/functions.h"
#include "emulate/gemm_model.h"

namespace binade {
namespace detail {

/// 1/√2, 1/√π, 2·√(2/π) and 0.044715 as double-doubles, computed with 80 decimals.
inline constexpr DoubleDouble inverse_root_two{0x1.6a09e667f3bcdp-1, -0x1.bdd3413b26456p-55};
inline constexpr DoubleDouble inverse_root_pi{0x1.20dd750429b6dp-1, 0x1.1ae3a914fed80p-57};
inline constexpr DoubleDouble twice_root_two_by_pi{0x1.9884533d43651p+0, -0x1.cbc0d30ebfd15p-54};
inline constexpr DoubleDouble gelu_cubic{0x1.6e4e26d4801f7p-5, 0x1.441355475a31ap-59};
/// From this magnitude on, erf is ±1 and Φ is 1, or a fraction gives it.
inline constexpr double gelu_end = 0x1.6ap+2;

/// Returns from which |x| on an activation is x or, of a negative x, below 2^-150.
constexpr float end_of(Activation x) {
  return x == Activation::gelu ? 15.0F : x == Activation::gelu_tanh ? 11.0F : 112.0F;
}

/// Returns erf(x/√2), |x| < gelu_end, with an absolute error below erf_bound.
constexpr double narrow_erf_of(double x) {
  const double z = (x < 0 ? -x : x) * inverse_root_two.high;
  return x < 0 ? -narrow_erf(z) : narrow_erf(z);
}

/// Returns t of 1/(1 + e^-t).
constexpr DoubleDouble logistic_argument(Activation activation, double x) {
  if (activation == Activation::silu) return {x};
  const DoubleDouble square = exact_product(x, x);
  return twice_root_two_by_pi * DoubleDouble{x} * (DoubleDouble{1} + gelu_cubic * square);
}

/// Returns Φ(x) for -15 <= x < gelu_end.
constexpr DoubleDouble wide_normal(double x) {
  const DoubleDouble z = inverse_root_two * DoubleDouble{x < 0 ? -x : x};
  const double half_square = x * x / 2;  // exact: x has 24 bits
  if (x > -gelu_end) {
    // erf(z.high + z.low): the second term of Taylor's series is below 2^-105.
    const double slope = 2 * inverse_root_pi.high * narrow_exp(-half_square);
    const DoubleDouble erf = wide_erf(z.high) + DoubleDouble{slope * z.low};
    return scaled(DoubleDouble{1} + (x < 0 ? -erf : erf), 0.5);
  }
  // erfc(z) = e^-z²/√π / (z + 1/2/(z + 2/2/(z + 3/2/(z + …)))); beyond z = 4, what 60 terms leave
  // out is below 2^-100.
  DoubleDouble fraction = z;
  for (int n = 60; n > 0; --n) fraction = z + DoubleDouble{0.5 * n} / fraction;
  return scaled(wide_exp(-half_square) * inverse_root_pi / fraction, 0.5);
}

/// Returns the share, for |x| < end_of(activation), and below gelu_end for GELU by erf.
constexpr DoubleDouble wide_share(Activation activation, double x) {
  if (activation == Activation::gelu) return wide_normal(x);
  const DoubleDouble t = logistic_argument(activation, x);
  return DoubleDouble{1} /
         (DoubleDouble{1} + wide_exp(-t.high) * (DoubleDouble{1} + DoubleDouble{-t.low}));
}

/// A smooth activation of a number other than 0 within its end.
constexpr float rounded_smooth(Activation activation, float x) {
  if (activation == Activation::gelu && x >= gelu_end) return x;
  double share = 0, bound = 1;
  if (activation != Activation::gelu) {
    // t has a relative error below 2^-51 and is below 2^7.
    share = 1 / (1 + narrow_exp(-logistic_argument(activation, x).high));
    bound = 0x1p-42;
  } else if (x > -gelu_end) {
    share = 0.5 + 0.5 * narrow_erf_of(x);
    bound = erf_bound / share;
  }
  const double y = x * share;
  if (bound < 0x1p-26 && is_decided(y, bound)) return static_cast<float>(y);
  return rounded_to_float(DoubleDouble{x} * wide_share(activation, x));
}

}  // namespace detail

/// Returns the activation of x: `relu` gives +0 for what is not above it. The smooth ones keep ±0
/// and give NaN for -Inf, as the formulas' 0·Inf or Inf/Inf do.
constexpr float rounded_activation(Activation activation, float x) {
  if (activation == Activation::none) return x;
  if (activation == Activation::relu) return x <= 0 ? 0.0F : x;
  if (x != x || x == -detail::float_infinity) return detail::quiet_nan();
  if (x == 0 || x >= detail::end_of(activation)) return x;
  return x <= -detail::end_of(activation) ? -0.0F : detail::rounded_smooth(activation, x);
}

}  // namespace binade
