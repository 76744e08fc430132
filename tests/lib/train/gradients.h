// SPDX-License-Identifier: Apache-2.0
//
// A check of an op's gradients by gradcheck in binary64, with PyTorch's default step and
// tolerances.
#pragma once

#include <doctest/doctest.h>

#include <vector>

#include "lib/train/gradcheck.h"
#include "tests/lib/train/draw.h"

namespace binade::test {

using Doubles = Tape<double>;
using Vars = std::vector<Var>;

inline void check_gradients(const Differentiable<double>& function,
                            std::vector<Tensor<double>> inputs) {
  const GradcheckReport report = gradcheck(function, std::move(inputs), binary64);
  CAPTURE(report.worst_abs);
  CAPTURE(report.worst_rel);
  CHECK(report.elements > 0);
  CHECK(report.unmoved == 0);
  CHECK(report.passed == report.elements);
}

/// Returns the gradients of the sum of output·weights with respect to the inputs.
template <std::floating_point T>
std::vector<std::vector<T>> gradients_of(const Differentiable<T>& function,
                                         const std::vector<Tensor<T>>& inputs,
                                         const Tensor<T>& weights) {
  Tape<T> tape;
  std::vector<Var> in;
  for (const Tensor<T>& x : inputs) in.push_back(tape.input(x));
  const Var y = function(tape, in);
  tape.backward(sum(tape, mul(tape, y, tape.constant(weights))));
  std::vector<std::vector<T>> out;
  for (const Var x : in) out.push_back(tape.gradient(x));
  return out;
}

}  // namespace binade::test
