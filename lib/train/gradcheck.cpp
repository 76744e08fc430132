// SPDX-License-Identifier: Apache-2.0
//
// Gradcheck: one backward pass per element of the output gives the analytical Jacobian, two forward
// passes per element of the inputs give the numerical one.
#include "lib/train/gradcheck.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "lib/train/ops.h"

namespace binade {
namespace {

template <std::floating_point T>
std::vector<Var> put(Tape<T>& tape, const std::vector<Tensor<T>>& inputs) {
  std::vector<Var> out;
  for (const Tensor<T>& x : inputs) out.push_back(tape.input(x));
  return out;
}

/// A function and the inputs at which it is checked.
template <std::floating_point T>
struct Place {
  const Differentiable<T>& function;
  std::vector<Tensor<T>> inputs;
  const ProductSettings& products;

  std::vector<T> outputs() const {
    Tape<T> tape(products);
    return tape.values(function(tape, put(tape, inputs)));
  }
  /// Returns d output[at] / d inputs for all elements of the inputs, input after input.
  std::vector<T> gradient_of(std::size_t at) const {
    Tape<T> tape(products);
    const std::vector<Var> in = put(tape, inputs);
    const Var y = function(tape, in);
    Tensor<T> pick(tape.shape(y), tape.dtype(y));
    pick.values[at] = 1;
    tape.backward(sum(tape, mul(tape, y, tape.constant(std::move(pick)))));
    std::vector<T> out;
    for (const Var x : in) {
      std::vector<T> gradient = tape.gradient(x);
      gradient.resize(tape.values(x).size());
      out.insert(out.end(), gradient.begin(), gradient.end());
    }
    return out;
  }
};

template <std::floating_point T>
T rounded(const Format& dtype, T x) {
  round_to(dtype, std::span(&x, 1));
  return x;
}

void compare(double analytical, double numerical, const GradcheckOptions& options,
             GradcheckReport& report) {
  double error = std::abs(analytical - numerical);
  if (std::isnan(error)) error = std::numeric_limits<double>::infinity();
  report.elements += 1;
  const double allowed = options.atol + options.rtol * std::abs(numerical);
  report.passed += std::isfinite(error) && error <= allowed ? 1 : 0;
  report.worst_abs = std::max(error, report.worst_abs);
  if (numerical != 0 && std::isfinite(numerical)) {
    report.worst_rel = std::max(error / std::abs(numerical), report.worst_rel);
  }
}

}  // namespace

template <std::floating_point T>
GradcheckReport gradcheck(const Differentiable<T>& function, std::vector<Tensor<T>> inputs,
                          const Format& dtype, const GradcheckOptions& options,
                          const ProductSettings& products) {
  for (Tensor<T>& x : inputs) {
    x.dtype = dtype;
    round_to(dtype, std::span(x.values));
  }
  Place<T> place{function, std::move(inputs), products};
  const std::size_t outputs = place.outputs().size();
  std::vector<std::vector<T>> analytical(outputs);
  for (std::size_t i = 0; i < outputs; ++i) analytical[i] = place.gradient_of(i);

  GradcheckReport report;
  for (Tensor<T>& input : place.inputs) {
    for (T& x : input.values) {
      const T at = x, eps = static_cast<T>(options.eps);
      x = rounded(dtype, at + eps);
      report.unmoved += x == at ? 1 : 0;
      const std::vector<T> above = place.outputs();
      x = rounded(dtype, at - eps);
      const std::vector<T> below = place.outputs();
      x = at;
      for (std::size_t i = 0; i < outputs; ++i) {
        const T numerator = rounded(dtype, above[i] - below[i]);
        report.zero_numerators += numerator == 0 ? 1 : 0;
        compare(static_cast<double>(analytical[i][report.inputs]),
                static_cast<double>(numerator) / (2 * options.eps), options, report);
      }
      report.inputs += 1;
    }
  }
  return report;
}

template GradcheckReport gradcheck(const Differentiable<float>&, std::vector<Tensor<float>>,
                                   const Format&, const GradcheckOptions&, const ProductSettings&);
template GradcheckReport gradcheck(const Differentiable<double>&, std::vector<Tensor<double>>,
                                   const Format&, const GradcheckOptions&, const ProductSettings&);

}  // namespace binade
