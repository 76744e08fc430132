// SPDX-License-Identifier: Apache-2.0
//
// A workload for tests: generated rows of eight numbers in four classes, and a network with layers
// of 8, 16 and 4, with or without batch norms.
#pragma once

#include <cstdint>
#include <utility>

#include "lib/train/model.h"
#include "lib/train/trainer.h"
#include "tests/lib/train/draw.h"

namespace binade::test {

/// Rows of eight random numbers; the class is the index of the largest of the first four.
template <std::floating_point T>
Batch<T> made_batch(std::uint64_t seed, const Shape& shape) {
  Batch<T> batch{.inputs = {}, .tokens = {}, .rows = shape[0], .targets = {}};
  const Tensor<float> drawn_once = drawn<float>(shape, seed, -1, 1);
  batch.inputs = Tensor<T>(shape);
  const std::size_t width = elements(shape) / shape[0];
  for (std::size_t i = 0; i < drawn_once.size(); ++i) {
    batch.inputs.values[i] = static_cast<T>(drawn_once.values[i]);
  }
  for (std::size_t row = 0; row < shape[0]; ++row) {
    std::int32_t best = 0;
    for (std::int32_t j = 1; j < 4; ++j) {
      const auto at = [&](std::int32_t i) {
        return drawn_once.values[row * width + static_cast<std::size_t>(i)];
      };
      if (at(j) > at(best)) best = j;
    }
    batch.targets.push_back(best);
  }
  return batch;
}

template <std::floating_point T>
Workload<T> with_batches(std::function<Model<T>(std::uint64_t)> make, const Shape& shape) {
  Workload<T> out;
  out.make = std::move(make);
  out.train_batch = [shape](std::uint64_t seed, std::int64_t step) {
    return made_batch<T>(1000 * (seed + 1) + static_cast<std::uint64_t>(step), shape);
  };
  out.test_batches = 2;
  out.test_batch = [shape](std::size_t i) { return made_batch<T>(1 + i, shape); };
  return out;
}

template <std::floating_point T>
Workload<T> made_mlp() {
  return with_batches<T>(
      [](std::uint64_t seed) {
        return make_mlp<T>({.widths = {8, 16, 4}}, seed);
      },
      {32, 8});
}

/// A network for images of 1 × 4 × 4 with two convolutions and batch norms.
template <std::floating_point T>
Workload<T> made_cnn() {
  return with_batches<T>(
      [](std::uint64_t seed) {
        return make_cnn<T>({.side = 4, .channels = {4, 4}, .classes = 4}, seed);
      },
      {16, 1, 4, 4});
}

}  // namespace binade::test
