// SPDX-License-Identifier: Apache-2.0
//
// Gradients against central differences, as PyTorch's gradcheck compares them (torch/autograd/gradcheck.py,
// slow mode): the whole Jacobian, element by element, in any dtype.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "lib/train/tape.h"

namespace binade {

/// PyTorch's defaults. An element passes if |analytical - numerical| ≤ atol + rtol·|numerical|.
struct GradcheckOptions {
  double eps = 1e-6, atol = 1e-5, rtol = 1e-3;
};

struct GradcheckReport {
  std::size_t elements = 0;  ///< of the Jacobians: outputs × inputs
  std::size_t passed = 0;
  std::size_t zero_numerators = 0;  ///< f(x + eps) - f(x - eps) = 0
  std::size_t inputs = 0;
  std::size_t unmoved = 0;  ///< inputs of which x + eps = x in the dtype
  /// Of |analytical - numerical|, infinite where it is NaN, and of it over |numerical| where that is a
  /// number other than 0.
  double worst_abs = 0, worst_rel = 0;

  bool all_passed() const { return elements > 0 && passed == elements; }
};

/// Makes an output from inputs on a tape.
template <std::floating_point T>
using Differentiable = std::function<Var(Tape<T>&, const std::vector<Var>&)>;

/// Both Jacobians of `function`. Inputs are rounded to `dtype`, and so are x + eps and x - eps; the
/// numerator is rounded to it, and divided by 2·eps in double.
template <std::floating_point T>
GradcheckReport gradcheck(const Differentiable<T>& function, std::vector<Tensor<T>> inputs,
                          const Format& dtype, const GradcheckOptions& options = {},
                          const ProductSettings& products = {});

}  // namespace binade
