// SPDX-License-Identifier: Apache-2.0
//
// Random tensors for tests of the training engine, drawn from Philox, so that they are the same on
// every machine.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "emulate/philox.h"
#include "lib/train/tensor.h"

namespace binade::test {

/// Returns a tensor of numbers uniform in [from, to], rounded to T. Element i comes from word i of
/// stream 0 under the seed.
template <std::floating_point T>
Tensor<T> drawn(Shape shape, std::uint64_t seed, double from = -2, double to = 2) {
  Tensor<T> out(std::move(shape));
  for (std::size_t i = 0; i < out.values.size(); ++i) {
    out.values[i] = static_cast<T>(from + (to - from) * std::ldexp(random_word(seed, 0, i), -32));
  }
  return out;
}

}  // namespace binade::test
