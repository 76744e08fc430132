// SPDX-License-Identifier: Apache-2.0
//
// Counts elements of shapes, checks tensors, and rounds their values to a dtype.
#include "lib/train/tensor.h"

#include <fmt/format.h>

#include <mutex>

#include "lib/parallel/parallel.h"
#include "lib/text/error.h"
#include "lib/text/shape.h"

namespace binade {
namespace {

constexpr std::size_t piece = 1 << 13;

}  // namespace

std::size_t elements(const Shape& shape) {
  std::size_t product = 1;
  for (const std::size_t n : shape) product *= n;
  return product;
}

template <std::floating_point T>
Tensor<T>::Tensor(Shape of, const Format& format, std::vector<T> data)
    : shape(std::move(of)), dtype(format), values(std::move(data)) {
  if (values.size() != elements(shape)) {
    throw Error(fmt::format("tensor of shape {}: {} values given; it has {} elements",
                            shape_text(shape), values.size(), elements(shape)));
  }
}

void for_pieces(std::size_t n, const std::function<void(std::size_t, std::size_t)>& body) {
  parallel_for(n, piece,
               [&body](std::size_t begin, std::size_t end, std::size_t) { body(begin, end); });
}

template <std::floating_point T>
EventCounts quantize_all(const Quantizer& to, std::span<T> values) {
  EventCounts total;
  std::mutex adding;
  for_pieces(values.size(), [&](std::size_t begin, std::size_t end) {
    EventCounts counts;
    T* const x = values.data() + begin;
    (fastest_kernels().*KernelsOf<T>::quantize)(x, x, end - begin, begin, to, counts);
    const std::lock_guard lock(adding);
    total += counts;
  });
  return total;
}

template <std::floating_point T>
void round_to(const Format& format, std::span<T> values) {
  if (format != Carrier<T>::format) quantize_all(Quantizer{.format = format}, values);
}

template struct Tensor<float>;
template struct Tensor<double>;
template EventCounts quantize_all(const Quantizer& to, std::span<float> values);
template EventCounts quantize_all(const Quantizer& to, std::span<double> values);
template void round_to(const Format& format, std::span<float> values);
template void round_to(const Format& format, std::span<double> values);

}  // namespace binade
