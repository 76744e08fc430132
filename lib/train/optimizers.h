// SPDX-License-Identifier: Apache-2.0
//
// The optimizers as a table: their names, the values that they keep per weight, the options that
// they read, and the function of their step, which does op by op what PyTorch 1.13 does
// (torch/optim, the loop over tensors; PyTorch 2.x computes Adam's first moment by one lerp). A row
// of the table, with its step in optimizers.cpp, is all that an optimizer consists of.
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

/// The inputs and outputs of one step on n weights of a parameter.
template <std::floating_point T>
struct WeightsStep {
  const OptimizerOptions& options;
  std::int64_t number;   ///< number of the step, from 1: PyTorch's state["step"]
  Format dtype;          ///< dtype of the weights; the result of each op is rounded to it
  bool decays_gradient;  ///< weight_decay·weight is added to the gradient first
  std::span<const T> weights, gradient;
  std::span<T> moments;  ///< updated; all of a weight side by side, 0 before the first step
  std::span<T> change;   ///< written: what to add to the weights; its last op is not rounded
};
template <std::floating_point T>
using OptimizerStep = void (*)(const WeightsStep<T>&);

struct OptimizerRow {
  std::string_view name;
  int moments;  ///< values kept per weight; a momentum other than 0 adds one, if it is read
  std::vector<std::string_view> options;  ///< the members of OptimizerOptions it reads, besides lr
  bool decoupled_decay = false;           ///< the weight decays itself, not through the gradient
  std::string_view with_momentum{};       ///< its name when it has a momentum, if that name differs
  std::tuple<OptimizerStep<float>, OptimizerStep<double>> step;

  bool takes(std::string_view option) const;
};

std::span<const OptimizerRow> optimizers();

/// Returns the names of the optimizers that read an option.
std::vector<std::string_view> optimizers_with(std::string_view option);

/// Returns how many values the optimizer keeps per weight, with or without a momentum, which makes
/// no difference for an optimizer that does not read it.
int moments_of(const OptimizerRow& row, bool momentum);

/// Returns the row of an optimizer. Throws Error, which lists the names, for any other name.
const OptimizerRow& optimizer_row(std::string_view name);

}  // namespace binade
