// SPDX-License-Identifier: Apache-2.0
//
// PopART's automatic loss scaling, by a histogram of two bins over the gradients: if more than a
// given share of the values lies above an edge, which is usually below the format's largest number,
// the scale is halved, else it is doubled. So it acts before anything overflows. The scale stays
// finite even if all gradients are 0 for many steps.
#pragma once

#include <cstdint>
#include <span>

#include "emulate/format.h"

namespace binade {

struct HistogramOptions {
  float init_scale = 1;
  Format format = binary16;
  double edge = 0.0625;       ///< as a share of the format's largest number (older PopART: 1)
  double upper_share = 1e-7;  ///< a larger share of values above the edge halves the scale
  std::int64_t period = 1;    ///< number of updates after which the scaler decides; 1: in each
  float factor = 2;           ///< by which the scale is multiplied or divided
};

/// The scaler's state: the scale, the numbers of values in this period that lie at or below the
/// edge and above it, and the number of all steps.
struct HistogramState {
  float scale = 1;
  std::uint64_t below = 0, above = 0;
  std::int64_t steps = 0;

  friend bool operator==(const HistogramState&, const HistogramState&) = default;
};

class HistogramScaler {
 public:
  /// Throws Error if upper_share is outside of [0, 1), the period is less than 1, or binary32 does
  /// not hold the format.
  explicit HistogramScaler(const HistogramOptions& options = {});

  float scale() const { return state_.scale; }
  /// Counts the values of one tensor of scaled gradients. NaN and infinity count as above the edge.
  void count(std::span<const float> scaled_gradients);
  /// Ends the step; at the end of a period decides the next scale, which doubles if nothing was
  /// counted. PopART's optimizer never skips a step.
  void update();

  const HistogramState& state() const { return state_; }
  void set_state(const HistogramState& state) { state_ = state; }

 private:
  HistogramOptions options_;
  HistogramState state_;
  float edge_ = 0;
};

}  // namespace binade
