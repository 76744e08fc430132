// SPDX-License-Identifier: Apache-2.0
//
// Loops that the ops share: maps over elements and rows, and sums over rows. The order of every sum
// depends on the shape alone, not on the number of threads.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/parallel/parallel.h"
#include "lib/text/error.h"
#include "lib/text/shape.h"
#include "lib/train/tape.h"

namespace binade {

inline Error shapes_do_not_fit(std::string_view op, const Shape& a, const Shape& b) {
  return Error(
      fmt::format("{} of {} and {}: the shapes do not fit", op, shape_text(a), shape_text(b)));
}

/// Returns f(x[i]) for every i.
template <std::floating_point T, class F>
std::vector<T> map(const std::vector<T>& x, const F& f) {
  std::vector<T> out(x.size());
  for_pieces(x.size(), [&](std::size_t begin, std::size_t end) {
    const T* from = x.data();
    T* to = out.data();
    for (std::size_t i = begin; i < end; ++i) to[i] = f(from[i]);
  });
  return out;
}

/// Returns f(x[i], y[i]) for every i; x and y must have the same size.
template <std::floating_point T, class F>
std::vector<T> map(const std::vector<T>& x, const std::vector<T>& y, const F& f) {
  std::vector<T> out(x.size());
  for_pieces(x.size(), [&](std::size_t begin, std::size_t end) {
    const T *left = x.data(), *right = y.data();
    T* to = out.data();
    for (std::size_t i = begin; i < end; ++i) to[i] = f(left[i], right[i]);
  });
  return out;
}

/// Calls body(begin, end) for disjoint runs of rows that cover all rows, on all threads. A run has
/// at most 2^13 elements, or is a single row.
template <class F>
void for_runs(std::size_t rows, std::size_t columns, const F& body) {
  const std::size_t grain = std::max<std::size_t>(1, 8192 / std::max<std::size_t>(1, columns));
  parallel_for(rows, grain,
               [&](std::size_t begin, std::size_t end, std::size_t) { body(begin, end); });
}
/// Calls body(row) for every row of a matrix, on all threads.
template <class F>
void for_rows(std::size_t rows, std::size_t columns, const F& body) {
  for_runs(rows, columns, [&](std::size_t begin, std::size_t end) {
    for (std::size_t row = begin; row < end; ++row) body(row);
  });
}

/// Sets out[j] = pairwise_sum(x + j, rows, step) for j < width; `width` is at most 64.
template <std::floating_point T>
void pairwise_rows(const T* x, std::size_t rows, std::size_t step, std::size_t width, T* out) {
  if (rows <= 16) {
    std::fill_n(out, width, T{0});
    for (std::size_t i = 0; i < rows; ++i) {
      for (std::size_t j = 0; j < width; ++j) out[j] += x[i * step + j];
    }
    return;
  }
  const std::size_t half = rows / 2;
  T right[64];
  pairwise_rows(x, half, step, width, out);
  pairwise_rows(x + half * step, rows - half, step, width, right);
  for (std::size_t j = 0; j < width; ++j) out[j] += right[j];
}

/// Returns the sum of each column of a (rows, columns) matrix, added in the order of pairwise_sum.
template <std::floating_point T>
std::vector<T> column_sums(const std::vector<T>& x, std::size_t rows, std::size_t columns) {
  std::vector<T> out(columns);
  parallel_for(columns, 64, [&](std::size_t begin, std::size_t end, std::size_t) {
    pairwise_rows(x.data() + begin, rows, columns, end - begin, out.data() + begin);
  });
  return out;
}

/// Returns x with its dimensions in another order: dimension i of the result is dimension order[i]
/// of x.
template <std::floating_point T>
std::vector<T> permuted(const std::vector<T>& x, const Shape& shape,
                        const std::vector<std::size_t>& order) {
  const std::size_t dimensions = shape.size();
  std::vector<std::size_t> step(dimensions, 1);
  for (std::size_t i = dimensions; i-- > 1;) step[i - 1] = step[i] * shape[i];
  Shape to_shape(dimensions);
  std::vector<std::size_t> to_step(dimensions);
  for (std::size_t i = 0; i < dimensions; ++i) {
    to_shape[i] = shape[order[i]];
    to_step[i] = step[order[i]];
  }
  std::vector<T> out(x.size());
  if (out.empty()) return out;
  const std::size_t last = to_shape.back(), last_step = to_step.back();
  for_runs(x.size() / last, last, [&](std::size_t begin, std::size_t end) {
    // `at` is the row's index in each dimension of the result but the last; `from` is its offset in
    // x.
    std::vector<std::size_t> at(dimensions);
    std::size_t from = 0, rest = begin;
    for (std::size_t i = dimensions - 1; i-- > 0;) {
      at[i] = rest % to_shape[i];
      from += at[i] * to_step[i];
      rest /= to_shape[i];
    }
    for (std::size_t row = begin; row < end; ++row) {
      T* const to = out.data() + row * last;
      for (std::size_t j = 0; j < last; ++j) to[j] = x[from + j * last_step];
      for (std::size_t i = dimensions - 1; i-- > 0;) {
        from += to_step[i];
        if (++at[i] < to_shape[i]) break;
        from -= to_shape[i] * to_step[i];
        at[i] = 0;
      }
    }
  });
  return out;
}

/// Calls Tape::record for an op whose gradient depends on its own rounded result, which `backward`
/// receives: backward(tape, result, gradient).
template <std::floating_point T, class F>
Var record_result(Tape<T>& tape, std::string_view name, const OpInputs& op, Shape shape,
                  std::vector<T> values, F backward) {
  const auto result = std::make_shared<Var>();
  *result = tape.record(name, op.dtype, std::move(shape), std::move(values), op.inputs,
                        [result, backward = std::move(backward)](
                            Tape<T>& t, const std::vector<T>& g) { backward(t, *result, g); });
  return *result;
}

}  // namespace binade
