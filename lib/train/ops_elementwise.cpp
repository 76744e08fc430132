// SPDX-License-Identifier: Apache-2.0
//
// Sums, products, quotients and functions of single elements. Gradients are computed by PyTorch's
// formulas in PyTorch's order of operations (derivatives.yaml), so that they have the same bits in
// T.
#include <array>

#include "lib/train/functions.h"
#include "lib/train/kernels.h"
#include "lib/train/ops.h"

namespace binade {
namespace {

bool is_end_of(const Shape& end, const Shape& shape) {
  return end.size() <= shape.size() && std::equal(end.rbegin(), end.rend(), shape.rbegin());
}

/// Returns the shape of the result of an op on two shapes: one must be the end of the other, or
/// have a single element. Throws Error for others.
Shape combined_shape(std::string_view op, const Shape& a, const Shape& b) {
  if (is_end_of(b, a)) return a;
  if (is_end_of(a, b)) return b;
  if (elements(b) == 1) return a;
  if (elements(a) == 1) return b;
  throw shapes_do_not_fit(op, a, b);
}

/// Returns f(x[i], y[i], z[i]) for i < n; arrays shorter than n are repeated.
template <std::floating_point T, class F>
std::vector<T> combine(std::size_t n, const std::vector<T>& x, const std::vector<T>& y,
                       const std::vector<T>& z, const F& f) {
  const std::array<const std::vector<T>*, 3> in{&x, &y, &z};
  std::size_t period = n;
  for (const std::vector<T>* v : in) {
    if (v->size() > 1) period = std::min(period, v->size());
  }
  std::vector<T> out(n);
  for_pieces(n, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end;) {
      const std::size_t stretch = std::min(end - i, period - i % period);
      std::array<const T*, 3> from{};
      std::array<std::size_t, 3> step{};
      for (std::size_t k = 0; k < 3; ++k) {
        from[k] = in[k]->data() + i % in[k]->size();
        step[k] = in[k]->size() == 1 ? 0 : 1;
      }
      for (std::size_t j = 0; j < stretch; ++j) {
        out[i + j] = f(from[0][j * step[0]], from[1][j * step[1]], from[2][j * step[2]]);
      }
      i += stretch;
    }
  });
  return out;
}

/// Adds the gradient of an input that may have been repeated.
template <std::floating_point T>
void add_repeated(Tape<T>& tape, Var x, std::vector<T> gradient) {
  const std::size_t n = tape.values(x).size();
  if (gradient.size() != n) gradient = column_sums(gradient, gradient.size() / n, n);
  tape.add_gradient(x, std::move(gradient));
}

/// Runs an op on two tensors that computes value(a, b) and has the gradients by_a(g, a, b) and
/// by_b(g, a, b), where g is the gradient of the result.
template <std::floating_point T, class F, class A, class B>
Var binary(Tape<T>& tape, std::string_view name, Var a_in, Var b_in, const F& value, const A& by_a,
           const B& by_b) {
  const OpInputs op = op_inputs(tape, name, {a_in, b_in});
  const Var a = op[0], b = op[1];
  Shape shape = combined_shape(name, tape.shape(a), tape.shape(b));
  const std::size_t n = elements(shape);
  std::vector<T> out = combine(n, tape.values(a), tape.values(b), tape.values(b),
                               [value](T x, T y, T) { return value(x, y); });
  return tape.record(name, op.dtype, std::move(shape), std::move(out), op.inputs,
                     [a, b, n, by_a, by_b](Tape<T>& t, const std::vector<T>& g) {
                       if (t.needs_gradient(a)) {
                         add_repeated(t, a, combine(n, g, t.values(a), t.values(b), by_a));
                       }
                       if (t.needs_gradient(b)) {
                         add_repeated(t, b, combine(n, g, t.values(a), t.values(b), by_b));
                       }
                     });
}

/// Returns x^n for n ≥ 0, multiplied one factor after another.
template <std::floating_point T>
T power(T x, int n) {
  T out = n > 0 ? x : T{1};
  for (int i = 1; i < n; ++i) out *= x;
  return out;
}

template <std::floating_point T>
T whole_power(T x, int n) {
  return n < 0 ? 1 / power(x, -n) : power(x, n);
}

}  // namespace

template <std::floating_point T>
Var add(Tape<T>& tape, Var a, Var b) {
  const auto same = [](T g, T, T) { return g; };
  return binary(
      tape, "add", a, b, [](T x, T y) { return x + y; }, same, same);
}

template <std::floating_point T>
Var sub(Tape<T>& tape, Var a, Var b) {
  return binary(
      tape, "sub", a, b, [](T x, T y) { return x - y; }, [](T g, T, T) { return g; },
      [](T g, T, T) { return -g; });
}

template <std::floating_point T>
Var mul(Tape<T>& tape, Var a, Var b) {
  return binary(
      tape, "mul", a, b, [](T x, T y) { return x * y; }, [](T g, T, T y) { return g * y; },
      [](T g, T x, T) { return g * x; });
}

template <std::floating_point T>
Var div(Tape<T>& tape, Var a, Var b) {
  return binary(
      tape, "div", a, b, [](T x, T y) { return x / y; }, [](T g, T, T y) { return g / y; },
      [](T g, T x, T y) { return -g * ((x / y) / y); });
}

template <std::floating_point T>
Var scale(Tape<T>& tape, Var x_in, T factor) {
  const OpInputs op = op_inputs(tape, "mul", {x_in});
  const Var x = op[0];
  const auto times = [factor](T v) { return v * factor; };
  return tape.record(
      "mul", op.dtype, tape.shape(x), map(tape.values(x), times), op.inputs,
      [x, times](Tape<T>& t, const std::vector<T>& g) { t.add_gradient(x, map(g, times)); });
}

template <std::floating_point T>
Var exp(Tape<T>& tape, Var x_in) {
  const OpInputs op = op_inputs(tape, "exp", {x_in});
  const Var x = op[0];
  return record_result(tape, "exp", op, tape.shape(x),
                       map(tape.values(x), [](T v) { return exp_of(v); }),
                       [x](Tape<T>& t, Var y, const std::vector<T>& g) {
                         t.add_gradient(x, map(g, t.values(y), [](T d, T v) { return d * v; }));
                       });
}

template <std::floating_point T>
Var log(Tape<T>& tape, Var x_in) {
  const OpInputs op = op_inputs(tape, "log", {x_in});
  const Var x = op[0];
  return tape.record("log", op.dtype, tape.shape(x),
                     map(tape.values(x), [](T v) { return log_of(v); }), op.inputs,
                     [x](Tape<T>& t, const std::vector<T>& g) {
                       t.add_gradient(x, map(g, t.values(x), [](T d, T v) { return d / v; }));
                     });
}

template <std::floating_point T>
Var pow(Tape<T>& tape, Var x_in, int exponent) {
  const OpInputs op = op_inputs(tape, "pow", {x_in});
  const Var x = op[0];
  return tape.record("pow", op.dtype, tape.shape(x),
                     map(tape.values(x), [exponent](T v) { return whole_power(v, exponent); }),
                     op.inputs, [x, exponent](Tape<T>& t, const std::vector<T>& g) {
                       const auto slope = [exponent](T d, T v) {
                         if (exponent == 0) return T{0};
                         return d * (static_cast<T>(exponent) * whole_power(v, exponent - 1));
                       };
                       t.add_gradient(x, map(g, t.values(x), slope));
                     });
}

#define BINADE_ELEMENTWISE(T)           \
  template Var add(Tape<T>&, Var, Var); \
  template Var sub(Tape<T>&, Var, Var); \
  template Var mul(Tape<T>&, Var, Var); \
  template Var div(Tape<T>&, Var, Var); \
  template Var scale(Tape<T>&, Var, T); \
  template Var exp(Tape<T>&, Var);      \
  template Var log(Tape<T>&, Var);      \
  template Var pow(Tape<T>&, Var, int);
BINADE_ELEMENTWISE(float)
BINADE_ELEMENTWISE(double)
#undef BINADE_ELEMENTWISE

}  // namespace binade
