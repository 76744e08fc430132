// SPDX-License-Identifier: Apache-2.0
//
// The optimizers as a table: what they are called, what they keep of a weight, which options they look at, and their
// steps, op by op as PyTorch 1.13's (torch/optim, the loop over tensors; 2.x writes Adam's first moment as one lerp).
// A row with its step (optimizers.cpp) is all that an optimizer is: whoever names, lists, counts or steps them reads it.
#pragma once

#include <concepts>
#include <cstdint>
#include <span>
#include <string_view>
#include <tuple>
#include <vector>

#include "emulate/format.h"

namespace binade {

struct OptimizerOptions;  // optimizer.h

/// One step of n weights of a parameter.
template <std::floating_point T>
struct WeightsStep {
  const OptimizerOptions& options;
  std::int64_t number;   ///< the parameter's first is 1: PyTorch's state["step"]
  Format dtype;          ///< of the weights; ops are rounded to it
  bool decays_gradient;  ///< weight_decay·weight is added to the gradient first
  std::span<const T> weights, gradient;
  std::span<T> moments;  ///< those of a weight side by side, 0 before the first step; changed
  std::span<T> change;   ///< to be added to the weights, its last op not rounded yet; written
};
template <std::floating_point T>
using OptimizerStep = void (*)(const WeightsStep<T>&);

struct OptimizerRow {
  std::string_view name;
  int moments;  ///< values kept per weight; a momentum that is not 0 is one more
  std::vector<std::string_view> options;  ///< which of OptimizerOptions it looks at, besides lr
  bool decoupled_decay = false;           ///< of the weight, beside the step; else of the gradient
  std::string_view with_momentum{};  ///< what it is called with one, where that is another name
  std::tuple<OptimizerStep<float>, OptimizerStep<double>> step;

  bool takes(std::string_view option) const;
};

std::span<const OptimizerRow> optimizers();

/// The names of those that take an option.
std::vector<std::string_view> optimizers_with(std::string_view option);

/// Values that it keeps per weight, with a momentum or without.
int moments_of(const OptimizerRow& row, bool momentum);

/// Error with the names for one that there is not.
const OptimizerRow& optimizer_row(std::string_view name);

}  // namespace binade
