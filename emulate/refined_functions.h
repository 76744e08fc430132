// SPDX-License-Identifier: Apache-2.0
//
// exp, log, tanh, erf and 1/sqrt of binary32 numbers in double-double (double_double.h) with a
// relative error below 2^-95 (log around 1, where terms cancel, below 2^-80). emulate/functions.h
// calls them where a double does not decide how the result rounds. For no argument of the 2^32 does
// the exact result come nearer to a rounding boundary of binary32 than 2^-57.8 of its value, which
// log(0x65D890D3) does (tests/slow/functions_test.cpp), so they always decide.
#pragma once

#include "emulate/double_double.h"
#include "emulate/format.h"

namespace binade::detail {

/// log2(e), and ln 2 as the sum of three doubles. The upper two have 42 bits, so that their
/// products with an integer k are exact for |k| < 2^11. The bits of the parts by their weights:
///
///     ln 2     [ high: 2^-1 to 2^-42 ] [ middle: 2^-45 to 2^-86 ] [ low: from 2^-90 on, negative ]
inline constexpr double log_2e = 0x1.71547652b82fep+0;
struct LogTwo {
  double high = 0x1.62e42fefa3800p-1;
  double middle = 0x1.ef35793c76800p-45;
  double low = -0x1.9ff0342542fc3p-90;
};

/// Returns 2^k for -1022 <= k <= 1023.
constexpr double power_of_two(int k) {
  return std::bit_cast<double>(static_cast<std::uint64_t>(k + 1023) << 52);
}

/// Returns the integer nearest to x, |x| < 2^51, ties to even, without <cmath>: beside 1.5·2^52,
/// whose ulp is 1, the fraction is rounded off.
///
///     1.5·2^52              11000…00000
///     x = 5.75                    101.11
///     their sum, rounded    11000…00110     minus 1.5·2^52 is 6
constexpr double nearest_integer(double x) { return (x + 0x1.8p52) - 0x1.8p52; }

/// The parts of e^x = 2^k·(1 + minus_one), where x = k·ln 2 + r, |r| <= ln(2)/2.
struct WideExpParts {
  int k = 0;
  DoubleDouble minus_one;  ///< e^r - 1
};

/// Returns the parts of e^x for arguments whose k has at most 11 bits.
constexpr WideExpParts wide_exp_parts(double x) {
  constexpr LogTwo ln2;
  const double k = nearest_integer(x * log_2e);
  const DoubleDouble r = exact_sum(x, -k * ln2.high) + exact_sum(-k * ln2.middle, -k * ln2.low);
  // (e^r - 1)/r = 1 + r/2·(1 + r/3·(...)); the terms that are left out sum to less than 2^-110.
  DoubleDouble series{1};
  for (int n = 25; n >= 2; --n) {
    series = DoubleDouble{1} + r * series / DoubleDouble{static_cast<double>(n)};
  }
  return {static_cast<int>(k), r * series};
}

/// Returns x·factor, exactly if factor is a power of two.
constexpr DoubleDouble scaled(DoubleDouble x, double factor) {
  return {x.high * factor, x.low * factor};
}

/// Returns e^x.
constexpr DoubleDouble wide_exp(double x) {
  const WideExpParts e = wide_exp_parts(x);
  return scaled(DoubleDouble{1} + e.minus_one, power_of_two(e.k));
}

/// Returns log x, given y, which is log x with an error below 2^-49: log x = y + log(1 + t) with
/// t = x·e^-y - 1, of whose series two terms suffice.
constexpr DoubleDouble wide_log(double x, double y) {
  const WideExpParts e = wide_exp_parts(-y);
  const DoubleDouble product =
      DoubleDouble{x * power_of_two(e.k)} * (DoubleDouble{1} + e.minus_one);
  const DoubleDouble t = product + DoubleDouble{-1};
  return DoubleDouble{y} + t + DoubleDouble{-0.5 * t.high * t.high};
}

/// Returns tanh x = E/(E + 2) with E = e^(2x) - 1, for 0 < x <= 10.
constexpr DoubleDouble wide_tanh(double x) {
  const WideExpParts e = wide_exp_parts(2 * x);
  const double scale = power_of_two(e.k);
  const DoubleDouble minus_one = scaled(e.minus_one, scale) + DoubleDouble{scale - 1};
  return minus_one / (minus_one + DoubleDouble{2});
}

/// Returns 1/sqrt(x), given y, which is 1/sqrt(x) with an error below 2^-49: with e = 1 - x·y²,
/// 1/sqrt(x) = y·(1 + e/2 + 3/8·e² + …).
constexpr DoubleDouble wide_rsqrt(double x, double y) {
  const DoubleDouble e = DoubleDouble{1} + -(DoubleDouble{x} * exact_product(y, y));
  return exact_sum(y, y * (e.high * (0.5 + 0.375 * e.high)));
}

/// erf and its derivative at a centre c = j/4.
struct ErfCentre {
  DoubleDouble value, slope;
};
/// The centres j/4, 0 <= j <= 16; a constexpr function can return a struct but no array.
struct ErfCentres {
  ErfCentre rows[17];
};

/// Returns the centres' values, computed by mpmath with 400 bits.
constexpr ErfCentres erf_centres() {
  return {{
      {{0x0.0p+0, 0x0.0p+0}, {0x1.20dd750429b6dp+0, 0x1.1ae3a914fed80p-56}},
      {{0x1.1af54e232d609p-2, -0x1.bee921fa4172bp-56},
       {0x1.0f5d1602f7e41p+0, -0x1.3e41778d4b1eep-55}},
      {{0x1.0a7ef5c18edd2p-1, 0x1.5e809f1a31a28p-56},
       {0x1.c1efca49a5011p-1, 0x1.4c081d7f49500p-55}},
      {{0x1.6c1c9759d0e5fp-1, 0x1.b1432f2cbc455p-55},
       {0x1.492e42d78d2c5p-1, -0x1.8bd386a7ba3f6p-55}},
      {{0x1.af767a741088bp-1, -0x1.c97f778122797p-56},
       {0x1.a911f096fbc26p-2, -0x1.086a09f735b33p-56}},
      {{0x1.d8865d98abe01p-1, -0x1.fcec4afb974d9p-55},
       {0x1.e4652fadcb6b2p-3, -0x1.e950836901024p-61}},
      {{0x1.eea5557137ae0p-1, -0x1.385e445f2c96dp-55},
       {0x1.e723726b824a9p-4, -0x1.2203197eea764p-59}},
      {{0x1.f92d077f8d56dp-1, 0x1.8b55ef493fce7p-56},
       {0x1.b055303221015p-5, 0x1.cba9ea60ed019p-59}},
      {{0x1.fd9ae142795e3p-1, 0x1.972801904b9a3p-56},
       {0x1.529b9e8cf9a1ep-6, 0x1.b47becf12c4e4p-61}},
      {{0x1.ff404760319b4p-1, 0x1.f142071432025p-56},
       {0x1.d4143a9dfe965p-8, -0x1.6eec3c35c7ed7p-63}},
      {{0x1.ffcaa8f4c9beap-1, 0x1.b0cee160116f9p-55},
       {0x1.1d83170fbf6fbp-9, 0x1.ea3671efbb74ap-63}},
      {{0x1.fff2cfb0453d9p-1, 0x1.9a913686042a3p-55},
       {0x1.3360ccd23db3ap-11, 0x1.39e15444e9dddp-69}},
      {{0x1.fffd1ac4135f9p-1, 0x1.eeafa1ecd6cefp-55},
       {0x1.2408e9ba3327fp-13, -0x1.7e1d81587040cp-67}},
      {{0x1.ffff6f9f67e55p-1, 0x1.e1e4483ba034bp-55},
       {0x1.e9b5e8d00ce77p-16, -0x1.cbbe2ecd1cfacp-70}},
      {{0x1.ffffe710d565ep-1, 0x1.c9ea52d76dc04p-55},
       {0x1.6a597219a93dap-18, -0x1.cbf8fbc2cd5cdp-72}},
      {{0x1.fffffc2f171e3p-1, 0x1.85edd0395f475p-55},
       {0x1.d9371e2ff7c35p-21, 0x1.0aed0951e078dp-75}},
      {{0x1.ffffff7b91176p-1, 0x1.0b2865615db40p-56},
       {0x1.10b1488aeb235p-23, -0x1.cd75b4828c0c0p-81}},
  }};
}

BINADE_CONSTANT ErfCentres erf_centre_table = erf_centres();

/// Returns erf x for 0 < x < 4, by Taylor's series around the nearest centre c, where x = c + h and
/// |h| <= 1/8. The derivative is g(c + h) = g(c)·Σ G_n·h^n with G_0 = 1, G_1 = -2c and, since g' =
/// -2·x·g, (n + 1)·G_{n+1} = -2·(c·G_n + G_{n-1}). The terms that are left out sum to less than
/// 2^-105.
constexpr DoubleDouble wide_erf(double x) {
  const double j = nearest_integer(4 * x);
  const double c = j / 4;
  const double h = x - c;
  const ErfCentre& centre = erf_centre_table.rows[static_cast<int>(j)];
  DoubleDouble before{};
  DoubleDouble g{1};
  DoubleDouble power{h};
  DoubleDouble sum{};
  for (int n = 0; n < 25; ++n) {
    const DoubleDouble next_integer{static_cast<double>(n + 1)};
    sum = sum + g * power / next_integer;
    const DoubleDouble next = scaled(g * DoubleDouble{c} + before, -2) / next_integer;
    before = g;
    g = next;
    power = power * DoubleDouble{h};
  }
  return centre.value + centre.slope * sum;
}

}  // namespace binade::detail
