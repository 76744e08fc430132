// SPDX-License-Identifier: Apache-2.0
//
// OpenSeq2Seq's LogMax loss scale: it assumes that log2 of the largest gradient magnitude is
// normally distributed, and sets the scale in each step so that an overflow of binary16 is
// a 3.09-sigma event (probability 0.1 %).
#pragma once

#include "lib/amp/step_statistics.h"

namespace binade {

struct LogMaxOptions {
  float scale_min = 1;
  float scale_max = 16777216;      ///< 2^24
  float log_max = 16;              ///< an overflow enters the averages as 2^log_max
  double beta1 = 0.99;             ///< decay of the mean of log2 amax
  double beta2 = 0.999;            ///< decay of the second moment and of the slower mean
  float overflow_std_dev = 3.09f;  ///< standard deviations from the mean to an overflow
};

/// The scaler's state.
struct LogMaxState {
  float scale = 1;
  float mean = 0, slow_mean = 0, second_moment = 0;
  float beta1_power = 1, beta2_power = 1;

  friend bool operator==(const LogMaxState&, const LogMaxState&) = default;
};

/// LogMaxScaler of optimizers/automatic_loss_scaler.py, with its mistakes: an overflow puts
/// 2^log_max instead of log_max into the averages of logarithms, the scale is computed from 16
/// instead of log_max, and gradients that are all zero make the scale NaN forever.
class LogMaxScaler {
 public:
  explicit LogMaxScaler(const LogMaxOptions& options = {}) : options_(options) {}

  float scale() const { return state_.scale; }
  /// Ends a step whose unscaled gradients have the largest magnitude `amax`; an `amax` that is NaN
  /// or infinite counts as found_inf. Returns whether the optimizer has to step: it skips
  /// overflows. Before the first call mean() and sigma() return NaN.
  bool update(bool found_inf, float amax);
  float mean() const;   ///< mean of log2 amax, bias corrected
  float sigma() const;  ///< standard deviation of log2 amax, from the slower averages

  const LogMaxState& state() const { return state_; }
  void set_state(const LogMaxState& state) { state_ = state; }

 private:
  LogMaxOptions options_;
  LogMaxState state_;
};

}  // namespace binade
