// SPDX-License-Identifier: Apache-2.0
//
// Layers of networks: parameters and the op that uses them, under the layer's name.
#pragma once

#include <string>

#include "lib/train/model.h"

namespace binade {

template <std::floating_point T>
struct LinearLayer {
  std::string name;
  Parameter<T>*weight, *bias;
  Var operator()(Tape<T>& tape, Var x) const;
};
/// weight (out, in) and bias (out), uniform in ±1/√in: PyTorch's Linear.
template <std::floating_point T>
LinearLayer<T> add_linear(Model<T>& model, const std::string& name, std::size_t in, std::size_t out,
                          std::uint64_t seed);

}  // namespace binade
