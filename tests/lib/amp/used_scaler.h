// SPDX-License-Identifier: Apache-2.0
//
// A GradScaler that has scaled a loss, and an optimizer for it that counts its steps.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "lib/amp/grad_scaler.h"

namespace binade::test {

/// An optimizer with one gradient of its own that counts its steps.
struct Counted {
  explicit Counted(std::uint64_t id, std::vector<float> gradient, const Format& dtype = binary32)
      : values(std::move(gradient)) {
    view = {id, {{dtype, values}}, [this] { ++steps; }};
  }
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;

  std::vector<float> values;
  int steps = 0;
  OptimizerView view;
};

inline GradScaler used_scaler(const LossScalePolicy& policy = loss_scale_policy("torch"),
                              const GradScaler::Options& options = {}) {
  GradScaler scaler(policy, options);
  scaler.scale_loss(1);
  return scaler;
}

}  // namespace binade::test
