// SPDX-License-Identifier: Apache-2.0
//
// The update of OpenSeq2Seq's LogMaxScaler in binary32, in its order of operations. TensorFlow's log and pow may
// differ from the C library's in the last place.
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
  mean_ = beta1 * mean_ + rest1 * x;
  beta1_power_ *= beta1;
  slow_mean_ = beta2 * slow_mean_ + rest2 * x;
  second_moment_ = beta2 * second_moment_ + rest2 * (x * x);
  beta2_power_ *= beta2;
  const float cutoff = sigma() * options_.overflow_std_dev + mean();
  const float difference = 16 - cutoff;  // a literal in the original, where log_max was meant
  scale_ = std::clamp(std::exp2(difference), options_.scale_min, options_.scale_max);
  return !overflow;
}

float LogMaxScaler::mean() const { return mean_ / (1 - beta1_power_); }

float LogMaxScaler::sigma() const {
  const float square = second_moment_ / (1 - beta2_power_);
  const float slow = slow_mean_ / (1 - beta2_power_);
  return std::sqrt(std::max(square - slow * slow, 0.0F));
}

}  // namespace binade
