// SPDX-License-Identifier: Apache-2.0
//
// OpenSeq2Seq's LogMax loss scale: log2 of the largest gradient is taken for normally distributed, and the scale
// is set each step so that an overflow of binary16 is a 3.09-sigma event (probability 0.1 %).
#pragma once

#include "lib/amp/step_statistics.h"

namespace binade {

struct LogMaxOptions {
  float scale_min = 1;
  float scale_max = 16777216;  ///< 2^24
  float log_max = 16;          ///< log2 of what must not be exceeded; the scale itself uses 16
  double beta1 = 0.99;         ///< of the mean of log2 amax
  double beta2 = 0.999;        ///< of its second moment and the mean beside it
  float overflow_std_dev = 3.09f;
};

/// What it remembers.
struct LogMaxState {
  float scale = 1;
  float mean = 0, slow_mean = 0, second_moment = 0;
  float beta1_power = 1, beta2_power = 1;

  friend bool operator==(const LogMaxState&, const LogMaxState&) = default;
};

/// optimizers/automatic_loss_scaler.py, LogMaxScaler, slips included: an overflow feeds 2^log_max, not log_max,
/// into the averages of logarithms, and a gradient of zeros makes the scale NaN for good.
class LogMaxScaler {
 public:
  explicit LogMaxScaler(const LogMaxOptions& options = {}) : options_(options) {}

  float scale() const { return state_.scale; }
  /// `amax` is that of the unscaled gradients. True where the optimizer was to step.
  bool update(bool found_inf, float amax);
  float mean() const;   ///< of log2 amax, bias corrected
  float sigma() const;  ///< its slower standard deviation

  const LogMaxState& state() const { return state_; }
  void set_state(const LogMaxState& state) { state_ = state; }

 private:
  LogMaxOptions options_;
  LogMaxState state_;
};

}  // namespace binade
