// SPDX-License-Identifier: Apache-2.0
//
// PopART's automatic loss scaling: a histogram of two bins over the gradients. Where more than a share of them lies
// above an edge below the format's maximum the scale is halved, else doubled: it acts before anything overflows. The
// scale stays finite, also where all gradients are 0 for long.
#pragma once

#include <cstdint>
#include <span>

#include "emulate/format.h"

namespace binade {

struct HistogramOptions {
  float init_scale = 1;
  Format format = binary16;
  double edge = 0.0625;       ///< of the format's largest number (older PopART: 1)
  double upper_share = 1e-7;  ///< more than this share above the edge halves
  std::int64_t period = 1;    ///< updates between two decisions
  float factor = 2;
};

/// What it remembers: the scale, the values of this period below and above the edge, and how many steps there were.
struct HistogramState {
  float scale = 1;
  std::uint64_t below = 0, above = 0;
  std::int64_t steps = 0;

  friend bool operator==(const HistogramState&, const HistogramState&) = default;
};

class HistogramScaler {
 public:
  explicit HistogramScaler(const HistogramOptions& options = {});

  float scale() const { return state_.scale; }
  /// The scaled gradients of a step, tensor by tensor: NaN and Inf count as above the edge.
  void count(std::span<const float> scaled_gradients);
  /// Ends the step; decides where the period is over. PopART always steps.
  void update();

  const HistogramState& state() const { return state_; }
  void set_state(const HistogramState& state) { state_ = state; }

 private:
  HistogramOptions options_;
  HistogramState state_;
  float edge_ = 0;
};

}  // namespace binade
