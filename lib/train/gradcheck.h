// SPDX-License-Identifier: Apache-2.0
//
// Compares gradients with central differences, as PyTorch's gradcheck does
// (torch/autograd/gradcheck.py, slow mode): the whole Jacobian, element by element, in any dtype.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "lib/train/tape.h"

namespace binade {

/// The defaults are PyTorch's. An element of the Jacobian passes if |analytical - numerical| is
/// finite and ≤ atol + rtol·|numerical|; `eps` is the step of the central difference.
struct GradcheckOptions {
  double eps = 1e-6, atol = 1e-5, rtol = 1e-3;
};

struct GradcheckReport {
  std::size_t elements = 0;         ///< elements of the Jacobian: outputs × inputs
  std::size_t passed = 0;           ///< elements that passed
  std::size_t zero_numerators = 0;  ///< elements whose f(x + eps) - f(x - eps) is 0
  std::size_t inputs = 0;           ///< input values, all tensors together
  std::size_t unmoved = 0;          ///< input values for which x + eps = x in the dtype
  /// Largest absolute and relative error. worst_abs is the largest |analytical - numerical|,
  /// infinite if one of these differences is NaN; worst_rel divides by |numerical| and leaves out
  /// elements whose |numerical| is 0 or not finite.
  double worst_abs = 0, worst_rel = 0;

  bool all_passed() const { return elements > 0 && passed == elements; }
};

/// The function to check: computes its output from `inputs` on the given tape.
template <std::floating_point T>
using Differentiable = std::function<Var(Tape<T>&, const std::vector<Var>&)>;

/// Compares the analytical Jacobian of `function` with the numerical one. Inputs, x + eps and x -
/// eps are rounded to `dtype`; so is the difference of the outputs, which is then divided by 2·eps
/// in double.
template <std::floating_point T>
GradcheckReport gradcheck(const Differentiable<T>& function, std::vector<Tensor<T>> inputs,
                          const Format& dtype, const GradcheckOptions& options = {},
                          const ProductSettings& products = {});

}  // namespace binade
