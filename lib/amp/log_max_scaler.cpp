// SPDX-License-Identifier: Apache-2.0
//
// The update of OpenSeq2Seq's LogMaxScaler in binary32, in its order of operations. TensorFlow's
// log and pow may differ from the C library's in the last place.
#include "lib/amp/log_max_scaler.h"

#include <algorithm>
#include <cmath>

namespace binade {

bool LogMaxScaler::update(bool found_inf, float amax) {
  const bool overflow = found_inf || !std::isfinite(amax);
  const float x = overflow ? std::exp2(options_.log_max) : std::log(amax) / std::log(2.0F);
  const auto beta1 = static_cast<float>(options_.beta1), beta2 = static_cast<float>(options_.beta2);
  const auto rest1 = static_cast<float>(1 - options_.beta1);
  const auto rest2 = static_cast<float>(1 - options_.beta2);
  state_.mean = beta1 * state_.mean + rest1 * x;
  state_.beta1_power *= beta1;
  state_.slow_mean = beta2 * state_.slow_mean + rest2 * x;
  state_.second_moment = beta2 * state_.second_moment + rest2 * (x * x);
  state_.beta2_power *= beta2;
  const float cutoff = sigma() * options_.overflow_std_dev + mean();
  const float difference = 16 - cutoff;  // the original has this literal in place of log_max
  state_.scale = std::clamp(std::exp2(difference), options_.scale_min, options_.scale_max);
  return !overflow;
}

float LogMaxScaler::mean() const { return state_.mean / (1 - state_.beta1_power); }

float LogMaxScaler::sigma() const {
  const float square = state_.second_moment / (1 - state_.beta2_power);
  const float slow = state_.slow_mean / (1 - state_.beta2_power);
  return std::sqrt(std::max(square - slow * slow, 0.0F));
}

}  // namespace binade
