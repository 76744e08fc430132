// SPDX-License-Identifier: Apache-2.0
//
// The tensors of the training engine: values carried in T (float, or double for the FP64 twin), always
// on the grid of a dtype, row after row.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "emulate/carrier.h"
#include "emulate/quantize.h"

namespace binade {

using Shape = std::vector<std::size_t>;

std::size_t elements(const Shape& shape);

template <std::floating_point T>
struct Tensor {
  Shape shape;
  Format dtype = Carrier<T>::format;
  std::vector<T> values;

  Tensor() = default;
  /// Zeros.
  explicit Tensor(Shape of, const Format& format = Carrier<T>::format)
      : shape(std::move(of)), dtype(format), values(elements(shape)) {}
  /// Error unless there are as many values as the shape has elements. They must lie on the grid.
  Tensor(Shape of, const Format& format, std::vector<T> data);

  std::size_t size() const { return values.size(); }
};

/// values[i] to the nearest of the format (ties to even, overflow to infinity), on all threads.
/// Nothing to do where the format is T's own.
template <std::floating_point T>
void round_to(const Format& format, std::span<T> values);
/// The same under any attributes; element i draws word i of the quantizer's stream.
template <std::floating_point T>
EventCounts quantize_all(const Quantizer& to, std::span<T> values);

/// body(begin, end) on pieces of fixed size of [0, n), on all threads: elementwise work.
void for_pieces(std::size_t n, const std::function<void(std::size_t, std::size_t)>& body);

/// x[0] + x[step] + ... of n elements in T, halves first (the same order for any number of threads).
template <std::floating_point T>
T pairwise_sum(const T* x, std::size_t n, std::size_t step = 1) {
  if (n <= 16) {
    T sum = 0;
    for (std::size_t i = 0; i < n; ++i) sum += x[i * step];
    return sum;
  }
  const std::size_t half = n / 2;
  return pairwise_sum(x, half, step) + pairwise_sum(x + half * step, n - half, step);
}

}  // namespace binade
