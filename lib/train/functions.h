// SPDX-License-Identifier: Apache-2.0
//
// Elementary functions for the loops of the training engine. The float versions are correctly
// rounded, so they give the same bits on every machine; the double versions return what <cmath>
// gives.
#pragma once

#include <cmath>

#include "emulate/functions.h"

namespace binade {

inline float exp_of(float x) { return rounded_exp(x); }
inline double exp_of(double x) { return std::exp(x); }
inline float log_of(float x) { return rounded_log(x); }
inline double log_of(double x) { return std::log(x); }
inline float tanh_of(float x) { return rounded_tanh(x); }
inline double tanh_of(double x) { return std::tanh(x); }
inline float erf_of(float x) { return rounded_erf(x); }
inline double erf_of(double x) { return std::erf(x); }
/// 1/√x.
inline float rsqrt_of(float x) { return rounded_rsqrt(x); }
inline double rsqrt_of(double x) { return 1 / std::sqrt(x); }

}  // namespace binade
