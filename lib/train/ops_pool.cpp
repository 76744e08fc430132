// SPDX-License-Identifier: Apache-2.0
//
// Pooling over square windows, plane by plane. Ties and edges are treated as in PyTorch: the first
// of several equal largest elements takes the gradient, NaN counts as the largest, and averages
// count the padding as zeros.
#include <cmath>
#include <limits>

#include "lib/text/shape.h"
#include "lib/train/kernels.h"
#include "lib/train/ops.h"

namespace binade {
namespace {

/// The planes (one per image and channel) and the windows on them.
struct Planes {
  std::size_t count = 0, height = 0, width = 0;  ///< number and size of x's planes
  std::size_t rows = 0, columns = 0;             ///< size of the result's planes
  Window window{};

  /// Returns the rows (or columns) [begin, end) of x, which has `size` of them, that window row (or
  /// column) `at` covers.
  std::pair<std::size_t, std::size_t> side(std::size_t at, std::size_t size) const {
    const std::size_t first = at * window.stride, last = first + window.size;
    return {first > window.padding ? first - window.padding : 0,
            std::min(last - std::min(last, window.padding), size)};
  }
};

Planes planes_of(std::string_view op, const Shape& x, const Window& window) {
  const auto fits = [&window](std::size_t n) {
    return n != 0 && n + 2 * window.padding >= window.size;
  };
  if (x.size() != 4 || window.size == 0 || window.stride == 0 || window.padding > window.size / 2 ||
      !fits(x[2]) || !fits(x[3])) {
    throw Error(
        fmt::format("{} of {} in windows of {}, stride {}, padding {}: x is (n, c, h, w), "
                    "h and w at least 1, and the padding at most half of the window",
                    op, shape_text(x), window.size, window.stride, window.padding));
  }
  const auto steps = [&window](std::size_t n) {
    return (n + 2 * window.padding - window.size) / window.stride + 1;
  };
  return {x[0] * x[1], x[2], x[3], steps(x[2]), steps(x[3]), window};
}

/// Calls body(element of the result, element of x) for every element of x that a window covers.
/// Windows and their elements come row after row.
template <class F>
void for_windows(const Planes& p, const F& body) {
  for_rows(p.count, p.height * p.width, [&](std::size_t plane) {
    for (std::size_t i = 0; i < p.rows; ++i) {
      const auto rows = p.side(i, p.height);
      for (std::size_t j = 0; j < p.columns; ++j) {
        const auto columns = p.side(j, p.width);
        const std::size_t result = (plane * p.rows + i) * p.columns + j;
        for (std::size_t row = rows.first; row < rows.second; ++row) {
          const std::size_t from = (plane * p.height + row) * p.width;
          for (std::size_t column = columns.first; column < columns.second; ++column) {
            body(result, from + column);
          }
        }
      }
    }
  });
}

}  // namespace

template <std::floating_point T>
Var max_pool2d(Tape<T>& tape, Var x_in, const Window& window) {
  const OpInputs op = op_inputs(tape, "max_pool2d", {x_in});
  const Var x = op[0];
  const Shape& shape = tape.shape(x);
  const Planes p = planes_of("max_pool2d", shape, window);
  constexpr std::size_t none = static_cast<std::size_t>(-1);
  std::vector<T> out(p.count * p.rows * p.columns);
  std::vector<std::size_t> where(out.size(), none);
  const std::vector<T>& values = tape.values(x);
  for_windows(p, [&](std::size_t result, std::size_t from) {
    if (where[result] == none || values[from] > out[result] || std::isnan(values[from])) {
      where[result] = from;
      out[result] = values[from];
    }
  });
  return tape.record("max_pool2d", op.dtype, {shape[0], shape[1], p.rows, p.columns},
                     std::move(out), op.inputs,
                     [x, p, where = std::move(where)](Tape<T>& t, const std::vector<T>& g) {
                       std::vector<T> dx(t.values(x).size());
                       const std::size_t windows = p.rows * p.columns;
                       for_rows(p.count, windows, [&](std::size_t plane) {
                         for (std::size_t i = plane * windows; i < (plane + 1) * windows; ++i) {
                           dx[where[i]] += g[i];
                         }
                       });
                       t.add_gradient(x, std::move(dx));
                     });
}

template <std::floating_point T>
Var avg_pool2d(Tape<T>& tape, Var x_in, const Window& window) {
  const OpInputs op = op_inputs(tape, "avg_pool2d", {x_in});
  const Var x = op[0];
  const Shape& shape = tape.shape(x);
  const Planes p = planes_of("avg_pool2d", shape, window);
  const T count = static_cast<T>(window.size * window.size);
  std::vector<T> out(p.count * p.rows * p.columns);
  const std::vector<T>& values = tape.values(x);
  for_windows(p, [&](std::size_t result, std::size_t from) { out[result] += values[from]; });
  for (T& v : out) v /= count;
  return tape.record("avg_pool2d", op.dtype, {shape[0], shape[1], p.rows, p.columns},
                     std::move(out), op.inputs, [x, p, count](Tape<T>& t, const std::vector<T>& g) {
                       std::vector<T> dx(t.values(x).size());
                       for_windows(p, [&](std::size_t result, std::size_t from) {
                         dx[from] += g[result] / count;
                       });
                       t.add_gradient(x, std::move(dx));
                     });
}

template Var max_pool2d(Tape<float>&, Var, const Window&);
template Var max_pool2d(Tape<double>&, Var, const Window&);
template Var avg_pool2d(Tape<float>&, Var, const Window&);
template Var avg_pool2d(Tape<double>&, Var, const Window&);

}  // namespace binade
