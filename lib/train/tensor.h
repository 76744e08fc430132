// SPDX-License-Identifier: Apache-2.0
//
// The tensors of the training engine. Their values are held in T (float, or double for a training
// in FP64) but are always numbers of the tensor's dtype, and lie row after row.
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

/// Returns the number of elements; 1 for an empty shape.
std::size_t elements(const Shape& shape);

template <std::floating_point T>
struct Tensor {
  Shape shape;
  Format dtype = Carrier<T>::format;
  std::vector<T> values;

  Tensor() = default;
  /// Makes a tensor of zeros.
  explicit Tensor(Shape of, const Format& format = Carrier<T>::format)
      : shape(std::move(of)), dtype(format), values(elements(shape)) {}
  /// Throws Error unless there are as many values as the shape has elements. The values must be
  /// numbers of the format.
  Tensor(Shape of, const Format& format, std::vector<T> data);

  std::size_t size() const { return values.size(); }
};

/// Rounds each value to the nearest number of the format (ties to even, overflow to infinity), on
/// all threads. Does nothing if the format is that of T.
template <std::floating_point T>
void round_to(const Format& format, std::span<T> values);
/// Rounds each value by the quantizer, on all threads, and returns the counts of what rounding did;
/// stochastic rounding of element i uses word i of the quantizer's stream.
template <std::floating_point T>
EventCounts quantize_all(const Quantizer& to, std::span<T> values);

/// Calls body(begin, end) for disjoint pieces that cover [0, n), on all threads; not at all if n is
/// 0.
void for_pieces(std::size_t n, const std::function<void(std::size_t, std::size_t)>& body);

/// Returns the sum of the n elements x[0], x[step], ..., added in T: sums of more than 16 elements
/// are added half by half (pairwise summation), in the same order for any number of threads.
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
