// SPDX-License-Identifier: Apache-2.0
//
// The ops linear and matmul: product.h computes their forward product and the products of their
// gradients.
#include <algorithm>
#include <string>

#include "lib/train/kernels.h"
#include "lib/train/ops.h"

namespace binade {

template <std::floating_point T>
Var linear(Tape<T>& tape, Var x_in, Var weight_in, std::optional<Var> bias_in) {
  std::vector<Var> given{x_in, weight_in};
  if (bias_in) given.push_back(*bias_in);
  const OpInputs op = op_inputs(tape, "linear", std::move(given));
  const Var x = op[0], weight = op[1];
  const Shape& w = tape.shape(weight);
  Shape shape = tape.shape(x);
  if (w.size() != 2 || w[1] == 0 || shape.empty() || shape.back() != w[1]) {
    throw shapes_do_not_fit("linear", tape.shape(x), w);
  }
  const std::size_t in = w[1], out = w[0];
  const std::size_t rows = tape.values(x).size() / in;
  shape.back() = out;
  std::span<const T> bias;
  if (bias_in) bias = tape.values(op[2]);
  using View = MatrixView<T>;
  const std::string layer = LayerScope::current();
  std::vector<T> y = product(tape.products(), {Pass::fprop, op.dtype, true, layer},
                             View::dense(tape.values(x).data(), rows, in),
                             View::dense(tape.values(weight).data(), out, in).transposed(), bias);
  return tape.record(
      "linear", op.dtype, std::move(shape), std::move(y), op.inputs,
      [op, x, weight, rows, in, out, layer](Tape<T>& t, const std::vector<T>& g) {
        if (t.needs_gradient(weight)) {
          t.add_gradient(weight, product(t.products(), {Pass::wgrad, op.dtype, true, layer},
                                         View::dense(g.data(), rows, out).transposed(),
                                         View::dense(t.values(x).data(), rows, in), {}));
        }
        if (op.inputs.size() == 3) t.add_gradient(op[2], column_sums(g, rows, out));
        if (!t.needs_gradient(x)) return;
        const std::vector<T> on = t.scaled_for_input(layer, op.dtype, g, weight, out);
        t.add_gradient(x, product(t.products(), {Pass::dgrad, op.dtype, true, layer},
                                  View::dense(on.data(), rows, out),
                                  View::dense(t.values(weight).data(), out, in), {}));
      });
}

template <std::floating_point T>
Var matmul(Tape<T>& tape, Var a_in, Var b_in) {
  const OpInputs op = op_inputs(tape, "matmul", {a_in, b_in});
  const Var a = op[0], b = op[1];
  Shape shape = tape.shape(a);
  const Shape& other = tape.shape(b);
  if (shape.size() < 2 || shape.size() != other.size() ||
      !std::equal(shape.begin(), shape.end() - 2, other.begin()) ||
      shape.back() != other[other.size() - 2] || shape.back() == 0 ||
      shape[shape.size() - 2] == 0) {
    throw shapes_do_not_fit("matmul", shape, other);
  }
  const std::size_t m = shape[shape.size() - 2], k = shape.back(), n = other.back();
  const std::size_t batches = tape.values(a).size() / (m * k);
  shape.back() = n;
  using View = MatrixView<T>;
  const auto part = [](const std::vector<T>& all, std::size_t i, std::size_t rows,
                       std::size_t columns) {
    return View::dense(all.data() + i * rows * columns, rows, columns);
  };
  std::vector<T> y;
  y.reserve(batches * m * n);
  for (std::size_t i = 0; i < batches; ++i) {
    const std::vector<T> one =
        product<T>(tape.products(), {Pass::fprop, op.dtype, false}, part(tape.values(a), i, m, k),
                   part(tape.values(b), i, k, n));
    y.insert(y.end(), one.begin(), one.end());
  }
  return tape.record(
      "matmul", op.dtype, std::move(shape), std::move(y), op.inputs,
      [op, a, b, m, n, k, batches, part](Tape<T>& t, const std::vector<T>& g) {
        std::vector<T> da, db;
        for (std::size_t i = 0; i < batches; ++i) {
          const View dy = part(g, i, m, n);
          if (t.needs_gradient(a)) {
            const std::vector<T> one = product<T>(t.products(), {Pass::dgrad, op.dtype, false}, dy,
                                                  part(t.values(b), i, k, n).transposed());
            da.insert(da.end(), one.begin(), one.end());
          }
          if (t.needs_gradient(b)) {
            // The product is n × k and is transposed, because the gradient must be the left factor.
            const std::vector<T> one = product<T>(t.products(), {Pass::wgrad, op.dtype, false},
                                                  dy.transposed(), part(t.values(a), i, m, k));
            for (std::size_t row = 0; row < k; ++row) {
              for (std::size_t column = 0; column < n; ++column) {
                db.push_back(one[column * k + row]);
              }
            }
          }
        }
        if (!da.empty()) t.add_gradient(a, std::move(da));
        if (!db.empty()) t.add_gradient(b, std::move(db));
      });
}

template Var linear(Tape<float>&, Var, Var, std::optional<Var>);
template Var linear(Tape<double>&, Var, Var, std::optional<Var>);
template Var matmul(Tape<float>&, Var, Var);
template Var matmul(Tape<double>&, Var, Var);

}  // namespace binade
