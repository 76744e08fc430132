// SPDX-License-Identifier: Apache-2.0
//
// Activations, and softmax and log_softmax over the last dimension. The formulas and the order of
// their operations are those of PyTorch's CPU kernels (ATen/native/cpu/Activation.cpp,
// SoftMaxKernel.cpp).
#include <limits>
#include <numbers>

#include "lib/text/shape.h"
#include "lib/train/functions.h"
#include "lib/train/kernels.h"
#include "lib/train/ops.h"

namespace binade {
namespace {

/// Returns the largest value of a row; NaN are ignored.
template <std::floating_point T>
T largest(const T* x, std::size_t n) {
  T out = -std::numeric_limits<T>::infinity();
  for (std::size_t i = 0; i < n; ++i) out = x[i] > out ? x[i] : out;
  return out;
}

/// The size of the last dimension, and how many rows there are.
struct LastAxis {
  std::size_t rows = 0, columns = 0;
};

LastAxis last_axis_of(std::string_view op, const Shape& shape) {
  if (shape.empty() || shape.back() == 0) {
    throw Error(fmt::format("{} of shape {}: its last dimension is empty", op, shape_text(shape)));
  }
  return {elements(shape) / shape.back(), shape.back()};
}

/// Calls body(row of x, row to fill) for every row along the last axis; returns what body filled.
template <std::floating_point T, class F>
std::vector<T> map_rows(const LastAxis& of, const std::vector<T>& x, const F& body) {
  std::vector<T> out(x.size());
  for_rows(of.rows, of.columns, [&](std::size_t row) {
    body(x.data() + row * of.columns, out.data() + row * of.columns);
  });
  return out;
}
/// Calls body(row of x, row of y, row to fill) for every row of two arrays of one shape; returns
/// what body filled.
template <std::floating_point T, class F>
std::vector<T> map_rows(const LastAxis& of, const std::vector<T>& x, const std::vector<T>& y,
                        const F& body) {
  const T* first = x.data();
  return map_rows(
      of, y, [&](const T* row_of_y, T* to) { body(first + (row_of_y - y.data()), row_of_y, to); });
}

/// Sets to[i] = exp(from[i] - top); returns the sum.
template <std::floating_point T>
T exponentials(const T* from, T top, T* to, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) to[i] = exp_of(from[i] - top);
  return pairwise_sum(to, n);
}

}  // namespace

template <std::floating_point T>
Var relu(Tape<T>& tape, Var x_in) {
  const OpInputs op = op_inputs(tape, "relu", {x_in});
  const Var x = op[0];
  return tape.record(
      "relu", op.dtype, tape.shape(x), map(tape.values(x), [](T v) { return v < 0 ? T{0} : v; }),
      op.inputs, [x](Tape<T>& t, const std::vector<T>& g) {
        t.add_gradient(x, map(g, t.values(x), [](T d, T v) { return v <= 0 ? T{0} : d; }));
      });
}

template <std::floating_point T>
Var tanh(Tape<T>& tape, Var x_in) {
  const OpInputs op = op_inputs(tape, "tanh", {x_in});
  const Var x = op[0];
  return record_result(
      tape, "tanh", op, tape.shape(x), map(tape.values(x), [](T v) { return tanh_of(v); }),
      [x](Tape<T>& t, Var y, const std::vector<T>& g) {
        t.add_gradient(x, map(g, t.values(y), [](T d, T v) { return d * (1 - v * v); }));
      });
}

template <std::floating_point T>
Var sigmoid(Tape<T>& tape, Var x_in) {
  const OpInputs op = op_inputs(tape, "sigmoid", {x_in});
  const Var x = op[0];
  return record_result(tape, "sigmoid", op, tape.shape(x),
                       map(tape.values(x), [](T v) { return 1 / (1 + exp_of(-v)); }),
                       [x](Tape<T>& t, Var y, const std::vector<T>& g) {
                         t.add_gradient(
                             x, map(g, t.values(y), [](T d, T v) { return d * (1 - v) * v; }));
                       });
}

template <std::floating_point T>
Var gelu(Tape<T>& tape, Var x_in) {
  const OpInputs op = op_inputs(tape, "gelu", {x_in});
  const Var x = op[0];
  static constexpr T half = static_cast<T>(0.5);
  static constexpr T root_half = static_cast<T>(std::numbers::sqrt2 / 2);
  static constexpr T density = static_cast<T>(0.39894228040143267794);  // 1/√(2π)
  return tape.record(
      "gelu", op.dtype, tape.shape(x),
      map(tape.values(x), [](T v) { return v * half * (1 + erf_of(v * root_half)); }), op.inputs,
      [x](Tape<T>& t, const std::vector<T>& g) {
        const auto slope = [](T d, T v) {
          const T cdf = half * (1 + erf_of(v * root_half));
          const T pdf = density * exp_of(v * v * -half);
          return d * (cdf + v * pdf);
        };
        t.add_gradient(x, map(g, t.values(x), slope));
      });
}

template <std::floating_point T>
Var softmax(Tape<T>& tape, Var x_in) {
  const OpInputs op = op_inputs(tape, "softmax", {x_in});
  const Var x = op[0];
  const LastAxis of = last_axis_of("softmax", tape.shape(x));
  std::vector<T> out = map_rows(of, tape.values(x), [n = of.columns](const T* from, T* to) {
    const T total = exponentials(from, largest(from, n), to, n);
    for (std::size_t i = 0; i < n; ++i) to[i] /= total;
  });
  const auto backward = [x, of](Tape<T>& t, Var result, const std::vector<T>& g) {
    const std::vector<T>& y = t.values(result);
    std::vector<T> products = map(g, y, [](T d, T v) { return d * v; });
    // PyTorch's CUDA backward first stores the products in a tensor, which rounds them.
    round_to(t.dtype(result), std::span(products));
    const auto row = [n = of.columns](const T* values, const T* product, T* to) {
      const T total = pairwise_sum(product, n);
      for (std::size_t i = 0; i < n; ++i) to[i] = product[i] - values[i] * total;
    };
    t.add_gradient(x, map_rows(of, y, products, row));
  };
  return record_result(tape, "softmax", op, tape.shape(x), std::move(out), backward);
}

template <std::floating_point T>
Var log_softmax(Tape<T>& tape, Var x_in) {
  const OpInputs op = op_inputs(tape, "log_softmax", {x_in});
  const Var x = op[0];
  const LastAxis of = last_axis_of("log_softmax", tape.shape(x));
  std::vector<T> out = map_rows(of, tape.values(x), [n = of.columns](const T* from, T* to) {
    const T top = largest(from, n);
    const T rest = log_of(exponentials(from, top, to, n));
    // Not from - (top + rest), in which a large top would absorb rest.
    for (std::size_t i = 0; i < n; ++i) to[i] = from[i] - top - rest;
  });
  const auto backward = [x, of](Tape<T>& t, Var result, const std::vector<T>& g) {
    const auto row = [n = of.columns](const T* y, const T* dy, T* to) {
      const T total = pairwise_sum(dy, n);
      for (std::size_t i = 0; i < n; ++i) to[i] = dy[i] - exp_of(y[i]) * total;
    };
    t.add_gradient(x, map_rows(of, t.values(result), g, row));
  };
  return record_result(tape, "log_softmax", op, tape.shape(x), std::move(out), backward);
}

#define BINADE_ACTIVATIONS(T)          \
  template Var relu(Tape<T>&, Var);    \
  template Var tanh(Tape<T>&, Var);    \
  template Var sigmoid(Tape<T>&, Var); \
  template Var gelu(Tape<T>&, Var);    \
  template Var softmax(Tape<T>&, Var); \
  template Var log_softmax(Tape<T>&, Var);
BINADE_ACTIVATIONS(float)
BINADE_ACTIVATIONS(double)
#undef BINADE_ACTIVATIONS

}  // namespace binade
