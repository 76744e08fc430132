// SPDX-License-Identifier: Apache-2.0
//
// The two bins and the decision of PopART's LossScaleUpdateOp. With u values above the edge, l
// below it and the share t it is u / (u + l) > t, computed as u > l · t / (1 - t).
#include "lib/amp/histogram_scaler.h"

#include <cmath>

#include "emulate/carrier.h"
#include "lib/text/error.h"

namespace binade {

HistogramScaler::HistogramScaler(const HistogramOptions& options)
    : options_(options), state_{.scale = options.init_scale} {
  if (!(options.upper_share >= 0 && options.upper_share < 1) || options.period < 1 ||
      !fits_in(options.format, binary32)) {
    throw Error(
        "histogram loss scale: the share must lie in [0, 1), the period be 1 or more, the format "
        "one "
        "that binary32 holds");
  }
  const double largest = value_of<double>(max_bits(options.format, false), options.format);
  edge_ = static_cast<float>(largest * options.edge);
}

void HistogramScaler::count(std::span<const float> scaled_gradients) {
  for (const float x : scaled_gradients) {
    const bool is_below = std::abs(x) <= edge_;  // false for NaN
    state_.below += is_below ? 1 : 0;
    state_.above += is_below ? 0 : 1;
  }
}

void HistogramScaler::update() {
  if (++state_.steps % options_.period != 0) return;
  const double share = options_.upper_share;
  const bool too_many =
      static_cast<double>(state_.above) > static_cast<double>(state_.below) * (share / (1 - share));
  const float next = too_many ? state_.scale / options_.factor : state_.scale * options_.factor;
  if (std::isfinite(next)) state_.scale = next;
  state_.below = 0;
  state_.above = 0;
}

}  // namespace binade
