// SPDX-License-Identifier: Apache-2.0
//
// Reductions to one element, and the losses. Each is one op: its terms and their sum are in T, and
// only the result is rounded to the op's dtype.
#include <cmath>

#include "lib/train/functions.h"
#include "lib/train/kernels.h"
#include "lib/train/ops.h"

namespace binade {
namespace {

template <std::floating_point T>
T sum_of(const std::vector<T>& x) {
  return pairwise_sum(x.data(), x.size());
}

/// Casts the two inputs of a loss; throws Error unless they have one shape and are not empty.
template <std::floating_point T>
OpInputs pair_of(Tape<T>& tape, std::string_view name, Var x, Var target) {
  if (tape.shape(x) != tape.shape(target) || tape.values(x).empty()) {
    throw shapes_do_not_fit(name, tape.shape(x), tape.shape(target));
  }
  return op_inputs(tape, name, {x, target});
}

}  // namespace

template <std::floating_point T>
Var sum(Tape<T>& tape, Var x_in) {
  const OpInputs op = op_inputs(tape, "sum", {x_in});
  const Var x = op[0];
  return tape.record("sum", op.dtype, {1}, {sum_of(tape.values(x))}, op.inputs,
                     [x](Tape<T>& t, const std::vector<T>& g) {
                       t.add_gradient(x, std::vector<T>(t.values(x).size(), g[0]));
                     });
}

template <std::floating_point T>
Var mean(Tape<T>& tape, Var x_in) {
  const OpInputs op = op_inputs(tape, "mean", {x_in});
  const Var x = op[0];
  const T n = static_cast<T>(tape.values(x).size());
  return tape.record("mean", op.dtype, {1}, {sum_of(tape.values(x)) / n}, op.inputs,
                     [x, n](Tape<T>& t, const std::vector<T>& g) {
                       t.add_gradient(x, std::vector<T>(t.values(x).size(), g[0] / n));
                     });
}

template <std::floating_point T>
Var nll_loss(Tape<T>& tape, Var log_probabilities, const std::vector<std::int32_t>& target) {
  const OpInputs op = op_inputs(tape, "nll_loss", {log_probabilities});
  const Var x = op[0];
  const Shape& shape = tape.shape(x);
  if (shape.size() != 2 || shape[0] != target.size() || target.empty()) {
    throw shapes_do_not_fit("nll_loss", shape, {target.size()});
  }
  const std::size_t classes = shape[1];
  std::vector<T> terms(target.size());
  for (std::size_t i = 0; i < target.size(); ++i) {
    const auto at = static_cast<std::size_t>(target[i]);
    if (target[i] < 0 || at >= classes) {
      throw Error(fmt::format("nll_loss: target {} of row {} is none of the {} classes", target[i],
                              i, classes));
    }
    terms[i] = -tape.values(x)[i * classes + at];
  }
  const T n = static_cast<T>(target.size());
  return tape.record("nll_loss", op.dtype, {1}, {sum_of(terms) / n}, op.inputs,
                     [x, n, target, classes](Tape<T>& t, const std::vector<T>& g) {
                       std::vector<T> dx(t.values(x).size());
                       for (std::size_t i = 0; i < target.size(); ++i) {
                         dx[i * classes + static_cast<std::size_t>(target[i])] = -g[0] / n;
                       }
                       t.add_gradient(x, std::move(dx));
                     });
}

template <std::floating_point T>
Var cross_entropy(Tape<T>& tape, Var logits, const std::vector<std::int32_t>& target) {
  return nll_loss(tape, log_softmax(tape, logits), target);
}

template <std::floating_point T>
Var mse_loss(Tape<T>& tape, Var x_in, Var target_in) {
  const OpInputs op = pair_of(tape, "mse_loss", x_in, target_in);
  const Var x = op[0], target = op[1];
  const auto square = [](T a, T b) { return (a - b) * (a - b); };
  const T n = static_cast<T>(tape.values(x).size());
  const T loss = sum_of(map(tape.values(x), tape.values(target), square)) / n;
  return tape.record("mse_loss", op.dtype, {1}, {loss}, op.inputs,
                     [x, target, n](Tape<T>& t, const std::vector<T>& g) {
                       const T twice = 2 / n, seed = g[0];
                       const auto slope = [twice, seed](T a, T b) {
                         return twice * (a - b) * seed;
                       };
                       t.add_gradient(x, map(t.values(x), t.values(target), slope));
                       if (!t.needs_gradient(target)) return;
                       t.add_gradient(target, map(t.values(target), t.values(x), slope));
                     });
}

template <std::floating_point T>
Var binary_cross_entropy_with_logits(Tape<T>& tape, Var x_in, Var target_in) {
  constexpr std::string_view name = "binary_cross_entropy_with_logits";
  const OpInputs op = pair_of(tape, name, x_in, target_in);
  const Var x = op[0], target = op[1];
  const T n = static_cast<T>(tape.values(x).size());
  const auto term = [](T v, T y) {
    return (v > 0 ? v : T{0}) - v * y + log_of(1 + exp_of(-std::abs(v)));
  };
  const T loss = sum_of(map(tape.values(x), tape.values(target), term)) / n;
  return tape.record(
      name, op.dtype, {1}, {loss}, op.inputs, [x, target, n](Tape<T>& t, const std::vector<T>& g) {
        const T share = g[0] / n;
        t.add_gradient(x, map(t.values(x), t.values(target),
                              [share](T v, T y) { return (1 / (1 + exp_of(-v)) - y) * share; }));
        if (!t.needs_gradient(target)) return;
        t.add_gradient(target, map(t.values(x), [share](T v) { return -v * share; }));
      });
}

#define BINADE_LOSSES(T)                                                       \
  template Var sum(Tape<T>&, Var);                                             \
  template Var mean(Tape<T>&, Var);                                            \
  template Var nll_loss(Tape<T>&, Var, const std::vector<std::int32_t>&);      \
  template Var cross_entropy(Tape<T>&, Var, const std::vector<std::int32_t>&); \
  template Var mse_loss(Tape<T>&, Var, Var);                                   \
  template Var binary_cross_entropy_with_logits(Tape<T>&, Var, Var);
BINADE_LOSSES(float)
BINADE_LOSSES(double)
#undef BINADE_LOSSES

}  // namespace binade
